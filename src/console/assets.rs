//! The files of the page, which are in the program. What the page is made of is in `page/`; what of
//! it others wrote is in `page/vendor/`.

/// A file of the page.
pub(super) struct Asset {
    /// What it holds.
    pub(super) bytes: &'static [u8],
    /// Its media type.
    pub(super) mime: &'static str,
    /// Its `ETag`, with the quotes: another if it holds something else.
    pub(super) etag: String,
}

/// A file as it is built in.
pub(super) struct File {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

impl File {
    /// What kind of file it is, by the end of its name.
    pub(super) fn kind(&self) -> &'static str {
        self.name.rsplit_once('.').map_or("", |(_, kind)| kind)
    }
}

macro_rules! files {
    ($($name:literal $path:literal),+ $(,)?) => {
        [$(File { name: $name, text: include_str!(concat!("page/", $path)) }),+]
    };
}

/// The sheet, of the page and of saved reports.
pub(super) const SHEET: &str = "style.css";

/// Every file; of modules those first that others import.
pub(super) const FILES: [File; 19] = files![
    "index.html" "index.html",
    "style.css" "style.css",
    "icon.svg" "icon.svg",
    "preact.js" "vendor/preact.js",
    "format.js" "format.js",
    "api.js" "api.js",
    "live.js" "live.js",
    "parts.js" "parts.js",
    "charts.js" "charts.js",
    "compare.js" "compare.js",
    "health.js" "health.js",
    "overview.js" "overview.js",
    "hosts.js" "hosts.js",
    "duplicates.js" "duplicates.js",
    "not_fetched.js" "not_fetched.js",
    "url.js" "url.js",
    "pages.js" "pages.js",
    "cluster.js" "cluster.js",
    "app.js" "app.js",
];

/// The file of this name; the page itself is `index.html`.
pub(super) fn asset(name: &str) -> Option<Asset> {
    let file = FILES.iter().find(|it| it.name == name)?;
    let mime = match file.kind() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        _ => "image/svg+xml",
    };
    Some(Asset {
        bytes: file.text.as_bytes(),
        mime,
        etag: format!(
            "\"{:016x}\"",
            xxhash_rust::xxh3::xxh3_64(file.text.as_bytes())
        ),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn every_file_of_the_page_is_built_in() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console/page");
        let mut there = BTreeSet::from(["preact.js".to_owned()]);
        for entry in fs::read_dir(page).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                there.insert(entry.file_name().into_string().unwrap());
            }
        }
        let built_in: BTreeSet<String> = FILES.iter().map(|it| it.name.to_owned()).collect();
        assert_eq!(built_in, there);
        assert!(asset("page/index.html").is_none());
        assert!(asset("../mod.rs").is_none());
    }

    #[test]
    fn what_is_asked_for_is_there_and_lies_beside() {
        for file in &FILES {
            let File { name, text } = file;
            for line in text.lines().filter(|it| it.starts_with("import ")) {
                let from = line
                    .split("'./")
                    .nth(1)
                    .and_then(|it| it.split('\'').next());
                let from = from.unwrap_or_else(|| panic!("{name}: {line}"));
                let own = FILES.iter().position(|it| it.name == *name).unwrap();
                let before = FILES[..own].iter().any(|it| it.name == from);
                assert!(
                    before,
                    "{name} imports {from}, which does not stand before it"
                );
            }
            if file.kind() == "html" {
                for part in text.split("assets/").skip(1) {
                    let file = part.split('"').next().unwrap();
                    assert!(asset(file).is_some(), "{name} asks for {file}");
                }
                // A module that another one asks for comes a round trip later.
                for module in FILES.iter().filter(|it| it.kind() == "js") {
                    let is_asked_for = text.contains(&format!("assets/{}\"", module.name));
                    assert!(is_asked_for, "{name} does not ask for {}", module.name);
                }
            }
            // What the page is given from elsewhere is text, never markup.
            let is_ours = *name != "preact.js";
            for way in ["innerHTML", "insertAdjacent", "document.write", "eval("] {
                assert!(!is_ours || !text.contains(way), "{name} has {way}");
            }
        }
    }

    #[test]
    fn what_others_wrote_is_what_it_says() {
        let told = include_str!("page/vendor/README.md");
        let preact = asset("preact.js").unwrap();
        let hash = hex::encode(Sha256::digest(preact.bytes));
        assert!(told.contains(&hash), "preact.js has the hash {hash}");
    }

    #[test]
    fn a_file_has_the_tag_of_what_it_holds() {
        let (page, sheet) = (asset("index.html").unwrap(), asset("style.css").unwrap());
        assert_eq!(page.mime, "text/html; charset=utf-8");
        assert_eq!(sheet.mime, "text/css; charset=utf-8");
        assert_ne!(page.etag, sheet.etag);
        assert!(page.etag.starts_with('"') && page.etag.ends_with('"'));
    }
}
