//! The index of a package: the lines of the indexes beside its files, sorted, in blocks that are
//! compressed one by one, and a second index that says where each block is.

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use super::super::error::Error;
use super::lines::for_each_line;
use super::members::Member;
use super::referred::Payloads;
use super::spool::Spool;
use super::zip_file::{Package, hex_digest};
use crate::archive::{LineSorter, SortedLines};

/// Lines of a block. A player fetches one for each lookup.
const BLOCK: usize = 256;

/// Level of gzip.
const LEVEL: u32 = 6;

const BLOCKS: &str = "index.cdx.gz";

/// Adds the index of these files, and returns what its lines say of their payloads.
pub(super) fn add(package: &mut Package, members: &[Member]) -> Result<Payloads, Error> {
    let staged = package.staged().to_owned();
    let wrong = || Error::io("write to", &staged);
    let mut payloads = Payloads::default();
    let lines = sorted(members, &package.directory(), &mut payloads)?;
    let mut second = Spool::beside(&staged, "idx").map_err(wrong())?;
    package.add(&format!("indexes/{BLOCKS}"), false, |out| {
        write(lines, out, &mut second).map_err(wrong())
    })?;
    package.add("indexes/index.idx", false, |out| {
        second.copy_to(out).map_err(wrong())
    })?;
    Ok(payloads)
}

/// The lines of some files, which name them as the package does.
fn sorted(
    members: &[Member],
    directory: &Path,
    payloads: &mut Payloads,
) -> Result<SortedLines, Error> {
    let wrong = || Error::io("sort lines in", directory);
    let mut sorter = LineSorter::new(directory);
    for member in members {
        let mut failed = None;
        for_each_line(&member.indexed(), directory, |line| {
            payloads.add(line);
            let line = renamed(line, member);
            if failed.is_none() {
                failed = sorter.add(line).err();
            }
        })?;
        if let Some(error) = failed {
            return Err(wrong()(error));
        }
    }
    sorter.sorted().map_err(wrong())
}

/// A line with the name that its file has in the package. The name is the last that a line has.
fn renamed(line: &str, member: &Member) -> String {
    let end = |name: &str| serde_json::to_string(name).map(|name| format!("{name}}}"));
    if member.name != member.packed
        && let (Ok(old), Ok(new)) = (end(&member.name), end(&member.packed))
        && let Some(rest) = line.strip_suffix(&*old)
    {
        return rest.to_owned() + &new;
    }
    line.to_owned()
}

/// What the second index says of a block.
#[derive(Serialize)]
struct Place {
    offset: u64,
    length: usize,
    digest: String,
    filename: &'static str,
}

fn write(
    lines: impl Iterator<Item = io::Result<String>>,
    out: &mut impl Write,
    second: &mut impl Write,
) -> io::Result<()> {
    writeln!(
        second,
        "!meta 0 {{\"format\": \"cdxj-gzip-1.0\", \"filename\": \"{BLOCKS}\"}}"
    )?;
    let mut block = Block::default();
    let mut offset = 0;
    for line in lines {
        block.add(&line?);
        if block.lines == BLOCK {
            offset += block.end(offset, out, second)?;
        }
    }
    block.end(offset, out, second)?;
    Ok(())
}

#[derive(Default)]
struct Block {
    /// Key and time of the first line.
    first: String,
    text: String,
    lines: usize,
}

impl Block {
    fn add(&mut self, line: &str) {
        if self.lines == 0 {
            let mut spaces = line.match_indices(' ');
            let end = spaces.nth(1).map_or(line.len(), |(at, _)| at);
            line.get(..end).unwrap_or(line).clone_into(&mut self.first);
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
    }

    /// Writes the block, and returns its length.
    fn end(
        &mut self,
        offset: u64,
        out: &mut impl Write,
        second: &mut impl Write,
    ) -> io::Result<u64> {
        if self.lines == 0 {
            return Ok(0);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
        encoder.write_all(self.text.as_bytes())?;
        let compressed = encoder.finish()?;
        out.write_all(&compressed)?;
        let place = Place {
            offset,
            length: compressed.len(),
            digest: format!("sha256:{}", hex_digest(&compressed)),
            filename: BLOCKS,
        };
        let place = serde_json::to_string(&place)?;
        writeln!(second, "{} {place}", self.first)?;
        self.text.clear();
        self.lines = 0;
        Ok(compressed.len() as u64)
    }
}
