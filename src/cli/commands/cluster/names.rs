//! What a worker is called.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use crate::cli::Failure;
use crate::cluster::Called;

/// The machine, and the name of the worker, as they are given, as its directory keeps them, or by
/// default.
pub(in crate::cli::commands) fn names(
    machine: Option<&str>,
    name: Option<&str>,
    directory: &Path,
) -> Result<(String, String), Failure> {
    let kept = Called::of(directory)
        .with_context(|| format!("cannot read what {} is called", directory.display()))?;
    let machine = machine.map(str::to_owned);
    let machine = machine.or_else(|| kept.as_ref().map(|it| it.machine.clone()));
    let machine = machine.unwrap_or_else(host_name);
    let name = match (name, kept) {
        (Some(name), _) => name.to_owned(),
        (None, Some(kept)) => kept.name,
        (None, None) => {
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
