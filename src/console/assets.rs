//! The files of the page, which are in the program.

/// A file of the page.
pub(super) struct Asset {
    /// What it holds.
    pub(super) bytes: &'static [u8],
    /// Its media type.
    pub(super) mime: &'static str,
    /// Its `ETag`, with the quotes: another if it holds something else.
    pub(super) etag: String,
}

/// The file of this name; the page itself is `index.html`.
pub(super) fn asset(name: &str) -> Option<Asset> {
    let (bytes, mime): (&'static [u8], _) = match name {
        "index.html" => (
            include_bytes!("page/index.html"),
            "text/html; charset=utf-8",
        ),
        _ => return None,
    };
    Some(Asset {
        bytes,
        mime,
        etag: format!("\"{:016x}\"", xxhash_rust::xxh3::xxh3_64(bytes)),
    })
}
