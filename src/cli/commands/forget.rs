//! `gleaner forget`: a takedown, and how it is taken back.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::cli::words::count;
use crate::cli::{Failure, input, output};
use crate::cluster::{Called, worker_of};
use crate::config;
use crate::control::client::Client;
use crate::engine::{self, DirectoryError, Failpoint, ForgetDone, ForgetOrder, StoppedCrawl};
use crate::frontier::Selection;
use crate::url::HostPattern;

/// Number of files that are named in words.
const NAMED: usize = 10;

/// What is to be forgotten, and how.
#[derive(Debug, Args)]
pub(super) struct Which {
    /// Single URLs
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// All URLs of this host and its subdomains; `*.example.org` for the subdomains alone
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<HostPattern>,
    /// All URLs that begin with this one
    #[arg(long = "prefix", value_name = "URL")]
    prefixes: Vec<String>,
    /// Count only; change nothing
    #[arg(long, conflicts_with = "undo")]
    dry_run: bool,
    /// Let it be fetched again
    #[arg(long)]
    undo: bool,
}

impl Which {
    /// Returns the order.
    pub(super) fn order(&self) -> Result<ForgetOrder, Failure> {
        Ok(ForgetOrder {
            selection: Selection {
                urls: given(&self.urls)?,
                hosts: self.hosts.clone(),
                prefixes: given(&self.prefixes)?,
                ..Selection::default()
            },
            back: self.undo,
            dry_run: self.dry_run,
            entry: None,
        })
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner forget https://example.org/people/jo --data-dir crawl --dry-run
  gleaner forget --host example.org --data-dir crawl
  gleaner forget --prefix https://example.org/people/ --data-dir crawl
  gleaner forget https://example.org/people/jo --data-dir crawl --undo

What is named is not fetched again. Its records, texts and lines of the log are overwritten where they
stand, so that no offset changes, and its rows and documents are removed. A page that repeats it takes
its place, with a body that is rebuilt before. What other pages say of it, such as links to it, stays.
Copies that have left, by upload, by a command or in a package, must be changed where they are: those
files of which copies may be elsewhere are named. With --undo it may be fetched again; what was
overwritten does not come back. It works beside a running crawl, and goes on after a kill.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// For tests: abort at a step of the commit, given by its name, and `:N` for the N-th time
    #[arg(long, hide = true, value_name = "STEP")]
    failpoint: Option<Failpoint>,
}

/// The URLs that were given, as they are requested: of a name without a scheme both forms.
fn given(texts: &[String]) -> Result<Vec<String>, Failure> {
    let mut urls = Vec::new();
    for text in texts {
        urls.extend(input::urls(text)?.into_iter().map(String::from));
    }
    Ok(urls)
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let data = &arguments.data_dir;
    if let Some((_, Called { name, .. })) = worker_of(data) {
        return Err(Failure::Usage {
            message: format!(
                "{} is a shard of a crawl of several workers, which {name} is one of: what it \
                 forgets others would have",
                data.display()
            ),
            hint: Some("`gleaner cluster takedown` has all of them forget it"),
        });
    }
    let order = arguments.which.order()?;
    let done = match StoppedCrawl::open(data) {
        Ok(crawl) => {
            if order.selection.is_empty() && !engine::is_forgetting(crawl.store())? {
                return Err(nothing_named());
            }
            let mut options = config::kept(&crawl.settings()?).options()?;
            options.failpoint = arguments.failpoint;
            drop(crawl);
            engine::forget(data, &options, &order)?
        }
        Err(engine::Error::Directory(DirectoryError::InUse {
            for_a_while: false, ..
        })) if order.selection.is_empty() => return Err(nothing_named()),
        Err(engine::Error::Directory(DirectoryError::InUse {
            for_a_while: false, ..
        })) => Client::connect(data)?.forget(&order)?,
        Err(error) => return Err(error.into()),
    };
    Ok(output::print_answer(&done, arguments.json, |done| {
        in_words(done, &order)
    })?)
}

pub(super) fn nothing_named() -> Failure {
    Failure::Usage {
        message: "name what is to be forgotten: URLs, --host or --prefix".to_owned(),
        hint: None,
    }
}

pub(super) fn in_words(done: &ForgetDone, order: &ForgetOrder) -> String {
    if order.back {
        let what = match done.back {
            1 => "1 URL, host or prefix may".to_owned(),
            many => format!("{many} URLs, hosts and prefixes may"),
        };
        return format!(
            "{what} be fetched again: a single URL is queued, others are as they are linked\n"
        );
    }
    let pages = count(done.pages, "page");
    let lines = count(done.lines, "line");
    // Records are found when they are overwritten, and not before.
    let mut text = match order.dry_run {
        true => {
            format!("would forget {pages}, with {lines} of the log and the archive's records\n")
        }
        false => format!(
            "forgot {pages}: {} of the archive, {lines} of the log\n",
            count(done.records, "record"),
        ),
    };
    if done.rehomed > 0 {
        let repeated = count(done.rehomed, "page");
        let _ = writeln!(
            text,
            "{}: {repeated} that repeated it",
            match order.dry_run {
                true => "would be judged again",
                false => "judged again from their own bodies",
            }
        );
    }
    if done.refetched > 0 {
        let pages = count(done.refetched, "page");
        let _ = writeln!(
            text,
            "{pages} of which no body was kept will be visited again"
        );
    }
    name_files(
        &mut text,
        &done.handed_over,
        "changed here, but copies were handed over before: change or remove them where they are",
    );
    name_files(
        &mut text,
        &done.nowhere,
        "not changed, because they are not here any more: change or remove them where they are",
    );
    if !order.dry_run && done.pages > 0 {
        text.push_str(
            "packages and exports that were made before still have it: make them again\n",
        );
    }
    text
}

/// Names files, if there are any.
fn name_files(text: &mut String, files: &BTreeSet<String>, what: &str) {
    if files.is_empty() {
        return;
    }
    let _ = writeln!(text, "{what}:");
    for file in files.iter().take(NAMED) {
        let _ = writeln!(text, "  {file}");
    }
    if files.len() > NAMED {
        let more = files.len() - NAMED;
        let _ = writeln!(text, "  and {more} more (--json names all)");
    }
}
