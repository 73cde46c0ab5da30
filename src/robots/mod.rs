//! robots.txt (RFC 9309): what a host asks of one crawler. The frontier hands over the body that a
//! fetch brought and asks [`Rules::allows`] before each visit. No I/O, no clock; parsing never
//! fails. The lines are read by the `robotstxt` crate; groups and matching are our own, because
//! the crate parses anew at each question and takes exponential time on some patterns.

mod matcher;
mod rules;

pub use matcher::{Decision, MAX_WILDCARD_RULES};
pub use rules::{MAX_BODY, MAX_CRAWL_DELAY, MAX_SITEMAPS, RuleLine, Rules, line, lines};

/// Redirects that are followed for a robots.txt, across hosts too; beyond them it counts as
/// unavailable (RFC 9309 section 2.3.1.2).
pub const MAX_REDIRECTS: u8 = 5;

/// What an answer to the request for a robots.txt means, by its status (RFC 9309 section 2.3.1).
/// An answer that never came (no address, refused, timed out) is [`Availability::Unreachable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// The body holds the rules.
    Found,
    /// Elsewhere; followed up to [`MAX_REDIRECTS`] times.
    Redirected,
    /// There are no rules: all is allowed.
    Unavailable,
    /// There may be rules: nothing is allowed until the host was asked again.
    Unreachable,
}

impl Availability {
    /// What an answer with this status means. 429 is a host that is overloaded, not one without
    /// rules, and counts as unreachable like 5xx; so does what is no final status at all. 304
    /// answers a conditional request: the rules known before stay; to the caller who made none it
    /// is as unavailable as any answer that leads nowhere.
    pub fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Found,
            301 | 302 | 303 | 307 | 308 => Self::Redirected,
            429 => Self::Unreachable,
            300..=499 => Self::Unavailable,
            _ => Self::Unreachable,
        }
    }

    /// The rules that follow for a crawler of this product token. A redirect that is not followed
    /// any more leaves the file unavailable.
    pub fn rules(self, body: &[u8], product_token: &str) -> Rules {
        match self {
            Self::Found => Rules::parse(body, product_token),
            Self::Redirected | Self::Unavailable => Rules::allow_all(),
            Self::Unreachable => Rules::disallow_all(),
        }
    }
}

/// The product token of a user agent: `gleaner` of `gleaner/0.1 (+https://a.example/bot)`. Letters,
/// `-` and `_` by RFC 9309 section 2.2.1; digits besides, as many crawlers have them in their name.
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
