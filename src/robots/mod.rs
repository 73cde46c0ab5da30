//! robots.txt (RFC 9309): what a host asks of one crawler.
//!
//! The frontier passes in the body that a fetch returned and calls [`Rules::allows`] before each
//! visit. There is no I/O and no clock here, and parsing never fails. Lines are read by the
//! `robotstxt` crate. Grouping and matching are our own, because the crate parses the file again at
//! each question and takes exponential time on some patterns.

mod matcher;
mod rules;

pub use matcher::{Decision, MAX_WILDCARD_RULES};
pub use rules::{MAX_BODY, MAX_CRAWL_DELAY, MAX_SITEMAPS, RuleLine, Rules, line, lines};

/// Maximum number of redirects followed for a robots.txt, across hosts too; beyond it the file
/// counts as unavailable (RFC 9309, section 2.3.1.2).
pub const MAX_REDIRECTS: u8 = 5;

/// What the status of a response to a robots.txt request means (RFC 9309, section 2.3.1). A request
/// without a response (no address, refused, timed out) is [`Availability::Unreachable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// The body contains the rules.
    Found,
    /// The file is elsewhere; followed up to [`MAX_REDIRECTS`] times.
    Redirected,
    /// There are no rules: everything is allowed.
    Unavailable,
    /// There may be rules: nothing is allowed until the host has been asked again.
    Unreachable,
}

impl Availability {
    /// Returns the meaning of a status.
    ///
    /// 429 means an overloaded host rather than one without rules, so it counts as unreachable like
    /// 5xx, and so does any status that is not final. 304 answers a conditional request, after
    /// which the rules known before stay in force; to a caller that made an unconditional one it is
    /// as unavailable as any response that leads nowhere.
    pub fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Found,
            301 | 302 | 303 | 307 | 308 => Self::Redirected,
            429 => Self::Unreachable,
            300..=499 => Self::Unavailable,
            _ => Self::Unreachable,
        }
    }

    /// Returns the resulting rules for a crawler with this product token. A redirect that is no
    /// longer followed makes the file unavailable.
    pub fn rules(self, body: &[u8], product_token: &str) -> Rules {
        match self {
            Self::Found => Rules::parse(body, product_token),
            Self::Redirected | Self::Unavailable => Rules::allow_all(),
            Self::Unreachable => Rules::disallow_all(),
        }
    }
}

/// Returns the product token of a user agent: `gleaner` for `gleaner/0.1 (+https://a.example/bot)`.
/// RFC 9309, section 2.2.1 allows letters, `-` and `_`; digits are accepted too, because many
/// crawlers have them in their names.
pub fn product_token(user_agent: &str) -> &str {
    let user_agent = user_agent.trim_ascii();
    let is_token = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let end = user_agent
        .find(|c| !is_token(c))
        .unwrap_or(user_agent.len());
    &user_agent[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_whether_there_are_rules() {
        use Availability::{Found, Redirected, Unavailable, Unreachable};
        for (status, expected) in [
            (200, Found),
            (204, Found),
            (301, Redirected),
            (308, Redirected),
            (300, Unavailable),
            (304, Unavailable),
            (401, Unavailable),
            (403, Unavailable),
            (404, Unavailable),
            (410, Unavailable),
            (429, Unreachable),
            (500, Unreachable),
            (503, Unreachable),
            (599, Unreachable),
            (0, Unreachable),
            (100, Unreachable),
            (999, Unreachable),
        ] {
            assert_eq!(Availability::of_status(status), expected, "{status}");
        }
    }

    #[test]
    fn rules_follow_from_availability() {
        let allows = |status| {
            let availability = Availability::of_status(status);
            availability
                .rules(b"user-agent: *\ndisallow: /a", "x")
                .allows("/a")
        };
        assert!(!allows(200));
        assert!(allows(404));
        assert!(allows(301));
        assert!(!allows(503));
    }

    #[test]
    fn a_product_token_ends_where_the_version_begins() {
        for (user_agent, expected) in [
            ("gleaner/0.1 (+https://a.example/bot)", "gleaner"),
            ("gleaner", "gleaner"),
            (" My-Bot_2 x", "My-Bot_2"),
            ("", ""),
            ("/1", ""),
            ("é", ""),
        ] {
            assert_eq!(product_token(user_agent), expected, "{user_agent:?}");
        }
    }
}
