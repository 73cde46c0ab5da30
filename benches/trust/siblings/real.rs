//! Real documentation of this machine, as a site of siblings.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Builder, Doc, plant};
use crate::made_up::site::Site;
use crate::made_up::text::Random;

/// Where the documentation of some toolchain is.
pub(super) fn rust_documentation() -> Option<PathBuf> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .ok()?;
    let own = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let others = own.parent()?.read_dir().ok()?.flatten().map(|it| it.path());
    let mut all: Vec<PathBuf> = others.map(|it| it.join("share/doc/rust/html")).collect();
    all.sort();
    all.into_iter().find(|it| it.join("core/arch").is_dir())
}

/// A site of at most so many pages of a directory; none if it has fewer than fifty.
pub(super) fn site(directory: &Path, seed: u64, most: usize) -> Option<Site> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|it| it == "html") {
                files.push(path);
            }
        }
    }
    files.sort();
    // Neighbours, which resemble each other most.
    let start = Random::of(seed, "files").below(files.len().saturating_sub(most * 2).max(1));
    files.drain(..start);
    let mut builder = Builder::new(seed, 1.0);
    let mut texts = HashSet::new();
    for path in files {
        let Some(html) = fs::read(&path)
            .ok()
            .and_then(|it| String::from_utf8(it).ok())
        else {
            continue;
        };
        // Pages that only lead elsewhere, and pages that say the same, are no siblings.
        let text = visible(&html);
        if html.contains("http-equiv=\"refresh\"") || text.len() < 80 || !texts.insert(text) {
            continue;
        }
        let name = path
            .strip_prefix(directory)
            .ok()?
            .to_str()?
            .replace('\\', "/");
        builder.docs.push(Doc {
            key: name.clone(),
            host: 0,
            frame: 0,
            path: format!("/docs/{name}"),
            title: name.clone(),
            headline: name,
            main: String::new(),
            whole: Some(html),
            style: None,
            is_restless: false,
        });
        if builder.docs.len() == most {
            break;
        }
    }
    if builder.docs.len() < 50 {
        return None;
    }
    builder.docs.sort_by(|a, b| a.path.cmp(&b.path));
    let include = "re:^http://[^/]+/([a-z0-9-]+/)*(all-|docs/|article/)";
    builder.settings = format!("crawl.include = [\"{include}\"]\n");
    plant::plant(&mut builder);
    Some(builder.build())
}

/// The text of a page without tags, scripts and spaces: whether two pages say the same.
fn visible(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        text.extend(rest[..start].split_whitespace());
        let tag = &rest[start..];
        let skips = ["script", "style", "head"]
            .iter()
            .find(|it| tag[1..].starts_with(**it));
        let end = match skips {
            Some(name) => tag.find(&format!("</{name}")).unwrap_or(tag.len() - 1),
            None => 0,
        };
        let close = tag[end..].find('>').map_or(tag.len(), |it| end + it + 1);
        rest = &tag[close..];
    }
    text.extend(rest.split_whitespace());
    text
}
