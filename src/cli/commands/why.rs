//! `gleaner why`: explains what happened to a URL.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::Failure;
use crate::cli::exit::Exit;
use crate::cli::input;
use crate::cli::inspector::Inspector;
use crate::cli::output;
use crate::cli::words::count;
use crate::engine::{Bodies, BodyPlace, RecordKind, RecordPlace};
use crate::frontier::{ScopeKind, Trouble};
use crate::inspect::{
    Answer, HostNow, LearnedKind, LinksCut, OriginalElsewhere, Question, RobotsAnswer, UrlState,
    Visited, Why,
};
use crate::url::{self, Site};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner why https://example.org/page --data-dir crawl
  gleaner why https://example.org/page --data-dir crawl --json | jq .state

The URL may be given in any form, also without https:// or http://. The exit code is 5 if the crawl does not know it. The crawl may be
running.")]
pub(crate) struct Arguments {
    /// URL to explain
    #[arg(value_name = "URL")]
    url: String,
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let urls = input::urls(&arguments.url)?;
    let mut inspector = Inspector::open(&arguments.data_dir)?;
    let mut answers = Vec::new();
    for url in urls {
        let Answer::Why(why) = inspector.ask(Question::Why { url: url.into() })? else {
            return Err(Failure::other_answer());
        };
        let is_known = why.state != UrlState::Unknown || why.forgotten.is_some();
        match is_known {
            true => answers = vec![why],
            false => answers.push(why),
        }
        if is_known {
            break;
        }
    }
    let Some(mut why) = answers.into_iter().next() else {
        return Err(Failure::other_answer());
    };
    let mut end = None;
    if let Some(visit) = &mut why.visit {
        visit.led_to = led_to(&arguments.data_dir, visit);
        if let Some(url) = visit.led_to.clone() {
            let answer = inspector.ask(Question::Why { url })?;
            end = match answer {
                Answer::Why(end) => Some(end),
                _ => None,
            };
        }
    }
    output::print_answer(&*why, arguments.json, |why| in_words(why, end.as_deref()))?;
    match why.state {
        UrlState::Unknown if why.forgotten.is_none() => Err(Failure::Answered(Exit::Unknown)),
        _ => Ok(()),
    }
}

/// Where a redirect led, by its response in the archive. Browsers take `Location` relative to the
/// URL (RFC 9110, section 10.2.2).
fn led_to(data: &Path, visit: &Visited) -> Option<String> {
    let response = visit
        .record
        .clone()
        .filter(|_| (300..400).contains(&visit.status))?;
    let place = match response.kind {
        RecordKind::Revisit => BodyPlace::Revisit { revisit: response },
        _ => BodyPlace::Response {
            response,
            revisit: None,
        },
    };
    let location = Bodies::of(data).read(&place).ok()?.header("location")?;
    let base = url::parse(&visit.url).ok()?;
    Some(base.join(&location).ok()?.to_string())
}

/// What became of the URL to which a redirect led.
fn end_in_words(end: &Why) -> String {
    match (&end.queued, &end.visit) {
        (Some(_), _) => "queued".to_owned(),
        (None, Some(visit)) => fate(visit),
        (None, None) if end.state == UrlState::Deferred => "deferred".to_owned(),
        (None, None) => "not followed: ask `gleaner why` about it".to_owned(),
    }
}

/// The answer in words. `end` is that about the URL to which it was redirected.
fn in_words(why: &Why, end: Option<&Why>) -> String {
    let mut text = String::new();
    let mut say = |name: &str, what: &str| {
        let _ = writeln!(text, "{name:<12}{what}");
    };
    say("url", &why.url);
    if why.canonical != why.url {
        say("canonical", &why.canonical);
    }
    // What is forgotten stays in its queue until its turn comes, and is not requested then.
    let queued = why.queued.as_ref();
    if let Some(queued) = queued.filter(|_| why.forgotten.is_none()) {
        let class = queued.class;
        let mut state = match queued.ahead {
            0 => format!("queued: the next of its host (class {class})"),
            ahead => {
                let ahead = count(ahead, "URL");
                format!("queued: behind {ahead} of its host (class {class})")
            }
        };
        if queued.attempts > 0 {
            let attempts = count(u64::from(queued.attempts), "attempt");
            let _ = write!(state, ", after {attempts}");
        }
        let parked = why.host.as_ref().filter(|host| host.parked);
        match (&why.held, parked) {
            (Some(since), _) => {
                let _ = write!(state, "; its host is held by you since {since}");
            }
            (None, Some(host)) => {
                let _ = write!(state, "; its host is parked until {}", host.due);
            }
            (None, None) => {}
        }
        say("state", &state);
        say("to request", &queued.url);
        say("found", &found(queued.depth, queued.via.as_deref()));
    }
    if let Some(page) = &why.needed_by {
        say("needed by", page);
    }
    if let Some(visit) = &why.visit {
        say(
            if why.queued.is_some() {
                "before"
            } else {
                "state"
            },
            &fate(visit),
        );
        say_visit(visit, end, &mut say);
    }
    if let Some(since) = &why.forgotten {
        let since = match since.is_empty() {
            true => String::new(),
            false => format!(" since {since}"),
        };
        let state = format!("forgotten at a person's request{since} (gleaner forget)");
        say("state", &state);
    } else if why.state == UrlState::Unknown {
        say("state", &never_admitted(why));
    }
    if why.state == UrlState::Deferred {
        say("state", "deferred: it was found and is kept for later");
    }
    say("admission", &admission(why));
    say("robots.txt", &robots(why));
    if let Some(host) = &why.host {
        say("host", &of_host(host));
    }
    text
}

/// What is known of a visit.
fn say_visit(visit: &Visited, end: Option<&Why>, say: &mut dyn FnMut(&str, &str)) {
    // What was given up before a request was made was never asked for.
    let was_asked = was_asked(visit);
    say(if was_asked { "requested" } else { "as found" }, &visit.url);
    if visit.archive.is_some() {
        say("visited", &visit.time);
    } else {
        say("found", &found(visit.depth, visit.via.as_deref()));
        let visited = format!("{}, attempt {}", visit.time, visit.attempts);
        match was_asked {
            true => say("visited", &visited),
            false => say("given up", &visit.time),
        }
    }
    if let Some(since) = &visit.unchanged_since {
        say(
            "as it was",
            &format!("unchanged since {since}: an earlier crawl has it"),
        );
    }
    if let Some(next) = &visit.next_visit {
        say("next visit", next);
    }
    if let (Some(first), Some(last)) = (&visit.first_seen, &visit.last_checked) {
        say(
            "duplicate",
            &format!("since {first}, last confirmed {last}"),
        );
    }
    if let Some(best) = &visit.cluster_canonical {
        say("preferred", best);
    }
    if let Some(title) = &visit.title {
        say("title", title);
    }
    if let Some(place) = &visit.text_record {
        say("text", &format!("by its converter: {}", stored(place)));
    }
    if let Some(reason) = &visit.converter {
        say("text", &format!("none: its converter failed: {reason}"));
    }
    if let Some(hint) = &visit.canonical_hint {
        say("declared as", hint);
    }
    if let Some(url) = &visit.led_to {
        let end = end.map_or(String::new(), |end| format!("  ({})", end_in_words(end)));
        say("led to", &format!("{url}{end}"));
    }
    if let Some(record) = &visit.record {
        say("stored", &stored(record));
    }
    if let Some(record) = &visit.original_record {
        say("original", &stored(record));
    }
    if let Some(of) = &visit.original_elsewhere {
        let OriginalElsewhere {
            shard,
            time,
            record,
            payload,
        } = of;
        let of = format!("shard {shard}, {time}, record {record}, sha256:{payload}");
        say("original", &of);
    }
    if let Some(url) = &visit.raced {
        say(
            "the same as",
            &format!("{url}, which another shard stored at the same time"),
        );
    }
}

/// The state of a host.
fn of_host(host: &HostNow) -> String {
    let mut line = format!(
        "{}: {} queued, {}, not before {}",
        host.host,
        host.queued,
        count(host.visits, "answer"),
        host.due
    );
    if host.failures > 0 {
        let trouble = host.trouble.map_or("", Trouble::name);
        let failures = count(u64::from(host.failures), "failure");
        let _ = write!(line, ", {failures}, the last {trouble}");
    }
    if host.parked {
        line.push_str(", parked until then");
    }
    if let Some(since) = &host.held {
        let _ = write!(
            line,
            ", held by you since {since} (`gleaner resume --host`)"
        );
    }
    if let Some(delay) = host.crawl_delay_ms {
        let _ = write!(line, ", Crawl-delay {delay} ms");
    }
    line
}

fn fate(visit: &Visited) -> String {
    let answer = match &visit.failure {
        Some(failure) => failure.clone(),
        None => format!("status {}", visit.status),
    };
    if let Some(archive) = &visit.archive {
        return format!("known: {answer}, from {archive} of an earlier crawl; not fetched again");
    }
    if visit.verdict == "forbidden" {
        return format!("not fetched: {}", answer.trim_start_matches("robots: "));
    }
    if visit.failure.is_some() && visit.verdict == "failed" && visit.next_attempt.is_none() {
        let class = answer.split(':').next().unwrap_or_default();
        let attempt = match was_asked(visit) {
            true => format!(" at attempt {}", visit.attempts),
            false => String::new(),
        };
        return format!("given up{attempt}: {answer} (gleaner retry --class {class} tries again)");
    }
    if let Some(next) = &visit.next_attempt {
        let attempts = count(u64::from(visit.attempts), "attempt");
        return format!("failed so far: {answer}; {attempts}, next not before {next}");
    }
    match (&visit.original, visit.distance, visit.similarity) {
        (Some(original), Some(distance), Some(similarity)) => format!(
            "done: {answer}, a {} duplicate (distance {distance}, similarity {similarity}) of {original}",
            visit.verdict
        ),
        _ => match (&visit.reason, visit.entries) {
            (Some(reason), _) => {
                format!("done: {answer}, {} ({})", visit.verdict, in_full(reason))
            }
            (None, Some(entries)) => {
                let entries = count(u64::from(entries), "URL");
                format!("done: {answer}, {} of {entries}", visit.verdict)
            }
            (None, None) => format!("done: {answer}, {}", visit.verdict),
        },
    }
}

/// Tells whether a request was made, or at least tried, when a visit ended as it did.
fn was_asked(visit: &Visited) -> bool {
    let class = visit.failure.as_deref().and_then(|it| it.split(':').next());
    !matches!(
        class,
        Some("robots" | "guard" | "budget" | "blocked" | "dropped" | "logs-out")
    )
}

/// Explains what is known of a URL that was never admitted.
fn never_admitted(why: &Why) -> String {
    let mut text = "unknown: it was never admitted to this crawl".to_owned();
    let Some(refused) = &why.refused else {
        return text;
    };
    let reason = match &*refused.reason {
        "too-deep" => {
            let setting = match refused.seed_depth {
                Some(own) => format!("its seed has depth={own}"),
                None => "crawl.max_depth".to_owned(),
            };
            match refused.via_depth {
                Some(depth) => format!("too deep: at depth {} ({setting})", depth + 1),
                None => format!("too deep ({setting})"),
            }
        }
        "nofollow" => {
            "nofollow, by the page or the link (crawl.robots_meta, robots_header, rel_nofollow)"
                .to_owned()
        }
        "other-language" => {
            "the page is in a language that is not wanted (crawl.languages)".to_owned()
        }
        "too-many-redirects" => {
            "too many redirects in a row led to it (crawl.max_redirects)".to_owned()
        }
        "excluded" => "excluded (crawl.exclude)".to_owned(),
        "not-included" => "not included (crawl.include)".to_owned(),
        setting => format!("the budget {setting} was used up"),
    };
    let _ = write!(text, "; its first link was refused: {reason}");
    if let Some(via) = &refused.via {
        let _ = write!(text, "; found on {via}");
    }
    text
}

/// Explains why a page is ineligible for deduplication.
fn in_full(reason: &str) -> &str {
    match reason {
        "status" => "not a success status",
        "empty" => "no body",
        "kind" => "neither HTML nor text (archive.other_types)",
        "cut" => "not received completely",
        "challenge" => "challenge: a CAPTCHA or another bot check instead of the page",
        "script-shell" => "script-shell: the page says nothing until its scripts run",
        "denied" => "denied: an access-denied page instead of the page",
        "consent" => "consent: a consent dialog instead of the page",
        "repeated" => "repeated: a short text that the host serves under many URLs",
        other => other,
    }
}

fn found(depth: u16, via: Option<&str>) -> String {
    match via {
        Some(via) => format!("on {via}, at depth {depth}"),
        None if depth == 0 => "as a seed".to_owned(),
        None => format!("at depth {depth}"),
    }
}

fn stored(record: &RecordPlace) -> String {
    let kind = record.kind.as_str();
    let directory = match record.kind {
        RecordKind::Conversion => "texts",
        _ => "warc",
    };
    format!(
        "{kind} in {directory}/{} at byte {}",
        record.file, record.offset
    )
}

/// Returns what a URL would have to share with a seed, after a space.
fn shared(why: &Why) -> String {
    let Ok(url) = url::parse(&why.url) else {
        return String::new();
    };
    match why.admission.scope {
        ScopeKind::Host => {
            let port = url.port().map(|port| format!(":{port}"));
            let (name, port) = (url.host_str().unwrap_or_default(), port.unwrap_or_default());
            format!(" {name}{port}")
        }
        ScopeKind::Domain => format!(" {}", Site::of(&url).as_str()),
        ScopeKind::Prefix | ScopeKind::Any => String::new(),
    }
}

fn admission(why: &Why) -> String {
    let now = &why.admission;
    let name = |scope| serde_json::to_string(&scope).unwrap_or_default();
    let name = |scope: ScopeKind| name(scope).trim_matches('"').to_owned();
    let scope = name(now.scope);
    let mut text = match &*now.answer {
        "out-of-scope" => {
            format!(
                "out of scope: its {scope}{} is not that of a seed of that scope (crawl.scope is {scope})",
                shared(why)
            )
        }
        "excluded" => format!(
            "excluded by {:?} (crawl.exclude)",
            now.pattern.as_deref().unwrap_or_default()
        ),
        "not-included" => "not included: it matches no pattern of crawl.include".to_owned(),
        "malformed" => format!(
            "too long: more than {} characters (crawl.max_url_length)",
            now.max_url_length
        ),
        "admitted" => match now.seed_scope.map(name) {
            Some(own) => format!("in scope (of a seed whose own scope is {own})"),
            None => format!("in scope (crawl.scope is {scope})"),
        },
        "deferred" => deferred(now.kind.as_ref()),
        trap => format!("{trap}: {}", trapped(trap)),
    };
    if let Some(place) = &now.blocked {
        let _ = write!(text, "; blocked by {place} (crawl.block_lists)");
    }
    if let Some(max_depth) = now.max_depth {
        let _ = write!(
            text,
            "; links are followed up to depth {max_depth} (crawl.max_depth)"
        );
    }
    if let Some(budget) = &now.budget {
        let (setting, used, max) = (&budget.setting, budget.used, budget.max);
        let _ = write!(text, "; {setting} is used up: {used} of {max}");
    }
    let is_unheard_of = why.refused.is_none() && why.forgotten.is_none();
    if why.state == UrlState::Unknown && now.answer == "admitted" && is_unheard_of {
        text.push_str(
            ": no page that was fetched is known to link to it (what pages embed, such as images \
              and style sheets, is fetched where crawl.requisites says so)",
        );
        if let Some(LinksCut { pages, example }) = &why.links_cut {
            let such = match example {
                Some(example) => format!(", such as {example}"),
                None => String::new(),
            };
            let _ = write!(
                text,
                "; pages with more links than are read (page.max_links): {pages}{such}"
            );
        }
    }
    text
}

/// Explains why a URL is deferred.
fn deferred(kind: Option<&LearnedKind>) -> String {
    let Some(kind) = kind else {
        return "deferred".to_owned();
    };
    format!(
        "deferred: URLs like it ({}) said nothing of their own, by {} samples; {} of them are \
         deferred (`gleaner queue ls --deferred`; `gleaner retry --class trap` fetches them)",
        kind.what, kind.sampled, kind.deferred
    )
}

/// Explains a trap, and names the setting for it.
fn trapped(trap: &str) -> &'static str {
    match trap {
        "host-budget" => "the budget of its host is used up",
        "domain-budget" => "the budget of its domain is used up",
        "too-many-segments" => {
            "its path has many segments (traps.max_segments): deferred unless such URLs said something"
        }
        "repeated-segments" => {
            "a segment of its path is repeated (traps.max_repeats): deferred unless such URLs said \
             something"
        }
        "too-many-parameters" => {
            "its query has many parameters (traps.max_parameters): deferred unless such URLs said \
             something"
        }
        _ => "it is not followed",
    }
}

fn robots(why: &Why) -> String {
    let now = &why.robots;
    let mut text = match now.answer {
        RobotsAnswer::Allowed => "allowed",
        RobotsAnswer::Forbidden => "forbidden",
        RobotsAnswer::Unknown => "unknown",
        RobotsAnswer::Ignored => "ignored",
    }
    .to_owned();
    if let (Some(line), Some(rule)) = (now.line, &now.rule) {
        let _ = write!(text, " by line {line}: {rule}");
    }
    if let Some(reason) = &now.reason {
        let _ = write!(text, ": {reason}");
    }
    if let Some(until) = &now.until {
        let _ = write!(text, " (valid until {until})");
    }
    text
}
