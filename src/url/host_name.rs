//! Names of hosts without what does not tell hosts apart.

/// `a.example.` and `a.example` are one host to the DNS (RFC 1034 section 3.1). A name that ends in
/// two dots has an empty label and is left as it is, as is the root alone.
pub(super) fn without_trailing_dot(host: &str) -> &str {
    match host.strip_suffix('.') {
        Some(rest) if !rest.is_empty() && !rest.ends_with('.') => rest,
        _ => host,
    }
}

/// The host without `www.`, where what is left still is a name of two labels. Repeatedly, so that
/// nothing is left for a second time.
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
