//! `gleaner warc index`: where in WARC files the captures are, for players and other tools.

use std::env;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::cli::shown::Data;
use crate::cli::{Failure, output};
use crate::corpus::Error;
use crate::corpus::warc;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner warc index crawl/warc/*.warc.gz -o crawl.cdxj
  gleaner warc index one.cdxj two.cdxj other.warc > all.cdxj
  gleaner warc index --beside earlier/warc/*.warc.gz

Prints a line for each response, revisit and resource (CDXJ): the key of its URL (SURT), the time,
and as JSON what is needed to find the record. The lines are those of `cdxj-indexer -s`: sorted by
their bytes, each once. Files whose names end in .cdxj are merged. A crawl keeps such an index
beside each file that it closes.")]
pub(crate) struct Arguments {
    /// WARC files, or indexes of such files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "PATH", conflicts_with = "beside")]
    output: Option<PathBuf>,
    /// Write the index of each WARC file beside it, as FILE.cdxj
    #[arg(long)]
    beside: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut run = Run::default();
    if arguments.beside {
        for file in &arguments.files {
            let path = warc::index_path(file);
            let files = std::slice::from_ref(file);
            run.write_to(files, &path)?;
        }
    } else if let Some(path) = &arguments.output {
        run.write_to(&arguments.files, path)?;
    } else {
        run.write(&arguments.files, &mut BufWriter::new(Data::lock()))?;
    }
    output::say(&format!("{} lines", run.lines));
    if run.shared > 0 {
        output::say(&format!(
            "{} captures share a gzip member with other records and cannot be indexed; `gleaner warc repair` writes a copy in which they can",
            run.shared
        ));
    }
    if run.damages > 0 {
        output::say(&format!("{} places could not be read", run.damages));
    }
    Ok(())
}

#[derive(Default)]
struct Run {
    lines: u64,
    shared: u64,
    damages: u64,
}

impl Run {
    /// Writes the index of some files to a file, which has its name when it is whole.
    fn write_to(&mut self, files: &[PathBuf], path: &Path) -> Result<(), Failure> {
        let mut staged = path.as_os_str().to_owned();
        staged.push(".new");
        let staged = PathBuf::from(staged);
        let file = File::create(&staged);
        let file = file.with_context(|| format!("cannot create {}", staged.display()))?;
        let mut written = BufWriter::new(file);
        let done = self.write(files, &mut written).and_then(|()| {
            let done = written
                .flush()
                .and_then(|()| std::fs::rename(&staged, path));
            done.with_context(|| format!("cannot write {}", path.display()))?;
            Ok(())
        });
        if done.is_err() {
            // The first error is the one to tell.
            let _ = std::fs::remove_file(&staged);
        }
        done
    }

    fn write(&mut self, files: &[PathBuf], out: &mut impl Write) -> Result<(), Failure> {
        let mut damages = 0;
        let indexed = warc::index(
            files,
            &env::temp_dir(),
            |line| writeln!(out, "{line}").map_err(Error::Output),
            |error| {
                damages += 1;
                output::say(&format!("not indexed: {error}"));
                Ok(())
            },
        )?;
        out.flush().map_err(Error::Output)?;
        self.lines += indexed.lines;
        self.shared += indexed.shared;
        self.damages += damages;
        Ok(())
    }
}
