//! Sorting of lines by their bytes, as `LC_ALL=C sort -u` does. What does not fit into memory waits
//! in files, which have no name and so vanish with the process.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of lines in memory. Sorting takes a few times as long as reading what they are about.
const IN_MEMORY: usize = 32 << 20;

/// Most files that are merged at once.
const FAN_IN: usize = 64;

/// Maximum length of a line in a file of others, in bytes.
const MAX_LINE: u64 = 4 << 20;

/// Takes lines in any order.
pub struct LineSorter {
    directory: PathBuf,
    room: usize,
    lines: Vec<String>,
    bytes: usize,
    /// Sorted files, the longest-merged first.
    spilled: Vec<File>,
}

impl LineSorter {
    /// Sorts with the help of files in this directory.
    pub fn new(directory: &Path) -> Self {
        Self::with_room(directory, IN_MEMORY)
    }

    /// Sorts with so many bytes of lines in memory.
    pub(super) fn with_room(directory: &Path, room: usize) -> Self {
        Self {
            directory: directory.to_owned(),
            room,
            lines: Vec::new(),
            bytes: 0,
            spilled: Vec::new(),
        }
    }

    /// Adds a line, which is given without its end.
    pub fn add(&mut self, line: String) -> io::Result<()> {
        self.bytes += line.len() + size_of::<String>();
        self.lines.push(line);
        if self.bytes >= self.room {
            self.spill()?;
        }
        Ok(())
    }

    /// Returns the lines in order, each once.
    pub fn sorted(mut self) -> io::Result<SortedLines> {
        self.lines.sort_unstable();
        let mut sources = vec![Source::Memory(std::mem::take(&mut self.lines).into_iter())];
        for file in self.spilled {
            sources.push(Source::File(rewound(file)?));
        }
        SortedLines::of(sources)
    }

    fn spill(&mut self) -> io::Result<()> {
        self.lines.sort_unstable();
        let lines = std::mem::take(&mut self.lines);
        self.bytes = 0;
        let mut file = BufWriter::new(nameless(&self.directory)?);
        for line in lines {
            writeln!(file, "{line}")?;
        }
        self.spilled
            .push(file.into_inner().map_err(io::IntoInnerError::into_error)?);
        if self.spilled.len() == FAN_IN {
            let sources = std::mem::take(&mut self.spilled).into_iter();
            let sources = sources.map(|file| rewound(file).map(Source::File));
            let merged = SortedLines::of(sources.collect::<io::Result<_>>()?)?;
            let mut file = BufWriter::new(nameless(&self.directory)?);
            for line in merged {
                writeln!(file, "{}", line?)?;
            }
            self.spilled
                .push(file.into_inner().map_err(io::IntoInnerError::into_error)?);
        }
        Ok(())
    }
}

/// Creates a file and takes its name away.
fn nameless(directory: &Path) -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!(".sorting-{}-{number}", std::process::id()));
        let mut options = OpenOptions::new();
        match options.read(true).write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => {
                let created = created?;
                fs::remove_file(&path)?;
                return Ok(created);
            }
        }
    }
}

fn rewound(mut file: File) -> io::Result<BufReader<File>> {
    file.rewind()?;
    Ok(BufReader::new(file))
}

enum Source {
    Memory(std::vec::IntoIter<String>),
    File(BufReader<File>),
}

impl Source {
    fn next(&mut self) -> io::Result<Option<String>> {
        match self {
            Self::Memory(lines) => Ok(lines.next()),
            Self::File(file) => {
                let mut line = String::new();
                io::Read::take(file, MAX_LINE).read_line(&mut line)?;
                if line.ends_with('\n') {
                    line.pop();
                } else if line.is_empty() {
                    return Ok(None);
                }
                Ok(Some(line))
            }
        }
    }
}

/// Sorted lines, each once.
pub struct SortedLines {
    sources: Vec<Source>,
    /// The next line of each source.
    heads: BinaryHeap<Reverse<(String, usize)>>,
    last: Option<String>,
}

impl SortedLines {
    /// Merges files of sorted lines.
    pub fn merge(files: Vec<File>) -> io::Result<Self> {
        let sources = files
            .into_iter()
            .map(|file| Source::File(BufReader::new(file)));
        Self::of(sources.collect())
    }

    fn of(sources: Vec<Source>) -> io::Result<Self> {
        let mut merged = Self {
            heads: BinaryHeap::with_capacity(sources.len()),
            sources,
            last: None,
        };
        for at in 0..merged.sources.len() {
            merged.refill(at)?;
        }
        Ok(merged)
    }

    fn refill(&mut self, at: usize) -> io::Result<()> {
        if let Some(source) = self.sources.get_mut(at)
            && let Some(line) = source.next()?
        {
            self.heads.push(Reverse((line, at)));
        }
        Ok(())
    }
}

impl Iterator for SortedLines {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Reverse((line, at)) = self.heads.pop()?;
            if let Err(error) = self.refill(at) {
                self.heads.clear();
                return Some(Err(error));
            }
            if self.last.as_ref() != Some(&line) {
                self.last = Some(line.clone());
                return Some(Ok(line));
            }
        }
    }
}
