//! What compression is worth: bytes against time, by library and level.

use std::hint::black_box;
use std::time::Duration;

use flate2::{Compress, Compression, FlushCompress};
use libdeflater::{CompressionLvl, Compressor};

use crate::corpus::{Sample, Tools, samples};
use crate::measure::{median, micros_each, process_time};

/// Compresses a page, and returns the size of what becomes of it.
type Compresses = Box<dyn FnMut(&[u8]) -> usize>;

/// Prints a table of both libraries at levels 1 to 9, with so many rounds on so many pages.
pub(crate) fn levels(pages: usize, rounds: usize) {
    let samples = samples(pages, &Tools::new());
    let most = samples.iter().map(|it| it.body.len()).max().unwrap_or(0);
    let mut all: Vec<(&str, u32, Compresses)> = Vec::new();
    for level in 1..=9 {
        all.push(("libdeflate", level, libdeflate(level, most)));
        all.push(("zlib-rs", level, zlib(level, most)));
    }
    let mut found = vec![(0, Vec::new()); all.len()];
    for _ in 0..rounds {
        for ((_, _, compress), (bytes, micros)) in all.iter_mut().zip(&mut found) {
            let (took, sum) = round(&samples, compress);
            *bytes = sum / samples.len().max(1);
            micros.push(micros_each(took, samples.len()));
        }
    }
    crate::say("| library | level | CPU us a page | bytes a page |");
    crate::say("|---|---|---|---|");
    for ((library, level, _), (bytes, micros)) in all.iter().zip(&found) {
        let micros = median(micros);
        crate::say(&format!("| {library} | {level} | {micros:.0} | {bytes} |"));
    }
}

fn round(samples: &[Sample], compress: &mut Compresses) -> (Duration, usize) {
    let start = process_time();
    let sizes = samples.iter().map(|it| black_box(compress(&it.body)));
    let sum = sizes.sum();
    (process_time().saturating_sub(start), sum)
}

fn libdeflate(level: u32, most: usize) -> Compresses {
    let level = CompressionLvl::new(level.cast_signed()).expect("it has this level");
    let mut compressor = Compressor::new(level);
    let mut member = vec![0; compressor.gzip_compress_bound(most)];
    Box::new(move |page| {
        let length = compressor.gzip_compress(page, &mut member);
        length.expect("the member has room")
    })
}

fn zlib(level: u32, most: usize) -> Compresses {
    let mut compress = Compress::new_gzip(Compression::new(level), 15);
    let mut member = Vec::with_capacity(most + 1_024);
    Box::new(move |page| {
        compress.reset();
        member.clear();
        let done = compress.compress_vec(page, &mut member, FlushCompress::Finish);
        done.expect("the member has room");
        member.len()
    })
}
