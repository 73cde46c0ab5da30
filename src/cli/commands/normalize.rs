//! `gleaner normalize`: the canonical form of URLs, one line out for each line in. A filter: what
//! cannot be parsed is a line that says so, so that lines stay side by side.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, BufRead, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::cli::{Failure, input};
use crate::config::{self, UrlSettings};
use crate::url::{self, Canonicalizer, Rule, RuleSet};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner normalize 'HTTP://Example.org:80/a/../b/?utm_source=x&b=2&a=1#top'
  gleaner normalize --explain < urls.txt
  gleaner normalize --config my.toml --explain < urls.txt
  gleaner normalize --enable index-file,www --disable trailing-slash < urls.txt | sort | uniq -c
  gleaner normalize --rules")]
pub(crate) struct Arguments {
    /// URLs; without any they are read from standard input, one a line
    #[arg(value_name = "URL", conflicts_with = "rules")]
    urls: Vec<OsString>,
    /// Apply the rules of [url] and [[url.rule]] in this file, as a crawl with it would; the
    /// environment goes before it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Apply these rules too, where no [[url.rule]] says otherwise; --rules lists them
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rule_parser(), hide_possible_values = true)]
    enable: Vec<Rule>,
    /// Do not apply these rules; goes before --enable
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rule_parser(), hide_possible_values = true)]
    disable: Vec<Rule>,
    /// After each URL and a tab, name the rules that made it what it is
    #[arg(long)]
    explain: bool,
    /// List the rules instead: name, on or off, what it does, with tabs in between
    #[arg(long)]
    rules: bool,
}

/// Bytes of a line that are read: more than any URL may have, so that the message says so.
const MAX_LINE: u64 = 1024 * 1024;

fn rule_parser() -> impl TypedValueParser<Value = Rule> {
    let names = Rule::all()
        .iter()
        .map(|line| PossibleValue::new(line.name).help(line.what));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Rule>())
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut settings = match &arguments.config {
        Some(file) => {
            config::load(Some(file), std::env::vars_os(), [])?
                .config
                .url
        }
        None => UrlSettings::default(),
    };
    settings.switch(&arguments.enable, &arguments.disable);
    if arguments.rules {
        let rules = settings.rules();
        let rules = RuleSet::default().changed(rules.on, rules.off);
        crate::cli::output::print(&list(rules))?;
        return Ok(());
    }
    let canonicalizer = settings.canonicalizer();
    let answer = |line: &[u8]| answer(&canonicalizer, line, arguments.explain);
    let mut out = io::BufWriter::new(io::stdout().lock());
    if arguments.urls.is_empty() {
        let mut lines = io::BufReader::new(io::stdin().lock());
        let mut line = Vec::new();
        while next_line(&mut lines, &mut line)? {
            writeln!(out, "{}", answer(&line)).map_err(anyhow::Error::from)?;
            // Whoever writes line by line may wait for the answer before going on.
            if lines.buffer().is_empty() {
                out.flush().map_err(anyhow::Error::from)?;
            }
        }
    }
    for url in &arguments.urls {
        writeln!(out, "{}", answer(url.as_encoded_bytes())).map_err(anyhow::Error::from)?;
    }
    out.flush().map_err(anyhow::Error::from)?;
    Ok(())
}

/// The line that answers a line: a URL or `error: ` and why there is none.
fn answer(canonicalizer: &Canonicalizer, line: &[u8], explain: bool) -> String {
    let text = text(line);
    let url = match url::parse(&text) {
        Ok(url) => url,
        Err(error) => return format!("error: {error}"),
    };
    let canonical = canonicalizer.canonicalize(&url);
    if !explain {
        return canonical.to_string();
    }
    let mut fired: Vec<String> = Vec::new();
    let trimmed = text.trim();
    if trimmed.contains('#') {
        fired.push("fragment".to_owned());
    }
    if trimmed.split('#').next() != Some(url.as_str()) {
        fired.push("parser".to_owned());
    }
    let rules = canonicalizer.explain(&url).into_iter();
    fired.extend(rules.map(|rule: Rule| rule.to_string()));
    if fired.is_empty() {
        fired.push("-".to_owned());
    }
    format!("{canonical}\t{}", fired.join(","))
}

/// A line as text. Bytes that are no UTF-8 become escapes, as which they would be sent.
fn text(line: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(line) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("%{byte:02X}")));
    }
    Cow::Owned(text)
}

/// Reads a line without its end; of one that is longer than any URL, only a part.
fn next_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, Failure> {
    line.clear();
    let unreadable = |error| input::unreadable(Path::new("standard input"), error);
    let read = lines.by_ref().take(MAX_LINE).read_until(b'\n', line);
    if read.map_err(unreadable)? == 0 {
        return Ok(false);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 == MAX_LINE {
        lines.skip_until(b'\n').map_err(unreadable)?;
    }
    Ok(true)
}

fn list(rules: RuleSet) -> String {
    let lines = Rule::all().iter().map(|line| {
        let state = if rules.has(line.rule) { "on" } else { "off" };
        format!("{}\t{state}\t{}\n", line.name, line.what)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[u8], expected: &str) {
        let canonicalizer = Canonicalizer::default();
        assert_eq!(answer(&canonicalizer, line, false), expected, "{line:?}");
    }

    fn check_explained(line: &str, expected: &str) {
        let canonicalizer = Canonicalizer::default();
        let answer = answer(&canonicalizer, line.as_bytes(), true);
        assert_eq!(answer, expected, "{line:?}");
    }

    #[test]
    fn a_line_is_answered_with_a_line() {
        check(b" HTTP://A.example:80/x/?b&a#f\r", "http://a.example/x?a&b");
        check(
            b"http://a.example/\xFC?x=\xE9",
            "http://a.example/%FC?x=%E9",
        );
        check("http://a.example/ü".as_bytes(), "http://a.example/%C3%BC");
        check(b"", "error: not a URL: relative URL without a base");
        check(
            b"mailto:a@a.example",
            "error: scheme `mailto` is not supported; only http and https URLs are crawled",
        );
    }

    #[test]
    fn an_explanation_stands_behind_a_tab() {
        check_explained("http://a.example/x", "http://a.example/x\t-");
        check_explained(
            "HTTP://a.example/x/?b&a#f",
            "http://a.example/x?a&b\tfragment,parser,trailing-slash,query-order",
        );
        check_explained("x", "error: not a URL: relative URL without a base");
    }

    #[test]
    fn lines_are_bounded() {
        let long = format!("http://a.example/{}\nx\n\ny", "a".repeat(3_000_000));
        let mut lines = long.as_bytes();
        let mut line = Vec::new();
        let mut lengths = Vec::new();
        while next_line(&mut lines, &mut line).expect("memory is readable") {
            lengths.push(line.len());
        }
        assert_eq!(lengths, [1024 * 1024, 1, 0, 1]);
    }
}
