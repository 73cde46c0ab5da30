//! `gleaner show`: a page of a crawl, stored or rebuilt from what it differs in from its original.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use crate::cli::exit::Exit;
use crate::cli::input;
use crate::cli::inspector::Inspector;
use crate::cli::shown::Data;
use crate::cli::{Failure, output};
use crate::config::Config;
use crate::engine::{Bodies, Content, Texts};
use crate::fetch::DecodeBounds;
use crate::inspect::{Answer, Question, Shown};
use crate::page::{Markup, charset};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
#[command(after_help = "Examples:
  gleaner show --data-dir crawl https://example.org/page > page.html
  gleaner show --data-dir crawl --text https://example.org/page

Gives any page that was visited, also a duplicate whose body was not stored in full: what it differs
in from its original is in texts/. Without an option, and with --raw, the output is the body with
content codings undone, byte for byte.

Exit code 5: the crawl does not know the URL. The crawl may be running.")]
pub(crate) struct Arguments {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Print the body as it was sent, with content codings undone (the default)
    #[arg(long, group = "form")]
    raw: bool,
    /// Print the page as HTML in UTF-8
    #[arg(long, group = "form")]
    html: bool,
    /// Print the main text
    #[arg(long, group = "form")]
    text: bool,
    /// Print the main text as Markdown
    #[arg(long, group = "form")]
    markdown: bool,
    /// Print the status line and the header lines first
    #[arg(long)]
    head: bool,
    /// The URL, in any of its forms
    #[arg(value_name = "URL")]
    url: String,
}

pub(in crate::cli::commands) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let urls = input::urls(&arguments.url)?;
    let mut inspector = Inspector::open(&arguments.data_dir)?;
    let mut found = None;
    for url in urls {
        if found.is_none() {
            let Answer::Show { found: answer } =
                inspector.ask(Question::Show { url: url.into() })?
            else {
                return Err(Failure::other_answer());
            };
            found = answer;
        }
    }
    let Some(shown) = found else {
        output::say(&format!("the crawl has not visited {}", arguments.url));
        return Err(Failure::Answered(Exit::Unknown));
    };
    let content = content(&Bodies::of(&arguments.data_dir), &shown)?;
    let mut out = Data::lock();
    let mut bytes = Vec::new();
    if arguments.head {
        bytes.extend_from_slice(content.head());
    }
    bytes.extend(form(arguments, &shown, &content)?);
    let written = out.write_all(&bytes).and_then(|()| out.flush());
    Ok(written.context("cannot write to standard output")?)
}

/// Reads the body of a page.
pub(super) fn content(bodies: &Bodies, shown: &Shown) -> Result<Content, Failure> {
    let Some(place) = &shown.body else {
        let reason = shown.reason.as_deref().unwrap_or_default();
        return Err(anyhow::anyhow!("the body of {} was not kept: {reason}", shown.url).into());
    };
    let of = match &shown.original {
        Some(original) => format!(" (a duplicate of {original})"),
        None => String::new(),
    };
    let read = bodies.read(place);
    Ok(read.with_context(|| format!("cannot give the body of {}{of}", shown.url))?)
}

/// Returns a reader of pages with the default bounds, as `gleaner pages` has it.
pub(in crate::cli::commands) fn texts(data_dir: &std::path::Path) -> Texts {
    let defaults = Config::default();
    let decoding = DecodeBounds {
        max_bytes: usize::try_from(defaults.fetch.max_decoded.0).unwrap_or(usize::MAX),
        max_codings: defaults.fetch.max_codings,
    };
    Texts::of(data_dir, &defaults.page, decoding)
}

/// The text that a converter made of a body.
fn converted(shown: &Shown, texts: &Texts) -> Result<Vec<u8>, Failure> {
    let url = &shown.url;
    let Some(place) = &shown.text else {
        let why = match &shown.converter {
            Some(reason) => format!("its converter failed: {reason}"),
            None => "no converter has made a text of it (docs/operations.md)".to_owned(),
        };
        return Err(anyhow::anyhow!(
            "{url} is neither HTML nor text, and {why}; --raw gives its body"
        )
        .into());
    };
    let record = texts.record(place);
    let mut text = record
        .with_context(|| format!("cannot give the text of {url}"))?
        .block;
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    Ok(text)
}

fn form(arguments: &Arguments, shown: &Shown, content: &Content) -> Result<Vec<u8>, Failure> {
    if !(arguments.html || arguments.text || arguments.markdown) {
        return Ok(content.body().to_vec());
    }
    let texts = texts(&arguments.data_dir);
    let Some(page) = texts.page(&shown.url, content) else {
        return converted(shown, &texts);
    };
    let content_type = content.header("content-type");
    let mut text = if arguments.html {
        let text = charset::to_text(content.body(), content_type.as_deref());
        return Ok(text.text.as_bytes().to_vec());
    } else if arguments.markdown {
        let markup = Markup::Markdown;
        texts
            .markup(markup, &shown.url, content)
            .unwrap_or_default()
    } else {
        page.main_text
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text.into_bytes())
}
