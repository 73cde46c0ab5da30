//! The source as text: every file of a directory, and a file's code without its comments, strings
//! and tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file under a directory, with its path from there, and its text.
pub(super) fn sources(directory: &str) -> BTreeMap<String, String> {
    let top = root().join(directory);
    let mut found = BTreeMap::new();
    let mut waiting = vec![top.clone()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path: PathBuf = entry.expect("the source stays").path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let name = path.strip_prefix(&top).expect("it is below");
                let name = name.to_str().expect("names are ASCII").to_owned();
                found.insert(name, fs::read_to_string(path).expect("source is UTF-8"));
            }
        }
    }
    found
}

/// The text without comments, strings and character literals, so that what is left is code. Lines
/// stay where they are.
pub(super) fn code(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let Some(length) = not_code(rest) else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        let (skipped, after) = rest.split_at(length);
        code.push(' ');
        code.extend(skipped.chars().filter(|letter| *letter == '\n'));
        rest = after;
    }
    code
}

/// The length of the comment, string or character literal at the beginning of this, if there is
/// one.
fn not_code(text: &str) -> Option<usize> {
    let all = text.len();
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(all));
    }
    if text.starts_with("/*") {
        return Some(text.find("*/").map_or(all, |end| end + 2));
    }
    if let Some(string) = text.strip_prefix('"') {
        let mut escaped = false;
        let end = string.find(|letter| {
            let ends = letter == '"' && !escaped;
            escaped = letter == '\\' && !escaped;
            ends
        });
        return Some(end.map_or(all, |end| end + 2));
    }
    if text.starts_with("'\\") {
        // The escaped letter may itself be a quote.
        return Some(text[3..].find('\'').map_or(all, |end| end + 4));
    }
    if let Some(letter) = text.strip_prefix('\'').and_then(|it| it.chars().next()) {
        // Anything else that begins with a quote is a lifetime.
        let end = 1 + letter.len_utf8();
        return text[end..].starts_with('\'').then_some(end + 1);
    }
    raw_string(text)
}

/// The length of the raw string at the beginning of this, if there is one.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.strip_prefix('r').or_else(|| text.strip_prefix("br"))?;
    let count = hashes.bytes().take_while(|byte| *byte == b'#').count();
    let start = text.len() - hashes.len() + count;
    if !text[start..].starts_with('"') {
        return None;
    }
    let end = format!("\"{}", "#".repeat(count));
    let length = text[start + 1..].find(&end)?;
    Some(start + 1 + length + end.len())
}

/// A word, `::`, or any other character that is not white space, and the line where it stands.
#[derive(Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

/// The tokens of code.
pub(super) fn tokens(code: &str) -> Vec<Token<'_>> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut tokens = Vec::new();
    for (line, text) in code.lines().enumerate() {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if is_word(first) {
                rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (text, after) = rest.split_at(length);
            tokens.push(Token { text, line });
            rest = after.trim_start();
        }
    }
    tokens
}

/// Leaves out each item whose `cfg` asks for `test`.
pub(super) fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut left = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
        if text(at) == "#" && text(at + 1) == "[" {
            let end = group_end(tokens, at + 1);
            let words = || tokens[at..end].iter().map(|token| token.text);
            let asks = words().any(|word| word == "test") && !words().any(|word| word == "not");
            if text(at + 2) == "cfg" && asks {
                at = item_end(tokens, end);
                continue;
            }
        }
        left.push(tokens[at]);
        at += 1;
    }
    left
}

/// Where the group that opens here ends: one past its closing bracket.
pub(super) fn group_end(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Where the item, statement or field ends that begins here, with its further attributes.
fn item_end(tokens: &[Token<'_>], start: usize) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut at = start;
    while text(at) == "#" {
        at = group_end(tokens, at + 1);
    }
    if text(at) == "pub" {
        at += 1;
        if text(at) == "(" {
            at = group_end(tokens, at);
        }
    }
    let ends_at_semicolon = matches!(text(at), "use" | "let" | "const" | "static" | "type");
    let is_const_fn = text(at) == "const" && text(at + 1) == "fn";
    let has_body = ["fn", "mod", "struct", "enum", "impl", "trait", "async"].contains(&text(at));
    while at < tokens.len() {
        match text(at) {
            ";" => return at + 1,
            "{" if !ends_at_semicolon || is_const_fn => return group_end(tokens, at),
            "," if !ends_at_semicolon && !has_body => return at + 1,
            "}" => return at,
            "(" | "[" | "{" => at = group_end(tokens, at),
            _ => at += 1,
        }
    }
    at
}

fn check_tokens(text: &str, expected: &str) {
    let code = code(text);
    let tokens = without_tests(&tokens(&code));
    let tokens: Vec<&str> = tokens.iter().map(|token| token.text).collect();
    assert_eq!(tokens.join(" "), expected, "{text}");
}

#[test]
fn code_is_what_is_neither_comment_nor_string_nor_test() {
    check_tokens("a::b /* x */ 'c' // y\n\"z\" d", "a :: b d");
    check_tokens(
        "f('{', b'\\'', '\\u{7d}', &'a str)",
        "f ( , b , , & ' a str )",
    );
    check_tokens("r#\"x\"y\"# z", "z");
    check_tokens(
        "#[cfg(test)]\nmod tests { fn f() {} }\nfn g() {}",
        "fn g ( ) { }",
    );
    check_tokens("#[cfg(test)] #[x] pub(crate) use a::{b, c}; d", "d");
    check_tokens("#[cfg(any(test, feature = \"x\"))] mod tests; d", "d");
    check_tokens("S { #[cfg(test)] a: f(1, 2), b }", "S { b }");
    check_tokens("#[cfg(not(test))] a", "# [ cfg ( not ( test ) ) ] a");
    check_tokens("#[cfg(test)] const fn a<B, C>() { x; } d", "d");
}
