//! Removes the parts of a host name that do not distinguish hosts.

/// Removes one trailing dot: `a.example.` and `a.example` are the same host in the DNS (RFC 1034,
/// section 3.1). A name that ends in two dots has an empty label and stays as it is, as does the
/// root alone.
pub(super) fn without_trailing_dot(host: &str) -> &str {
    match host.strip_suffix('.') {
        Some(rest) if !rest.is_empty() && !rest.ends_with('.') => rest,
        _ => host,
    }
}

/// Removes `www.`, also with a number as in `www2.`, as long as a name of at least two labels
/// remains. Repeats this, so that a second application changes nothing.
pub(super) fn without_www(host: &str) -> &str {
    let mut host = host;
    while let Some(rest) = host.strip_prefix("www") {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        match rest.strip_prefix('.') {
            Some(rest) if !rest.starts_with('.') && rest.trim_end_matches('.').contains('.') => {
                host = rest;
            }
            _ => break,
        }
    }
    host
}
