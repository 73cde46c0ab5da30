//! Addresses of images, films and embedded pages as keys: what names the thing, without what
//! differs between two copies of one page.
//!
//! - On the page's own site the path stands for the address, so that a mirror has the same; of
//!   other hosts the name counts too, without digits (`img1`, `img2`).
//! - Of the query, parameters that name sizes, versions, sessions and signatures are left out.
//! - A session in the path is left out.
//! - A relative address repeats the place of its page: its masked form is as it is written.

use crate::url::{Site, Url};

/// Maximum length of a key in bytes; of longer addresses (`data:`) the beginning counts, with their
/// length.
const MAX_BYTES: usize = 16 * 1024;

/// Makes keys of the addresses on one page.
pub(super) struct Addresses<'u> {
    base: &'u Url,
    site: Option<Site>,
    page: &'u Url,
    key: String,
}

impl<'u> Addresses<'u> {
    /// `page` is where the page is, `base` what its references are relative to.
    pub(super) fn new(page: &'u Url, base: &'u Url) -> Self {
        Self {
            base,
            site: None,
            page,
            key: String::new(),
        }
    }

    /// The key of an address, and its masked form if that is another.
    pub(super) fn key(&mut self, address: &str) -> Option<(&str, Option<String>)> {
        let address = address.trim();
        if address.is_empty() {
            return None;
        }
        self.key.clear();
        if address
            .get(..5)
            .is_some_and(|it| it.eq_ignore_ascii_case("data:"))
        {
            let end = (0..=MAX_BYTES.min(address.len())).rev();
            let end = end.into_iter().find(|&at| address.is_char_boundary(at));
            self.key.push_str(&address[..end.unwrap_or(0)]);
            self.key.push_str(&address.len().to_string());
            return Some((&self.key, None));
        }
        let address = address.split('#').next().unwrap_or_default();
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let after_scheme = path.split_once("://").filter(|(scheme, _)| {
            (1..=12).contains(&scheme.len()) && scheme.bytes().all(|it| it.is_ascii_alphanumeric())
        });
        let absolute = after_scheme
            .map(|(_, rest)| rest)
            .or_else(|| path.strip_prefix("//"));
        let mut written = None;
        if let Some(rest) = absolute {
            let slash = rest.find('/').unwrap_or(rest.len());
            let (host, path) = rest.split_at(slash);
            self.push_host(host);
            self.push_path(path);
        } else if path.starts_with('/') {
            self.push_path(path);
        } else {
            let base = self.base.path();
            let folder = base.rfind('/').map_or("", |at| &base[..=at]);
            self.push_relative(folder, path);
            written = Some(path.to_owned());
        }
        let from = self.key.len();
        push_query(&mut self.key, query);
        if let Some(written) = &mut written {
            written.push_str(self.key.get(from..).unwrap_or_default());
        }
        Some((&self.key, written))
    }

    fn push_host(&mut self, host: &str) {
        let name = host.split(':').next().unwrap_or_default();
        if self
            .page
            .host_str()
            .is_some_and(|own| own.eq_ignore_ascii_case(name))
        {
            return;
        }
        let page = self.page;
        let site = self.site.get_or_insert_with(|| Site::of(page)).as_str();
        let is_own = name.len() > site.len()
            && name.is_char_boundary(name.len() - site.len())
            && name[name.len() - site.len()..].eq_ignore_ascii_case(site)
            && name[..name.len() - site.len()].ends_with('.');
        if is_own || name.eq_ignore_ascii_case(site) {
            return;
        }
        let letters = name.chars().filter(|c| !c.is_ascii_digit());
        self.key.extend(letters.map(|c| c.to_ascii_lowercase()));
    }

    fn push_path(&mut self, path: &str) {
        for segment in path.split('/').filter(|it| !it.is_empty()) {
            self.push_segment(segment);
        }
    }

    /// Resolves `.` and `..`.
    fn push_relative(&mut self, folder: &str, path: &str) {
        let mut segments: Vec<&str> = Vec::new();
        for segment in folder.split('/').chain(path.split('/')) {
            match segment {
                "" | "." => {}
                ".." => {
                    segments.pop();
                }
                segment => segments.push(segment),
            }
        }
        for segment in segments {
            self.push_segment(segment);
        }
    }

    fn push_segment(&mut self, segment: &str) {
        let segment = match segment.find(';') {
            Some(at)
                if is_session_name(segment[at + 1..].split('=').next().unwrap_or_default()) =>
            {
                &segment[..at]
            }
            _ => segment,
        };
        // ASP.NET writes sessions as `(S(...))`.
        let is_session = segment.starts_with("(S(") && segment.ends_with("))");
        if !is_session {
            self.key.push('/');
            self.key.push_str(segment);
        }
    }
}

/// Appends the parameters that may name the thing.
fn push_query(key: &mut String, query: &str) {
    let mut parameters = query.split(['&', ';']).filter(|it| !it.is_empty());
    for parameter in parameters.by_ref().take(64) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        // Without a name or without a value, digits or a hash are a version.
        let is_version = value.is_empty()
            && (name
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b'.'));
        if !is_version && !is_noise(name) {
            key.push('&');
            key.push_str(parameter);
        }
    }
}

/// Whether parameters of this name say nothing about which image is meant.
fn is_noise(name: &str) -> bool {
    const NOISE: [&str; 48] = [
        "v",
        "ver",
        "version",
        "rev",
        "revision",
        "t",
        "ts",
        "time",
        "timestamp",
        "_",
        "cb",
        "cachebuster",
        "cache",
        "bust",
        "nocache",
        "rnd",
        "rand",
        "random",
        "hash",
        "build",
        "w",
        "h",
        "width",
        "height",
        "size",
        "q",
        "quality",
        "fit",
        "crop",
        "auto",
        "fm",
        "format",
        "dpr",
        "s",
        "sig",
        "sign",
        "signature",
        "expires",
        "expiry",
        "token",
        "nonce",
        "key",
        "policy",
        "itok",
        "ixlib",
        "resize",
        "ssl",
        "strip",
    ];
    let name = name.to_ascii_lowercase();
    NOISE.contains(&name.as_str())
        || is_session_name(&name)
        || ["utm_", "x-amz-", "x-goog-"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

fn is_session_name(name: &str) -> bool {
    [
        "jsessionid",
        "phpsessid",
        "sessionid",
        "session",
        "sid",
        "aspsessionid",
        "cfid",
        "cftoken",
    ]
    .iter()
    .any(|it| name.eq_ignore_ascii_case(it))
}
