//! The command of the user's that is run for each file that has been closed.

use std::collections::VecDeque;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::time::timeout;

/// Number of bytes of what a command says that are kept: the last ones, for they say what failed.
const SAID: usize = 2_000;

/// A command, and how long it may take.
pub(super) struct Hook {
    pub(super) command: Vec<String>,
    pub(super) max_duration: Duration,
}

impl Hook {
    /// Runs the command for a file, and waits for it. Dropped before that, it is killed, with the
    /// processes that it has started.
    pub(super) async fn run(&self, file: &Path) -> Result<(), String> {
        let [program, arguments @ ..] = self.command.as_slice() else {
            return Ok(());
        };
        let file = std::path::absolute(file).map_err(|error| error.to_string())?;
        let mut child = Command::new(program)
            .args(arguments)
            .arg(file)
            .stdin(Stdio::null())
            // The crawl's own output is for whoever started it.
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // A Ctrl-C at the terminal is for the crawl, which waits a moment for the command.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("cannot run {program}: {error}"))?;
        let group = Group(child.id());
        let said = child.stderr.take();
        let done = async {
            let (said, status) = tokio::join!(last_words(said), child.wait());
            status.map(|status| (said, status))
        };
        match timeout(self.max_duration, done).await {
            Ok(Ok((said, status))) => {
                group.let_go();
                match status.success() {
                    true => Ok(()),
                    false => Err(failure(program, status, &said)),
                }
            }
            Ok(Err(error)) => Err(format!("cannot wait for {program}: {error}")),
            Err(_) => Err(format!(
                "{program} was killed: it took longer than archive.on_close_timeout, {} s",
                self.max_duration.as_secs()
            )),
        }
    }
}

/// The processes of a command, which are killed if nobody waits for them any more.
struct Group(Option<u32>);

impl Group {
    fn let_go(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let group = self.0.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(group) = group {
            // They may be gone.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Reads to the end, and returns the last words.
async fn last_words(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else {
        return String::new();
    };
    let mut kept = VecDeque::new();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        kept.extend(buffer.iter().take(read));
        kept.drain(..kept.len().saturating_sub(SAID));
    }
    let kept = Vec::from(kept);
    String::from_utf8_lossy(&kept).trim().to_owned()
}

fn failure(program: &str, status: ExitStatus, said: &str) -> String {
    match said.is_empty() {
        true => format!("{program}: {status}"),
        false => format!("{program}: {status}: {said}"),
    }
}
