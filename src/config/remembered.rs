//! What a crawl was told, as its data directory remembers it, so that its next run goes on with it.
//!
//! Configuration files are remembered as they were, and values that were given beside them by
//! variables and flags as text. A file that is given now takes the place of those remembered, and
//! what is given now wins over what was given then. Credentials are never written: the run that
//! follows says that it lacks them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Config, Error, flatten};
use crate::fetch::HIDDEN;

/// The file in a data directory.
const NAME: &str = "settings.toml";

const HEADER: &str = "\
# What this crawl was told: its next run goes on with it. Written by gleaner at each start; what is
# changed here holds from the next start on. `--reset-settings` forgets it.

";

/// What a crawl was told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Remembered {
    /// Keys that were given credentials, which are not kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) lacks: Vec<String>,
    /// What was given by variables and flags, by `section.key`, as it is written there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) given: BTreeMap<String, String>,
    /// Configuration files, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) file: Vec<RememberedFile>,
}

/// A configuration file that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RememberedFile {
    /// Where it was.
    pub(super) path: PathBuf,
    /// What was in it; `None` if that holds credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
}

impl RememberedFile {
    pub(super) fn new(path: &Path, text: &str) -> Self {
        let config = toml::from_str::<Config>(text).unwrap_or_default();
        let holds_secret = flatten(&config).values().any(|it| it.contains(HIDDEN));
        Self {
            path: path.to_owned(),
            text: (!holds_secret).then(|| text.to_owned()),
        }
    }
}

impl Remembered {
    /// Reads what a data directory remembers: nothing, if it is new or was begun before directories
    /// did.
    ///
    /// # Errors
    ///
    /// [`Error::Disk`] if the file cannot be read, [`Error::Remembered`] if it is not what gleaner
    /// writes.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(NAME);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(Error::Disk { path, source }),
        };
        toml::from_str(&text).map_err(|error| Error::Remembered {
            path,
            reason: error.to_string(),
        })
    }

    /// Writes it into a data directory, in one step: a reader sees the old file or the new one.
    ///
    /// # Errors
    ///
    /// [`Error::Disk`] if it cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), Error> {
        let path = directory.join(NAME);
        if Self::read(directory).ok().as_ref() == Some(self) {
            return Ok(());
        }
        let text = toml::to_string_pretty(self).map_err(|error| Error::Remembered {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        let beside = path.with_extension("toml.new");
        let write = || {
            let mut options = File::options();
            let options = options.write(true).create(true).truncate(true).mode(0o640);
            let mut file = options.open(&beside)?;
            file.write_all(HEADER.as_bytes())?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &path)?;
            File::open(directory)?.sync_all()
        };
        write().map_err(|source| Error::Disk { path, source })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Flag, Sources, load};
    use super::*;

    /// A run with these files, variables and flags in a directory that remembers what came before.
    fn run(
        directory: &Path,
        files: &[&Path],
        environment: &[(&str, &str)],
        flags: &[(&'static str, &str, &str)],
    ) -> Result<BTreeMap<String, String>, String> {
        let remembered = Remembered::read(directory).map_err(|error| error.to_string())?;
        let sources = Sources {
            remembered,
            files: files.iter().map(PathBuf::from).collect(),
        };
        let environment = environment
            .iter()
            .map(|(key, value)| (key.into(), value.into()));
        let flags = flags.iter().map(|(name, key, value)| Flag {
            name,
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            adds: false,
        });
        let effective = load(sources, environment, flags).map_err(|error| error.to_string())?;
        effective.remembered().write(directory).unwrap();
        Ok(flatten(&effective.config))
    }

    fn file(directory: &Path, name: &str, text: &str) -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn what_was_told_holds_until_something_else_is() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path();
        let first = "[politeness]\ndelay = \"3s\"\nattempts = 4\n[crawl]\nmax_depth = 7\n\
                     [[domain]]\nmatch = [\"a.example\"]\npoliteness.delay = \"9s\"\n";
        let first = file(own, "first.toml", first);
        let flags = [("--max-depth", "crawl.max_depth", "5")];
        let environment = [("GLEANER_CRAWL_SCOPE", "domain")];
        let told = run(own, &[&first], &environment, &flags).unwrap();
        assert_eq!(told["crawl.max_depth"], "5");
        fs::remove_file(&first).unwrap();
        assert_eq!(run(own, &[], &[], &[]).unwrap(), told);
        assert_eq!(run(own, &[], &[], &[]).unwrap(), told);
        // What is given now wins, and is remembered in its turn.
        let delay = [("--delay", "politeness.delay", "1s")];
        let then = run(own, &[], &[], &delay).unwrap();
        assert_eq!(then["politeness.delay"], "1s");
        assert_eq!(then["politeness.delay at a.example"], "9s");
        assert_eq!(run(own, &[], &[], &[]).unwrap(), then);
        // A list that a file gives now takes the place of one that was given then, though it is
        // empty.
        for list in ["[\"*/new/*\"]", "[]"] {
            let flags = [("--exclude", "crawl.exclude", "[\"*/old/*\"]")];
            run(own, &[], &[], &flags).unwrap();
            let lists = format!("[crawl]\nexclude = {list}\n");
            let lists = file(own, "lists.toml", &lists);
            assert_eq!(
                run(own, &[&lists], &[], &[]).unwrap()["crawl.exclude"],
                list
            );
        }
        // Another file takes the place of the first one, and wins over what was given then.
        let second = file(own, "second.toml", "[crawl]\nmax_depth = 2\n");
        let then = run(own, &[&second], &[], &[]).unwrap();
        assert_eq!(then["crawl.max_depth"], "2");
        assert_eq!(then["politeness.delay"], "1s");
        assert_eq!(
            (&*then["politeness.attempts"], &*then["crawl.scope"]),
            ("3", "domain")
        );
        assert!(!then.contains_key("politeness.delay at a.example"));
        assert_eq!(run(own, &[], &[], &[]).unwrap(), then);
    }

    #[test]
    fn credentials_are_not_written_and_their_lack_is_told() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path();
        let secret = "[[domain]]\nmatch = [\"a.example\"]\nfetch.auth = \"me:hush\"\n";
        let secret = file(own, "secret.toml", secret);
        let told = run(own, &[&secret], &[], &[]).unwrap();
        let refused = run(own, &[], &[], &[]).unwrap_err();
        assert!(
            refused.contains("secret.toml") && refused.contains("--config"),
            "{refused}"
        );
        assert_eq!(run(own, &[&secret], &[], &[]).unwrap(), told);
        let proxy = [("--proxy", "fetch.proxy", "http://me:hush@127.0.0.1:1")];
        run(own, &[&secret], &[], &proxy).unwrap();
        let refused = run(own, &[&secret], &[], &[]).unwrap_err();
        assert!(refused.contains("fetch.proxy"), "{refused}");
        run(own, &[&secret], &[], &[("--proxy", "fetch.proxy", "none")]).unwrap();
        run(own, &[&secret], &[], &[]).unwrap();
        for entry in fs::read_dir(own).unwrap().flatten() {
            let text = fs::read_to_string(entry.path()).unwrap();
            assert!(
                entry.path() == secret || !text.contains("hush"),
                "{entry:?}"
            );
        }
    }

    #[test]
    fn what_is_no_memory_is_named() {
        let place = tempfile::tempdir().unwrap();
        file(place.path(), NAME, "given = 3");
        let refused = run(place.path(), &[], &[], &[]).unwrap_err();
        assert!(
            refused.contains(NAME) && refused.contains("--reset-settings"),
            "{refused}"
        );
        let other = tempfile::tempdir().unwrap();
        fs::create_dir(other.path().join(NAME)).unwrap();
        let read = Remembered::read(other.path());
        assert!(matches!(read, Err(Error::Disk { .. })), "{read:?}");
        file(place.path(), NAME, "[given]\n\"crawl.no_such\" = \"3\"");
        let refused = run(place.path(), &[], &[], &[]).unwrap_err();
        assert!(refused.contains("crawl.no_such"), "{refused}");
    }
}
