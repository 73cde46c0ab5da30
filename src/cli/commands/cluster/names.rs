//! What a worker is called.

use std::fs;
use std::path::Path;

use crate::cli::Failure;

/// The machine, and the name of the worker, as they are given or by default.
pub(in crate::cli::commands) fn names(
    machine: Option<&str>,
    name: Option<&str>,
    directory: &Path,
) -> Result<(String, String), Failure> {
    let machine = machine.map_or_else(host_name, str::to_owned);
    let name = match name {
        Some(name) => name.to_owned(),
        None => {
            let path = std::path::absolute(directory).map_err(anyhow::Error::from)?;
            let directory = path.file_name().map(|it| it.to_string_lossy().into_owned());
            format!("{machine}-{}", plain(&directory.unwrap_or_default()))
        }
    };
    // It is the name of a row of the engine, and of files.
    if name.is_empty() || name != plain(&name) {
        return Err(Failure::usage(format!(
            "--name {name:?}: a worker's name has letters, digits, `-` and `_`"
        )));
    }
    Ok((machine, name))
}

/// What Linux calls the machine.
fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match plain(name.trim()) {
        name if name.is_empty() => "machine".to_owned(),
        name => name,
    }
}

/// A name of letters, digits, `-` and `_`.
fn plain(name: &str) -> String {
    let letters = name.chars().map(|letter| match letter {
        '-' | '_' => letter,
        _ if letter.is_ascii_alphanumeric() => letter,
        _ => '-',
    });
    letters.collect()
}
