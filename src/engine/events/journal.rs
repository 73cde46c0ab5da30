//! `log/events.jsonl`: the events of a crawl beyond a process.
//!
//! An event is a line as the API sends it, and is in the file before anyone is told of it: what a
//! kill leaves is all that a reader can know. Numbers go up by one from line to line; where they
//! do not, a line `{"begins":…,"behind":…,"boot":…}` comes first, which says with which number the
//! events go on, behind which one nothing is missing, and since which start of the machine this is
//! written. Such a line is synced, and nothing else is but the line `{"ends":…}` at the end of a
//! run: after a power cut the last events may be gone, and a number must not be another event's
//! then. So what a run can have numbered behind its last such line is left out.
//!
//! Bounded: with [`KEPT`] events or [`MAX_BYTES`] the file takes the place of `events-1.jsonl`, and
//! another begins.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::told::{CrawlEvent, KEPT, as_text, from_text};
use crate::engine::lines;

/// Name of the file in the directory of the log.
const CURRENT: &str = "events.jsonl";
/// Name of the one before it.
const EARLIER: &str = "events-1.jsonl";
/// What is added to the name of a file that cannot be read.
const ASIDE: &str = ".unreadable";

/// Length of a file with which another begins, in bytes. [`KEPT`] events fit, unless what they say
/// is full of characters that JSON writes as several.
const MAX_BYTES: u64 = 8 << 20;

/// Numbers that are left out after a run of which the last lines may be lost. It had at most
/// [`KEPT`] behind the last line that was synced, or more while its disk was full.
const LEFT_OUT: u64 = 1 << 20;

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Event(CrawlEvent),
    Begins {
        /// The least number that the next event can have.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        begins: u64,
        /// Whoever knows this number or a higher one has missed nothing before it.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        behind: u64,
        /// Which start of the machine this is, if the system tells.
        boot: Option<String>,
    },
    Ends {
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        ends: u64,
    },
}

/// An event, and what one has to know to have missed none before it.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) event: Arc<CrawlEvent>,
    /// The least number with which nothing before this event is missed.
    pub(super) behind: u64,
}

/// What is in the files, and how a run goes on behind it.
pub(super) struct Opened {
    pub(super) journal: Journal,
    /// The last events, at most [`KEPT`].
    pub(super) slots: VecDeque<Slot>,
    /// The number of the next event.
    pub(super) next: u64,
    /// The least number with which nothing before that is missed.
    pub(super) behind: u64,
}

/// Writes the events of a run to the file.
#[derive(Debug)]
pub(super) struct Journal {
    directory: PathBuf,
    /// `None` until there is something to write.
    file: Option<File>,
    /// Length of what is whole in the file, with the end of its last line.
    length: u64,
    /// Number of events in the file.
    events: usize,
    end: FileEnd,
    /// The next line says where events go on, behind this number.
    behind: Option<u64>,
    /// The last event that is in the file; 0 if this run wrote none.
    written: u64,
    /// What could not be written so far.
    waiting: VecDeque<Arc<CrawlEvent>>,
    /// Whether someone was told that.
    is_told: bool,
    boot: Option<String>,
    /// Set while writes fail half-way, as on a full disk.
    #[cfg(test)]
    pub(super) is_full: bool,
}

/// How the file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileEnd {
    /// With a line.
    Line,
    /// With a line that says that the run has ended.
    Run,
    /// With a line that lacks its end, because what comes then could not be written.
    Cut,
}

/// What was read of the files.
#[derive(Default)]
struct Reading {
    slots: VecDeque<Slot>,
    /// What the last line that begins something says of the next event, if none came since.
    begins: Option<(u64, u64)>,
    last: Option<u64>,
    /// The number with which the last part began, and in which start of the machine.
    part: Option<(u64, Option<String>)>,
    is_ended: bool,
    /// Number of events of this file, and the length of the lines that are whole.
    events: usize,
    length: u64,
    rest: Rest,
}

/// How a file ends behind the lines that are whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Rest {
    /// With the end of the last of them.
    #[default]
    Nothing,
    /// Without that.
    NoEnd,
    /// With what is no line.
    Torn,
    /// With what is no line, and then lines.
    Bad,
}

impl Reading {
    /// Reads a file. Returns `false` if there are lines behind what is none.
    fn read(&mut self, path: &Path) -> io::Result<bool> {
        (self.events, self.length) = (0, 0);
        self.rest = Rest::Nothing;
        lines::read(path, &mut |line| self.add(line))?;
        Ok(self.rest != Rest::Bad)
    }

    fn add(&mut self, line: &[u8]) {
        let parsed = serde_json::from_slice::<Line>(line).ok();
        if self.rest != Rest::Nothing {
            if parsed.is_some() {
                self.rest = Rest::Bad;
            }
            return;
        }
        if !parsed.is_some_and(|line| self.take(line)) {
            self.rest = Rest::Torn;
            return;
        }
        self.length += line.len() as u64;
        if !line.ends_with(b"\n") {
            // It is whole, but what came then is lost.
            self.rest = Rest::NoEnd;
            self.length += 1;
        }
    }

    /// Takes a line over. Returns `false` if it does not go on where the last one ended.
    fn take(&mut self, line: Line) -> bool {
        match line {
            Line::Begins {
                begins,
                behind,
                boot,
            } => {
                if self.last.is_some_and(|last| begins <= last) || behind >= begins {
                    return false;
                }
                self.begins = Some((begins, behind));
                self.part = Some((begins, boot));
                self.is_ended = false;
            }
            Line::Ends { ends } => self.is_ended = self.last == Some(ends),
            Line::Event(event) => {
                let behind = match (self.begins.take(), self.last) {
                    (Some((begins, behind)), _) if event.id >= begins => behind,
                    (None, Some(last)) if last.checked_add(1) == Some(event.id) => last,
                    _ => return false,
                };
                self.last = Some(event.id);
                self.is_ended = false;
                self.events += 1;
                if self.slots.len() == KEPT {
                    self.slots.pop_front();
                }
                let event = Arc::new(event);
                self.slots.push_back(Slot { event, behind });
            }
        }
        true
    }
}

impl Journal {
    /// Opens the files of the crawl in a data directory. `clock` is the least number that a run can
    /// begin with that begins now. Writes nothing, unless a file cannot be read: that is set aside.
    pub(super) fn open(data: &Path, clock: u64) -> Opened {
        let directory = data.join("log");
        let boot = boot();
        let mut read = Reading::default();
        let earlier = directory.join(EARLIER);
        if !matches!(read.read(&earlier), Ok(true)) {
            set_aside(&earlier);
            read = Reading::default();
        }
        let before = read.slots.back().map(|slot| slot.event.id);
        let current = directory.join(CURRENT);
        if !matches!(read.read(&current), Ok(true)) {
            set_aside(&current);
            // What was read of it is in no file any more.
            read.slots.retain(|slot| Some(slot.event.id) <= before);
            (read.events, read.length, read.rest) = (0, 0, Rest::Bad);
        }
        let last = read.last.unwrap_or(0);
        // What was written since the machine has started is in the file, whatever became of the
        // process; and all of it is if its run ended in order.
        let part = read.part.as_ref();
        let is_same_boot = part.is_some_and(|(_, then)| then.is_some() && *then == boot);
        let is_whole = read.rest == Rest::Nothing && (read.is_ended || is_same_boot);
        let above = match part {
            Some((begins, _)) if !is_whole => begins.saturating_add(LEFT_OUT),
            _ => 0,
        };
        let next = clock.max(above).max(last.saturating_add(1)).max(1);
        let behind = match read.begins {
            // The last run told of nothing.
            Some((_, behind)) if is_whole => behind,
            None if is_whole => last,
            _ => next - 1,
        };
        let journal = Self {
            directory,
            file: None,
            length: read.length,
            events: read.events,
            end: match read.rest {
                Rest::NoEnd => FileEnd::Cut,
                _ => FileEnd::Line,
            },
            behind: Some(behind),
            written: 0,
            waiting: VecDeque::new(),
            is_told: false,
            boot,
            #[cfg(test)]
            is_full: false,
        };
        Opened {
            journal,
            slots: read.slots,
            next,
            behind,
        }
    }

    /// Writes an event, and what could not be written before it. A disk that is full is no reason
    /// not to tell of it: the file has it as soon as there is room, if it is still kept then.
    pub(super) fn write(&mut self, event: &Arc<CrawlEvent>) {
        if self.waiting.len() == KEPT {
            self.waiting.pop_front();
            // Those who come back behind it have missed something.
            self.behind = self.waiting.front().map(|event| event.id - 1);
        }
        self.waiting.push_back(Arc::clone(event));
        let result = self.write_waiting();
        self.tell(result);
    }

    /// Writes that the run has ended, and makes that durable.
    pub(super) fn end(&mut self) {
        if self.written == 0 || self.end == FileEnd::Run || !self.waiting.is_empty() {
            return;
        }
        let line = Line::Ends { ends: self.written };
        let result = self.append(&line, true);
        if result.is_ok() {
            self.end = FileEnd::Run;
        }
        self.tell(result);
    }

    fn tell(&mut self, result: io::Result<()>) {
        match result {
            Ok(()) => self.is_told = false,
            Err(error) if !std::mem::replace(&mut self.is_told, true) => {
                let path = self.directory.join(CURRENT);
                tracing::warn!(
                    %error,
                    path = %path.display(),
                    "cannot write what happens: whoever follows the events is told of it, but may \
                     miss it after a restart"
                );
            }
            Err(_) => {}
        }
    }

    fn write_waiting(&mut self) -> io::Result<()> {
        while let Some(event) = self.waiting.front().cloned() {
            if self.events >= KEPT || self.length >= MAX_BYTES {
                self.rotate()?;
            }
            if let Some(behind) = self.behind {
                let line = Line::Begins {
                    begins: event.id,
                    behind,
                    boot: self.boot.clone(),
                };
                self.append(&line, true)?;
                self.behind = None;
            }
            self.append(&*event, false)?;
            self.written = event.id;
            self.events += 1;
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Appends a line, whole or not at all.
    fn append(&mut self, line: &impl Serialize, synced: bool) -> io::Result<()> {
        let mut text = Vec::new();
        if self.end == FileEnd::Cut {
            text.push(b'\n');
        }
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
        let result = self.try_append(&text, synced);
        match result {
            Ok(()) => {
                self.length += text.len() as u64 - u64::from(self.end == FileEnd::Cut);
                self.end = FileEnd::Line;
            }
            // Without the end of its last line the file says that something is missing, also if
            // there is never room for more.
            Err(_) => {
                let length = self.length.saturating_sub(1);
                let cut = self.file.as_ref().map(|file| file.set_len(length));
                match cut {
                    Some(Ok(())) if self.length > 0 => self.end = FileEnd::Cut,
                    // What is left of the line goes when the file is opened again.
                    _ => self.file = None,
                }
            }
        }
        result
    }

    fn try_append(&mut self, text: &[u8], synced: bool) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let path = self.directory.join(CURRENT);
                let mut options = OpenOptions::new();
                let file = options.append(true).create(true).open(path)?;
                // What a kill has left of a line goes.
                file.set_len(self.length - u64::from(self.end == FileEnd::Cut))?;
                none.insert(file)
            }
        };
        #[cfg(test)]
        if self.is_full {
            file.write_all(&text[..text.len() / 2])?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.write_all(text)?;
        if synced {
            file.sync_all()?;
            File::open(&self.directory)?.sync_all()?;
        }
        Ok(())
    }

    /// The file is full: it takes the place of the one before it.
    fn rotate(&mut self) -> io::Result<()> {
        let current = self.directory.join(CURRENT);
        match fs::rename(&current, self.directory.join(EARLIER)) {
            // Someone has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
        self.file = None;
        (self.length, self.events, self.end) = (0, 0, FileEnd::Line);
        if self.behind.is_none() {
            self.behind = Some(self.written);
        }
        Ok(())
    }

    /// Takes what is meant out of the files: the events stay, without host and text.
    pub(super) fn forget(&mut self, is_meant: &dyn Fn(&CrawlEvent) -> bool) {
        self.waiting.iter_mut().for_each(|event| {
            if is_meant(event) {
                *event = Arc::new(event.forgotten());
            }
        });
        for name in [EARLIER, CURRENT] {
            let path = self.directory.join(name);
            let is_current = name == CURRENT;
            match rewrite(&path, is_meant) {
                Ok(Some(length)) if is_current => {
                    (self.file, self.length, self.end) = (None, length, FileEnd::Line);
                }
                Ok(_) => {}
                // What is to go does not stay because it cannot be written.
                Err(error) => {
                    tracing::warn!(
                        %error,
                        path = %path.display(),
                        "cannot take out of the events what is to be forgotten: the file is removed"
                    );
                    remove(&path);
                    if is_current {
                        self.file = None;
                        (self.length, self.events, self.end) = (0, 0, FileEnd::Line);
                        self.behind.get_or_insert(self.written);
                    }
                }
            }
            remove(&aside(&path));
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.end();
    }
}

/// Rewrites a file without what is meant, if it has any of that, and returns its length. What is no
/// line is left out.
fn rewrite(path: &Path, is_meant: &dyn Fn(&CrawlEvent) -> bool) -> io::Result<Option<u64>> {
    let (mut text, mut is_changed) = (Vec::new(), false);
    let mut result = Ok(());
    lines::read(path, &mut |line| {
        let parsed = serde_json::from_slice::<Line>(line);
        match parsed {
            Ok(Line::Event(event)) if is_meant(&event) => {
                is_changed = true;
                let written = serde_json::to_writer(&mut text, &Line::Event(event.forgotten()));
                text.push(b'\n');
                result = std::mem::replace(&mut result, Ok(())).and(written);
            }
            Ok(_) => {
                text.extend_from_slice(line);
                if !line.ends_with(b"\n") {
                    text.push(b'\n');
                }
            }
            // It may be what is meant.
            Err(_) => is_changed = true,
        }
    })?;
    result?;
    if !is_changed {
        return Ok(None);
    }
    let temporary = path.with_extension("jsonl.new");
    let mut new = File::create(&temporary)?;
    new.write_all(&text)?;
    new.sync_all()?;
    fs::rename(&temporary, path)?;
    Ok(Some(text.len() as u64))
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::error!(%error, path = %path.display(), "cannot remove a file: remove it");
        }
        _ => {}
    }
}

fn aside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ASIDE);
    name.into()
}

/// Sets a file aside that cannot be read, and says so.
fn set_aside(path: &Path) {
    let aside = aside(path);
    let moved = fs::rename(path, &aside);
    let (path, aside) = (path.display(), aside.display());
    match moved {
        Ok(()) => tracing::warn!(
            "{path} cannot be read as events and is set aside as {aside}: whoever followed them \
             is told that some are missing"
        ),
        Err(error) => tracing::warn!(
            %error,
            "{path} cannot be read as events, nor set aside: remove it"
        ),
    }
}

/// Returns which start of the machine this is; `None` where the system does not tell.
fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty() && id.len() <= 64)
}
