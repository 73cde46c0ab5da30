//! The key under which indexes of web archives list a URL: its SURT ("sort-friendly URI reordering
//! transform"). The labels of the host are reversed, so that what belongs to one domain stands
//! together, and what the archives of the world agreed to ignore is gone: scheme, `www`, default
//! ports, case, session ids, the order of a query.
//!
//! Indexes of several tools are merged and searched by this key, so it must be theirs to the byte.
//! The rules are those of the Internet Archive's canonicalizer, as its Python package `surt` has
//! them, oddities included; a test compares the two. This is no identity of pages: the crawl's own
//! is `canonical.rs`.

use std::borrow::Cow;
use std::net::Ipv4Addr;
use std::sync::LazyLock;

use ::url::Host;
use regex::bytes::Regex;

/// Returns the key of a URL as it stands in an archive, which may be any text. What cannot be read
/// as a URL is its own key.
pub fn surt(url: &str) -> String {
    match url {
        "" => "-".to_owned(),
        _ if url.starts_with("filedesc") => url.to_owned(),
        _ => key(url.as_bytes()).unwrap_or_else(|| url.to_owned()),
    }
}

/// The parts of a URL that make its key.
struct Parts<'a> {
    scheme: &'a [u8],
    host: Option<Vec<u8>>,
    port: Option<u16>,
    path: Option<Cow<'a, [u8]>>,
    query: Option<&'a [u8]>,
}

fn key(url: &[u8]) -> Option<String> {
    let url: Vec<u8> = url
        .trim_ascii()
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\n' | b'\r' | b'\t'))
        .collect();
    let url = match scheme_of(&url) {
        Some(_) => url,
        None => [b"http://", &url[..]].concat(),
    };
    let parts = split(without_repeated_schemes(&url))?;
    let host = parts.host.map(|host| canonical_host(&host));
    let host = host.filter(|host| !host.is_empty());
    let mut path = parts.path.map(|path| unescaped(&path));
    if host.is_some() {
        path = Some(normal_path(path.as_deref().unwrap_or_default()));
    }
    let path = path.map(|path| escaped(&path).to_ascii_lowercase());
    let path = path.map(|path| without_last_slash(without_path_session(path)));
    let query = parts.query.map(|query| escaped(&unescaped(query)));
    let query = query.map(|query| sorted(&without_query_session(query).to_ascii_lowercase()));
    let query = query.filter(|query| !query.is_empty());

    let mut key = Vec::with_capacity(url.len() + 8);
    match &host {
        Some(host) => {
            let name = match parts.scheme.eq_ignore_ascii_case(b"dns") {
                true => host,
                false => without_www(host),
            };
            let mut labels: Vec<&[u8]> = name.split(|byte| *byte == b'.').collect();
            labels.reverse();
            key.extend(labels.join(&b','));
            let default = match () {
                () if parts.scheme.eq_ignore_ascii_case(b"http") => 80,
                () if parts.scheme.eq_ignore_ascii_case(b"https") => 443,
                () => 0,
            };
            if let Some(port) = parts.port.filter(|port| *port != default) {
                key.extend(format!(":{port}").bytes());
            }
            key.push(b')');
        }
        None => {
            key.extend(parts.scheme);
            key.push(b':');
        }
    }
    match &path {
        Some(path) if !path.is_empty() => key.extend(path),
        _ if query.is_some() => key.push(b'/'),
        _ => {}
    }
    if let Some(query) = query {
        key.push(b'?');
        key.extend(query);
    }
    // Everything that is not ASCII was escaped.
    String::from_utf8(key).ok()
}

/// Returns the scheme that a text begins with.
fn scheme_of(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().position(|byte| *byte == b':')?;
    let scheme = text.get(..end)?;
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let is_scheme =
        scheme.first().is_some_and(u8::is_ascii_alphabetic) && scheme.iter().all(is_allowed);
    is_scheme.then_some(scheme)
}

/// Leaves the last of several schemes, as in `http://https://example.org/`.
fn without_repeated_schemes(url: &[u8]) -> &[u8] {
    let prefixes: [&[u8]; 2] = [b"http://", b"https://"];
    let after = |text: &[u8]| {
        let mut prefixes = prefixes.iter();
        prefixes.find_map(|prefix| text.starts_with(prefix).then_some(prefix.len()))
    };
    let mut from = 0;
    while let Some(length) = after(&url[from..])
        && after(&url[from + length..]).is_some()
    {
        from += length;
    }
    &url[from..]
}

/// Splits a URL by the expression of RFC 2396, appendix B. Returns `None` if its port is none.
fn split(url: &[u8]) -> Option<Parts<'_>> {
    let scheme = scheme_of(url)?;
    let rest = &url[scheme.len() + 1..];
    let rest = rest.split(|byte| *byte == b'#').next().unwrap_or_default();
    let (rest, query) = match rest.iter().position(|byte| *byte == b'?') {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let (authority, path) = match rest.strip_prefix(b"//") {
        Some(rest) => {
            let end = rest.iter().position(|byte| *byte == b'/');
            rest.split_at(end.unwrap_or(rest.len()))
        }
        None => (&b""[..], rest),
    };
    let (host, port) = host_and_port(authority)?;
    let mut host = Some(host).filter(|host| !host.is_empty());
    let mut path = Some(Cow::Borrowed(path)).filter(|path| !path.is_empty());
    // `http:////example.org/`, `http:example.org`.
    if scheme.starts_with(b"http")
        && host.is_none()
        && let Some(all) = &path
    {
        let first = all.iter().position(|byte| *byte != b'/');
        let all = all[first.unwrap_or(all.len())..].to_vec();
        let end = all.iter().position(|byte| *byte == b'/');
        let (name, rest) = all.split_at(end.unwrap_or(all.len()));
        host = Some(name.to_vec()).filter(|host| !host.is_empty());
        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
        path = Some([b"/", rest].concat().into());
    }
    Some(Parts {
        scheme,
        host,
        port,
        path,
        query: query.filter(|query| !query.is_empty()),
    })
}

/// Splits an authority. Returns `None` if what stands for the port is none. Credentials are left
/// out.
fn host_and_port(authority: &[u8]) -> Option<(Vec<u8>, Option<u16>)> {
    let end = authority.iter().rposition(|byte| *byte != b':');
    let authority = match authority.ends_with(b":") {
        true => &authority[..end.map_or(0, |end| end + 1)],
        false => authority,
    };
    let from = authority.iter().rposition(|byte| *byte == b'@');
    let authority = &authority[from.map_or(0, |at| at + 1)..];
    let cut = |text: &'_ [u8], at: u8| -> (Vec<u8>, Vec<u8>) {
        match text.iter().position(|byte| *byte == at) {
            Some(found) => (text[..found].to_vec(), text[found + 1..].to_vec()),
            None => (text.to_vec(), Vec::new()),
        }
    };
    let (host, port) = match authority.iter().position(|byte| *byte == b'[') {
        Some(open) => {
            let (host, rest) = cut(&authority[open + 1..], b']');
            (host, cut(&rest, b':').1)
        }
        None => cut(authority, b':'),
    };
    let port = match &port[..] {
        b"" => None,
        digits if digits.iter().all(u8::is_ascii_digit) => {
            let digits = str::from_utf8(digits).ok()?;
            let port: u16 = digits
                .trim_start_matches('0')
                .parse()
                .or_else(|error| {
                    // Nothing but zeros.
                    match digits.bytes().all(|digit| digit == b'0') {
                        true => Ok(0),
                        false => Err(error),
                    }
                })
                .ok()?;
            Some(port).filter(|port| *port != 0)
        }
        _ => return None,
    };
    // What follows a percent sign may be the zone of an IPv6 address, and keeps its case for now.
    Some((host, port))
}

fn canonical_host(host: &[u8]) -> Vec<u8> {
    let mut host = unescaped(&host.to_ascii_lowercase());
    if !host.is_ascii() {
        host = in_ascii(&host).unwrap_or(host);
    }
    let host = without_double_dots(&host);
    let dots = |byte: &u8| *byte == b'.';
    let from = host.iter().position(|byte| !dots(byte));
    let to = host.iter().rposition(|byte| !dots(byte));
    let host = match (from, to) {
        (Some(from), Some(to)) => &host[from..=to],
        _ => &[],
    };
    match address(host) {
        Some(address) => address.to_string().into_bytes(),
        None => escaped(&host.to_ascii_lowercase()).to_ascii_lowercase(),
    }
}

/// Returns a host name in ASCII by the rules of 2003, by which keys are made: `ß` is `ss`. `None`
/// if a label cannot be written so.
fn in_ascii(host: &[u8]) -> Option<Vec<u8>> {
    let host: String = host.utf8_chunks().map(|piece| piece.valid()).collect();
    let dots = ['.', '\u{3002}', '\u{ff0e}', '\u{ff61}'];
    // The dot at its end is no label.
    let host = host.strip_suffix(dots).unwrap_or(&host);
    let mut labels = Vec::new();
    for label in host.split(dots) {
        let label = match label.is_ascii() {
            true => label.to_owned(),
            false => label_in_ascii(label)?,
        };
        if label.is_empty() || label.len() > 63 {
            return None;
        }
        labels.push(label);
    }
    Some(labels.join(".").into_bytes())
}

fn label_in_ascii(label: &str) -> Option<String> {
    let mut mapped = String::with_capacity(label.len());
    for letter in label.chars() {
        match letter {
            'ß' | 'ẞ' => mapped.push_str("ss"),
            'ς' => mapped.push('σ'),
            '\u{200c}' | '\u{200d}' => {}
            other => mapped.push(other),
        }
    }
    match Host::parse(&mapped).ok()? {
        Host::Domain(label) => Some(label),
        // Digits of another script.
        Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

/// Replaces each pair of dots by one, once.
fn without_double_dots(host: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(host.len());
    let mut rest = host;
    while let Some((first, after)) = rest.split_first() {
        kept.push(*first);
        rest = match (*first, after.strip_prefix(b".")) {
            (b'.', Some(after)) => after,
            _ => after,
        };
    }
    kept
}

/// Returns the address that a host is in any of the ways in which IPv4 addresses are written.
fn address(host: &[u8]) -> Option<Ipv4Addr> {
    if host.is_empty() {
        return None;
    }
    if host.iter().all(u8::is_ascii_digit) {
        // Modulo 2³².
        let number = host.iter().fold(0_u32, |number, digit| {
            number
                .wrapping_mul(10)
                .wrapping_add(u32::from(digit - b'0'))
        });
        return Some(number.into());
    }
    let parts: Vec<&[u8]> = host.split(|byte| *byte == b'.').collect();
    // Behind a zero, all parts are octal.
    let largest = if host.starts_with(b"0") { b'7' } else { b'9' };
    let is_digit = |byte: &u8| (b'0'..=largest).contains(byte);
    let is_number = |part: &&[u8]| !part.is_empty() && part.iter().all(is_digit);
    if parts.len() > 4 || !parts.iter().all(is_number) {
        return None;
    }
    let number = |part: &[u8]| {
        let digits = str::from_utf8(part).ok()?;
        match digits.strip_prefix('0') {
            None | Some("") => digits.parse::<u32>().ok(),
            Some(octal) => u32::from_str_radix(octal, 8).ok(),
        }
    };
    let (last, first) = parts.split_last()?;
    let last = number(last)?;
    let rest_bits = 32 - 8 * first.len() as u32;
    if rest_bits < 32 && last >> rest_bits != 0 {
        return None;
    }
    let mut all = last;
    for (at, part) in first.iter().enumerate() {
        let byte = number(part).filter(|byte| *byte < 256)?;
        all |= byte << (24 - 8 * at);
    }
    Some(all.into())
}

/// Strips `www.`, also with a number.
fn without_www(host: &[u8]) -> &[u8] {
    let Some(rest) = host.strip_prefix(b"www") else {
        return host;
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    rest[digits..].strip_prefix(b".").unwrap_or(host)
}

/// Removes dot segments and empty segments, but for the one after the last slash.
fn normal_path(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|byte| *byte == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => drop(kept.pop()),
            _ => kept.push(segment),
        }
    }
    let mut normal = b"/".to_vec();
    if let Some((last, first)) = kept.split_last() {
        for segment in first.iter().filter(|segment| !segment.is_empty()) {
            normal.extend(*segment);
            normal.push(b'/');
        }
        normal.extend(*last);
    }
    normal
}

fn without_last_slash(mut path: Vec<u8>) -> Vec<u8> {
    if path.len() > 1 && path.ends_with(b"/") {
        path.pop();
    }
    path
}

/// Undoes percent-encoding until there is none left.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    loop {
        let mut plain = Vec::with_capacity(text.len());
        let mut rest = &text[..];
        while let Some((first, after)) = rest.split_first() {
            let digits = after.get(..2).filter(|_| *first == b'%');
            let byte = digits.and_then(|digits| {
                let value = |digit: u8| char::from(digit).to_digit(16);
                Some((value(digits[0])? << 4 | value(digits[1])?) as u8)
            });
            match byte {
                Some(byte) => {
                    plain.push(byte);
                    rest = &after[2..];
                }
                None => {
                    plain.push(*first);
                    rest = after;
                }
            }
        }
        if plain.len() == text.len() {
            return text;
        }
        text = plain;
    }
}

/// Percent-encodes what is not printable ASCII, and `#`, `%` and spaces.
fn escaped(text: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'#' | b'%' => escaped.extend(format!("%{byte:02X}").bytes()),
            0x21..=0x7e => escaped.push(*byte),
            _ => escaped.extend(format!("%{byte:02X}").bytes()),
        }
    }
    escaped
}

/// Sorts the fields of a query, first those without a value.
fn sorted(query: &[u8]) -> Vec<u8> {
    let mut fields: Vec<(&[u8], Option<&[u8]>)> = query
        .split(|byte| *byte == b'&')
        .map(|field| match field.iter().position(|byte| *byte == b'=') {
            Some(at) => (&field[..at], Some(&field[at + 1..])),
            None => (field, None),
        })
        .collect();
    fields.sort();
    let fields = fields.into_iter().map(|(name, value)| match value {
        Some(value) => [name, b"=", value].concat(),
        None => name.to_vec(),
    });
    fields.collect::<Vec<_>>().join(&b'&')
}

fn expressions<const N: usize>(patterns: [&str; N]) -> Vec<Regex> {
    let compiled = patterns.iter().map(|it| Regex::new(it));
    compiled
        .map(|it| it.expect("a test compiles them"))
        .collect()
}

/// Session ids of ASP.NET without cookies.
static PATH_SESSIONS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    expressions([
        r"(?i-u)^(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)/)([^?]+\.aspx.*)$",
        r"(?i-u)^(.*/)(?:\([0-9a-z]{24}\)/)([^?]+\.aspx.*)$",
    ])
});

static QUERY_SESSIONS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    expressions([
        r"(?i-u)^(.*)(?:jsessionid=[0-9a-zA-Z]{32})(?:&(.*))?$",
        r"(?i-u)^(.*)(?:phpsessid=[0-9a-zA-Z]{32})(?:&(.*))?$",
        r"(?i-u)^(.*)(?:sid=[0-9a-zA-Z]{32})(?:&(.*))?$",
        r"(?i-u)^(.*)(?:ASPSESSIONID[a-zA-Z]{8}=[a-zA-Z]{24})(?:&(.*))?$",
        r"(?i-u)^(.*)(?:cfid=[^&]+&cftoken=[^&]+)(?:&(.*))?$",
    ])
});

fn without_path_session(path: Vec<u8>) -> Vec<u8> {
    // Every such path has this; most paths do not.
    match path.windows(5).any(|it| it == b".aspx") {
        true => without(&PATH_SESSIONS, path),
        false => path,
    }
}

fn without_query_session(query: Vec<u8>) -> Vec<u8> {
    let has = |name: &[u8]| {
        let mut windows = query.windows(name.len());
        windows.any(|it| it.eq_ignore_ascii_case(name))
    };
    // Every name of a session has one of these.
    match has(b"sid=") || has(b"sessionid") || has(b"cfid=") {
        true => without(&QUERY_SESSIONS, query),
        false => query,
    }
}

/// Leaves of a text what is before and behind the match of each expression.
fn without(expressions: &[Regex], mut text: Vec<u8>) -> Vec<u8> {
    for expression in expressions {
        if let Some(found) = expression.captures(&text) {
            let group = |at| found.get(at).map_or(&b""[..], |it| it.as_bytes());
            text = [group(1), group(2)].concat();
        }
    }
    text
}

#[cfg(test)]
mod tests;
