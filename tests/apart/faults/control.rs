//! The library that is loaded before a process, and what it is told: `preload.c`, compiled here.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Kinds of calls, as `preload.c` numbers them.
pub(super) const WRITE: u32 = 1;
pub(super) const SYNC: u32 = 2;
/// Creates, truncates, renames, removes.
pub(super) const NAME: u32 = 4;
pub(super) const READ: u32 = 8;
pub(super) const OPEN: u32 = 16;

/// The calls that change something.
pub(super) const CHANGES: u32 = WRITE | SYNC | NAME;

/// What happens at the chosen call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    Nothing,
    /// The process is killed before the call.
    Kill,
    /// It is killed when half of a write is done; before any other call.
    Tear,
    /// The call fails, and those after it too if that `stays`.
    Fail {
        errno: i32,
        stays: bool,
    },
    /// From this call on the clock is so many seconds ahead.
    Clock(i64),
}

/// A fault at the `chosen` call, from 1 on, of those of some kinds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) kinds: u32,
    pub(super) chosen: u64,
    pub(super) action: Action,
}

/// What a process with a fault shares with this one.
pub(super) struct Control {
    path: PathBuf,
}

/// Where the parts of `struct control` are, and its size.
const CALLS_OF_KINDS: u64 = 40;
const CALL_NAME: u64 = 80;
const SIZE: u64 = 80 + 4_096 + 32;

impl Control {
    /// Puts a fault into a command that works in this folder. `path` is a file for what they share.
    pub(super) fn put(fault: Fault, command: &mut Command, folder: &Path, path: PathBuf) -> Self {
        let (action, error, seconds) = match fault.action {
            Action::Nothing => (0_u32, 0_u32, 0_i64),
            Action::Kill => (1, 0, 0),
            Action::Tear => (2, 0, 0),
            Action::Fail { errno, stays } => (3, errno as u32 | u32::from(stays) << 31, 0),
            Action::Clock(seconds) => (4, 0, seconds),
        };
        let mut bytes = Vec::new();
        bytes.extend(fault.chosen.to_ne_bytes());
        for part in [fault.kinds, action, error, 0] {
            bytes.extend(part.to_ne_bytes());
        }
        bytes.extend(seconds.to_ne_bytes());
        bytes.resize(SIZE as usize, 0);
        fs::write(&path, bytes).expect("the folder is ours");
        let library = library().as_ref().expect("the test is ignored otherwise");
        command
            .env("LD_PRELOAD", library)
            .env("FAULTS_FOLDER", folder)
            .env("FAULTS_CONTROL", &path);
        Self { path }
    }

    fn read(&self, at: u64, length: usize) -> Vec<u8> {
        let file = OpenOptions::new().read(true).open(&self.path);
        let mut bytes = vec![0; length];
        file.and_then(|file| file.read_exact_at(&mut bytes, at))
            .expect("the file is ours");
        bytes
    }

    /// Number of calls so far, for each kind that is counted.
    pub(super) fn calls(&self) -> [u64; 5] {
        [0, 1, 2, 3, 4].map(|kind| {
            let bytes = self.read(CALLS_OF_KINDS + 8 * kind, 8);
            u64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
        })
    }

    /// The chosen call, if it was made.
    pub(super) fn struck(&self) -> Option<String> {
        let name = self.read(CALL_NAME, (SIZE - CALL_NAME) as usize);
        let end = name.iter().position(|byte| *byte == 0)?;
        (end > 0).then(|| String::from_utf8_lossy(&name[..end]).into_owned())
    }
}

/// The compiled library, or why there is none.
pub(super) fn library() -> &'static Result<PathBuf, String> {
    static LIBRARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        if !cfg!(all(target_os = "linux", target_pointer_width = "64")) {
            return Err("faults at I/O calls need 64-bit Linux".to_owned());
        }
        if cfg!(target_feature = "crt-static") {
            return Err("faults at I/O calls need a binary that is linked dynamically".to_owned());
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/apart/faults/preload.c");
        let own = folder.join(format!("faults-{}.so", std::process::id()));
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let compiled = Command::new(&compiler)
            .args(["-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o"])
            .args([own.as_os_str(), source.as_ref()])
            .output();
        match compiled {
            Ok(output) if output.status.success() => {
                // Another process of these tests may do the same.
                let library = folder.join("faults.so");
                let moved = fs::rename(&own, &library);
                moved.map(|()| library).map_err(|error| error.to_string())
            }
            Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => Err(format!(
                "faults at I/O calls need a C compiler: {}: {error}",
                compiler.to_string_lossy()
            )),
        }
    })
}

/// Why there are no faults here; nothing if there are.
pub(crate) fn missing() -> Option<String> {
    library().as_ref().err().cloned()
}
