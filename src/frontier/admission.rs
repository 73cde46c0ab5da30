//! Whether a link becomes a task.

use super::{Scope, SeenSet};
use crate::runs::Runs;
use crate::url::{self, HostKey, UrlId};

/// How far a crawl goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Links followed from a seed; `None` for no limit.
    pub max_depth: Option<u16>,
    /// Redirects followed in a row (RFC 9110 sets no number; Heritrix and browsers use 5 to 20).
    pub max_redirects: u8,
    /// Characters of a URL; longer ones are not followed (RFC 9110, section 4.1 asks for 8,000).
    pub max_url_length: usize,
}

/// A URL that asks to be admitted.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// As first seen.
    pub url: &'a str,
    /// Its identity.
    pub id: UrlId,
    /// Links from a seed.
    pub depth: u16,
    /// Redirects in a row.
    pub hops: u8,
    /// It was given by the user: it is in scope by that.
    pub seed: bool,
    /// A redirect to another form of the URL just visited (`/docs` to `/docs/`): it is known, and
    /// yet it must be asked for.
    pub other_form: bool,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// To be queued, at this host.
    Admitted(HostKey),
    /// Admitted before.
    Known,
    /// Shares nothing with a seed.
    OutOfScope,
    /// Too many links from a seed.
    TooDeep,
    /// Too many redirects in a row.
    TooManyRedirects,
    /// Too long, or not a URL that can be requested.
    Malformed,
}

impl Admission {
    /// The answer's name in counters.
    pub fn name(&self) -> &'static str {
        match self {
            Admission::Admitted(_) => "admitted",
            Admission::Known => "known",
            Admission::OutOfScope => "out-of-scope",
            Admission::TooDeep => "too-deep",
            Admission::TooManyRedirects => "too-many-redirects",
            Admission::Malformed => "malformed",
        }
    }
}

/// Judges a candidate, and remembers it if it is admitted.
pub fn admit(
    candidate: &Candidate<'_>,
    scope: &Scope,
    limits: &Limits,
    seen: &mut SeenSet,
    runs: &mut Runs,
) -> Admission {
    // The cheapest question first: nine of ten links are known.
    if !candidate.other_form && seen.contains(candidate.id, runs) {
        return Admission::Known;
    }
    if candidate.hops > limits.max_redirects {
        return Admission::TooManyRedirects;
    }
    if limits.max_depth.is_some_and(|max| candidate.depth > max) {
        return Admission::TooDeep;
    }
    if candidate.url.len() > limits.max_url_length {
        return Admission::Malformed;
    }
    let Ok(url) = url::parse(candidate.url) else {
        return Admission::Malformed;
    };
    if !candidate.seed && !scope.admits(&url) {
        return Admission::OutOfScope;
    }
    seen.insert(candidate.id, runs);
    Admission::Admitted(HostKey::of(&url))
}
