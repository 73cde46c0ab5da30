//! `gleaner config`, and the flags for settings that every command that crawls has.
//!
//! The environment of the process is read here and nowhere below.

mod listening;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::cli::output::Screen;
use crate::cli::words::count;
use crate::cli::{Failure, help, output};
use crate::config::{self, Config, Effective, Flag, Origin, Remembered, Size, Sources, Span};
use crate::engine::Options;
use crate::fetch::{CookieFile, MediaPattern};
use crate::url::{self, HostKey};
use listening::ConsoleFlags;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner config show --config my.toml
  gleaner config check --config my.toml")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print every setting that `gleaner crawl` would use with the same flags, and its origin
    Show(Box<Show>),
    /// Check a configuration file, ignoring the environment
    Check(Check),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner config show
  gleaner config show --config config/intranet.toml --delay 1s
  gleaner config show --data-dir crawl
  gleaner config show --config my.toml --host www.example.org
  GLEANER_POLITENESS_DELAY=2s gleaner config show --json | jq '.\"politeness.delay\"'")]
struct Show {
    #[command(flatten)]
    settings: SettingFlags,
    /// Print what the next run of this crawl would use: what its data directory remembers counts
    /// too
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print the settings for one host, given as a name, name:port or URL, with matching entries of
    /// `[[domain]]` and `[[dedup.rule]]` applied
    #[arg(long, value_name = "HOST", value_parser = host)]
    host: Option<HostKey>,
    /// Print one JSON object instead of TOML
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  gleaner config check --config my.toml && gleaner crawl --config my.toml --data-dir crawl")]
struct Check {
    /// Configuration file, in the format of config/gleaner.toml
    #[arg(help_heading = help::SETTINGS, long, value_name = "FILE")]
    config: PathBuf,
}

/// The flags for settings. A test checks that the help of each gives its default.
#[derive(Debug, Clone, Args)]
pub(super) struct SettingFlags {
    /// Configuration file, in the format of config/gleaner.toml. May be repeated: each file wins
    /// over those before it, as your own over a preset
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Data directory of an earlier crawl of the same sites. Pages are asked for by what that got;
    /// what has not changed since is not stored again, but refers to its archive. May be repeated
    #[arg(help_heading = help::REACH, long, value_name = "DIR")]
    since: Vec<PathBuf>,
    /// Maximum number of links to follow from a seed [default: none]
    #[arg(long, value_name = "N")]
    max_depth: Option<u16>,
    /// What a URL must share with a seed to be crawled [default: host]
    #[arg(long, value_enum, value_name = "SCOPE")]
    scope: Option<ScopeArgument>,
    /// Follow only links that match: a URL in which * stands for anything, or `re:` and a regular
    /// expression. May be repeated; added to crawl.include
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,
    /// Do not follow links that match. May be repeated; added to crawl.exclude
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Follow this many links out of the scope, one after the other [default: 0]
    #[arg(help_heading = help::REACH, long, value_name = "N")]
    extra_hops: Option<u8>,
    #[arg(
        help_heading = help::REACH,
        long,
        value_name = "FILE",
        help = "Do not request what this file names: hosts, domains and beginnings of URLs, one a line, or lines of a file of hosts. May be repeated; added to crawl.block_lists"
    )]
    block_list: Vec<PathBuf>,
    /// Read only responses of this type, such as text/html or text/*, by their heads. May be
    /// repeated; added to fetch.accept
    #[arg(help_heading = help::REACH, long, value_name = "TYPE")]
    accept: Vec<MediaPattern>,
    /// Do not read responses of this type, such as image/*. May be repeated; added to fetch.reject
    #[arg(help_heading = help::REACH, long, value_name = "TYPE")]
    reject: Vec<MediaPattern>,
    /// Minimum time between two visits of a host, such as 500ms [default: 1s]
    #[arg(long, value_name = "DURATION")]
    delay: Option<Span>,
    /// Maximum number of concurrent fetches, each from another host [default: 64]
    #[arg(help_heading = help::REQUESTS, long, value_name = "N")]
    concurrency: Option<usize>,
    /// Maximum number of requests per second in the whole crawl [default: none]
    #[arg(help_heading = help::REQUESTS, long, value_name = "N")]
    max_rate: Option<NonZeroU32>,
    /// Bytes received each second in the whole crawl, such as 500KB [default: none]
    #[arg(help_heading = help::REQUESTS, long, value_name = "SIZE")]
    limit_rate: Option<Size>,
    /// Memory budget for the data structures of the crawl, such as 2GiB [default: 1GiB]
    #[arg(help_heading = help::SETTINGS, long, value_name = "SIZE")]
    max_memory: Option<Size>,
    #[arg(long, value_name = "TEXT", help = concat!(
        "User-Agent header; must contain a contact to crawl other machines [default: gleaner/",
        env!("CARGO_PKG_VERSION"),
        "]"
    ))]
    user_agent: Option<String>,
    /// Header field of every request, as `Name: value`; not for credentials, which some hosts can
    /// have in `[[domain]]`. May be repeated; added to fetch.headers
    #[arg(help_heading = help::REQUESTS, long, value_name = "FIELD", value_parser = field)]
    header: Vec<(String, String)>,
    #[arg(
        help_heading = help::REQUESTS,
        long,
        value_name = "FILE",
        help = "Cookies of a login, in the format of Netscape, sent only to the hosts, paths and schemes that the file says. May be repeated; added to fetch.cookie_files"
    )]
    cookies: Vec<PathBuf>,
    /// Proxy for all requests: a URL with http, https, socks5 or socks5h, or none [default: none]
    #[arg(help_heading = help::REQUESTS, long, value_name = "URL")]
    proxy: Option<String>,
    /// Whether to obey robots.txt [default: obey]
    #[arg(help_heading = help::REACH, long, value_enum, value_name = "MODE")]
    robots: Option<RobotsArgument>,
    /// Allow private, loopback and reserved addresses
    #[arg(help_heading = help::REQUESTS, long)]
    allow_private: bool,
    #[command(flatten)]
    console: ConsoleFlags,
    #[arg(
        help_heading = help::SETTINGS,
        long,
        value_name = "KEY=VALUE",
        value_parser = assignment,
        help = "Any other setting, such as fetch.max_body=5MiB. May be repeated; docs/configuration.md lists all"
    )]
    set: Vec<(String, String)>,
    /// Forget the settings of earlier runs, which a crawl goes on with otherwise
    #[arg(help_heading = help::SETTINGS, long)]
    reset_settings: bool,
}

/// Reads `Name: value`.
fn field(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write it as `Name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Reads `section.key=value`.
fn assignment(text: &str) -> Result<(String, String), String> {
    let expected = "write it as section.key=value, such as fetch.max_body=5MiB";
    let (key, value) = text.split_once('=').ok_or(expected)?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScopeArgument {
    /// Host name and port
    Host,
    /// Registrable domain
    Domain,
    /// URL of the seed up to its last slash
    Prefix,
    /// Nothing: every link is followed
    Any,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RobotsArgument {
    /// Fetch and obey robots.txt
    Obey,
    /// Do not fetch robots.txt
    Ignore,
}

impl SettingFlags {
    /// Defaults < what a data directory remembers < files < environment < flags.
    pub(super) fn load(&self, directory: Option<&Path>) -> Result<Effective, Failure> {
        // What is no data directory yet remembers nothing, whatever lies there.
        let directory = directory.filter(|it| !self.reset_settings && it.join("version").exists());
        let remembered = match directory {
            Some(directory) => Remembered::read(directory)?,
            None => Remembered::default(),
        };
        let sources = Sources {
            remembered,
            files: self.config.clone(),
        };
        Ok(config::load(sources, std::env::vars_os(), self.flags())?)
    }

    /// Adds what is set while the crawl runs.
    pub(super) fn set_also(&mut self, set: &BTreeMap<String, String>) {
        let set = set.iter();
        (self.set).extend(set.map(|(key, value)| (key.clone(), value.clone())));
    }

    /// The flags that were given.
    fn flags(&self) -> Vec<Flag> {
        // Destructured, so that a new flag cannot be forgotten.
        let Self {
            config: _,
            since,
            max_depth,
            scope,
            include,
            extra_hops,
            limit_rate,
            exclude,
            block_list,
            accept,
            reject,
            delay,
            concurrency,
            max_rate,
            max_memory,
            user_agent,
            header,
            cookies,
            proxy,
            robots,
            allow_private,
            console,
            set,
            reset_settings: _,
        } = self;
        let flag = |name, key, value: Option<String>| Some((name, key, value?));
        [
            flag("--since", "archive.since", absolute(since)),
            flag("--max-depth", "crawl.max_depth", text(max_depth.as_ref())),
            flag("--scope", "crawl.scope", scope.as_ref().map(name)),
            flag(
                "--extra-hops",
                "crawl.extra_hops",
                text(extra_hops.as_ref()),
            ),
            flag(
                "--limit-rate",
                "fetch.limit_rate",
                text(limit_rate.as_ref()),
            ),
            flag("--delay", "politeness.delay", text(delay.as_ref())),
            flag(
                "--concurrency",
                "fetch.concurrency",
                text(concurrency.as_ref()),
            ),
            flag("--max-rate", "politeness.max_rate", text(max_rate.as_ref())),
            flag(
                "--max-memory",
                "state.max_memory",
                text(max_memory.as_ref()),
            ),
            flag("--user-agent", "fetch.user_agent", user_agent.clone()),
            flag("--proxy", "fetch.proxy", proxy.clone()),
            flag("--robots", "crawl.robots", robots.as_ref().map(name)),
            flag(
                "--allow-private",
                "fetch.allow_private",
                allow_private.then(|| true.to_string()),
            ),
        ]
        .into_iter()
        .flatten()
        .map(|(name, key, value)| Flag {
            name,
            key: key.to_owned(),
            value,
            adds: false,
        })
        .chain(set.iter().map(|(key, value)| Flag {
            name: "--set",
            key: key.clone(),
            value: value.clone(),
            adds: false,
        }))
        .chain(console.flags())
        .chain(added("--include", "crawl.include", include, |it| {
            json!([it])
        }))
        .chain(added("--exclude", "crawl.exclude", exclude, |it| {
            json!([it])
        }))
        .chain(added(
            "--block-list",
            "crawl.block_lists",
            block_list,
            listed,
        ))
        .chain(added("--cookies", "fetch.cookie_files", cookies, listed))
        .chain(added("--accept", "fetch.accept", accept, |it| json!([it])))
        .chain(added("--reject", "fetch.reject", reject, |it| json!([it])))
        .chain(added(
            "--header",
            "fetch.headers",
            header,
            |(name, value)| json!({ name: value }),
        ))
        .collect()
    }
}

/// A path as a list, as it is for a run that is started elsewhere.
fn listed(path: &PathBuf) -> Value {
    json!([std::path::absolute(path).unwrap_or_else(|_| path.clone())])
}

/// Flags of which each adds to a list or table.
fn added<'a, T>(
    name: &'static str,
    key: &'static str,
    given: &'a [T],
    value: impl Fn(&T) -> Value + 'a,
) -> impl Iterator<Item = Flag> + 'a {
    given.iter().map(move |it| Flag {
        name,
        key: key.to_owned(),
        value: inline(&value(it)),
        adds: true,
    })
}

/// Paths as a list, as they are for a run that is begun elsewhere; `None` if there are none.
fn absolute(paths: &[PathBuf]) -> Option<String> {
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let paths: Vec<PathBuf> = paths.iter().map(absolute).collect();
    (!paths.is_empty()).then(|| inline(&json!(paths)))
}

fn text(value: Option<&impl ToString>) -> Option<String> {
    value.map(ToString::to_string)
}

/// A choice as it is written, on the command line and in a file alike.
fn name(choice: &impl ValueEnum) -> String {
    let value = choice.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Show(show) => {
            let Show {
                settings,
                data_dir,
                host,
                json,
            } = &**show;
            let effective = settings.load(data_dir.as_deref())?;
            let (settings, entries) = match (host, effective.entries_origin()) {
                (Some(host), _) => (effective.settings_at(host), None),
                (None, from) => (
                    crawl_wide(&effective),
                    from.map(|from| (lists(&effective), from)),
                ),
            };
            let text = if *json {
                to_json(&settings, entries)
            } else {
                to_toml(&settings, entries)
            };
            output::print(&text)?;
        }
        Command::Check(Check { config }) => {
            let effective = config::load(Sources::of(config), [], [])?;
            converters(&effective.config)?;
            let settings = effective.settings();
            let set = settings
                .iter()
                .filter(|(.., origin)| **origin != Origin::Default)
                .count();
            let path = config.display();
            let mut counts = String::new();
            for (list, entries) in lists(&effective) {
                let _ = write!(counts, ", entries of [[{list}]]: {}", entries.len());
            }
            output::say(&format!("{path} is valid; keys set: {set}{counts}"));
        }
    }
    Ok(())
}

/// A key, its value and its origin.
type Setting = (String, Value, Origin);

/// The settings of the whole crawl.
fn crawl_wide(effective: &Effective) -> Vec<Setting> {
    let settings = effective.settings().into_iter();
    settings
        .map(|(key, value, origin)| (key, value, origin.clone()))
        .collect()
}

/// An entry of `[[domain]]` or `[[dedup.rule]]`.
struct Entry<'a> {
    name: Option<&'a str>,
    matches: Value,
    settings: BTreeMap<String, Value>,
}

/// The lists of per-host and per-page settings that have entries.
fn lists(effective: &Effective) -> Vec<(&'static str, Vec<Entry<'_>>)> {
    let domains = effective.config.domain.iter().map(|entry| Entry {
        name: entry.name.as_deref(),
        matches: json!(entry.hosts),
        settings: entry.settings(),
    });
    let rules = effective.config.dedup_rules.iter().map(|entry| Entry {
        name: entry.name.as_deref(),
        matches: json!(entry.pages),
        settings: entry.settings(),
    });
    let lists = [
        ("domain", domains.collect::<Vec<_>>()),
        ("dedup.rule", rules.collect()),
    ];
    let lists = lists.into_iter();
    lists.filter(|(_, entries)| !entries.is_empty()).collect()
}

/// Lists of entries, and their origin.
type Lists<'a> = Option<(Vec<(&'static str, Vec<Entry<'a>>)>, Origin)>;

/// One line per key, which together are a configuration file. Unset keys are comments.
fn to_toml(settings: &[Setting], lists: Lists<'_>) -> String {
    let mut text = String::new();
    for (key, value, origin) in settings {
        text.push_str(&line(key, value, origin));
    }
    let Some((lists, origin)) = lists else {
        return text;
    };
    for (list, entries) in lists {
        for entry in entries {
            let _ = write!(text, "\n[[{list}]]\n");
            if let Some(name) = &entry.name {
                text.push_str(&line("name", &json!(name), &origin));
            }
            text.push_str(&line("match", &entry.matches, &origin));
            for (key, value) in entry.settings {
                text.push_str(&line(&key, &value, &origin));
            }
        }
    }
    text
}

fn line(key: &str, value: &Value, origin: &Origin) -> String {
    let setting = match value {
        Value::Null => format!("# {key} = none"),
        other => format!("{key} = {}", inline(other)),
    };
    format!("{setting}  # {}\n", on_one_line(&origin.to_string()))
}

/// A value as TOML on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| format!("{} = {}", inline(&json!(name)), inline(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(","))
        }
        // TOML strings are like those of JSON, except that the delete character must be escaped.
        // The TOML writer would break a string with newlines over several lines.
        other => other.to_string().replace('\u{7f}', "\\u007f"),
    }
}

/// A JSON object with a member for each key, and one for each list that has entries.
fn to_json(settings: &[Setting], lists: Lists<'_>) -> String {
    let told = |value: &Value, origin: &Origin| {
        let from = origin.to_string();
        json!({"value": value, "layer": origin.layer(), "from": from})
    };
    let mut members: BTreeMap<String, Value> = settings
        .iter()
        .map(|(key, value, origin)| (key.clone(), told(value, origin)))
        .collect();
    if let Some((lists, origin)) = lists {
        for (list, entries) in lists {
            let entries = entries.iter().map(|entry| {
                json!({"name": entry.name, "match": entry.matches, "settings": entry.settings})
            });
            let entries = Value::Array(entries.collect());
            members.insert(list.to_owned(), told(&entries, &origin));
        }
    }
    format!("{}\n", json!(members))
}

/// Parses a host, by default with the scheme https.
fn host(text: &str) -> Result<HostKey, String> {
    let url = if text.contains("://") {
        url::parse(text)
    } else {
        url::parse(&format!("https://{text}"))
    };
    url.map(|url| HostKey::of(&url))
        .map_err(|error| format!("{error}; give a name such as www.example.org, or a URL"))
}

/// Escapes control characters: a newline in a file name would end the comment.
fn on_one_line(text: &str) -> String {
    let mut line = String::new();
    for letter in text.chars() {
        if letter.is_control() {
            line.extend(letter.escape_default());
        } else {
            line.push(letter);
        }
    }
    line
}

/// Adds what signs uploads to the options of a run that uploads.
pub(super) fn sign_uploads(config: &Config, options: &mut Options) -> Result<(), Failure> {
    if let Some(upload) = &mut options.archive.handover.upload {
        let environment = |name: &str| std::env::var(name).ok();
        upload.credentials = Some(config.upload_credentials(environment)?);
    }
    Ok(())
}

/// Refuses converters whose programs are not there: their documents would be without a text.
pub(super) fn converters(config: &Config) -> Result<(), Failure> {
    match config.convert.missing_programs() {
        Some(message) => Err(Failure::Usage {
            message,
            hint: Some("install it, or take the entry of [[convert]] out"),
        }),
        None => Ok(()),
    }
}

/// Reads the cookies of logins, and says how many have ended.
pub(super) fn login(config: &Config, screen: &Screen) -> Result<CookieFile, Failure> {
    let login = config.read_cookie_files()?;
    let ended = login.ended(jiff::Timestamp::now());
    if ended > 0 {
        screen.say(&format!(
            "warning: {ended} of {} have ended, and are not sent (fetch.cookie_files)",
            count(login.len() as u64, "cookie")
        ));
    }
    Ok(login)
}
