//! `gleaner normalize`: prints the canonical form of URLs. A filter with one line of output per
//! line of input: a line that cannot be parsed yields an error line.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, BufRead, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::cli::shown::Data;
use crate::cli::{Failure, input};
use crate::config::{self, Sources, UrlSettings};
use crate::url::{self, Canonicalizer, Rule, RuleSet};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner normalize 'HTTP://Example.org:80/a/../b/?utm_source=x&b=2&a=1#top'
  gleaner normalize --explain < urls.txt
  gleaner normalize --config my.toml --explain < urls.txt
  gleaner normalize --enable index-file,www --disable trailing-slash < urls.txt | sort | uniq -c
  gleaner normalize --rules")]
pub(crate) struct Arguments {
    /// URLs; if none are given, they are read from standard input, one per line
    #[arg(value_name = "URL", conflicts_with = "rules")]
    urls: Vec<OsString>,
    /// Apply the rules of [url] and [[url.rule]] in this configuration file, which the environment
    /// overrides
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Enable these rules, except where a [[url.rule]] disables them; --rules lists all rules
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rule_parser(), hide_possible_values = true)]
    enable: Vec<Rule>,
    /// Disable these rules; overrides --enable
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rule_parser(), hide_possible_values = true)]
    disable: Vec<Rule>,
    /// Print the rules that changed each URL after it, separated by a tab
    #[arg(long)]
    explain: bool,
    /// List the rules instead: name, on or off, and description, separated by tabs
    #[arg(long)]
    rules: bool,
}

/// Maximum bytes read of a line, more than any URL may have, so that the error says so.
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
            config::load(Sources::of(file), std::env::vars_os(), [])?
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
    let mut out = io::BufWriter::new(Data::lock());
    if arguments.urls.is_empty() {
        let mut lines = io::BufReader::new(io::stdin().lock());
        let mut line = Vec::new();
        while next_line(&mut lines, &mut line)? {
            writeln!(out, "{}", answer(&line)).map_err(anyhow::Error::from)?;
            // An interactive writer may wait for the answer before it continues.
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

/// The output for a line: its canonical URL, or `error: ` and the reason.
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

/// Decodes a line. Bytes that are not UTF-8 are percent-encoded, as they would be in a request.
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

/// Reads a line without its line terminator, up to [`MAX_LINE`] bytes. False at the end of input.
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
