//! What happened, as it is told in one place to the log and to those who follow the events.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::kind::EventKind;
use crate::frontier::{Moment, Spender, Trouble};
use crate::url::HostKey;

/// Under which name the log has what a person told the crawl.
const CONTROL: &str = "gleaner::control";

/// Something that happened.
#[derive(Debug, Clone)]
pub(crate) enum Happening {
    /// No visit is in progress any more, and none is made.
    Paused,
    /// Visits are made again.
    Resumed,
    /// Settings were read again; what is different is told in a sentence each.
    Reloaded { changed: Vec<String> },
    /// A host is left alone until then.
    Parked {
        host: HostKey,
        until: Moment,
        failures: u32,
        trouble: Option<Trouble>,
    },
    /// It no longer is.
    Unparked { host: HostKey },
    /// A person holds a host at which so many URLs wait.
    Held { host: HostKey, queued: u64 },
    /// A person lets it go on.
    Released { host: HostKey, queued: u64 },
    /// A kind of URLs is closed, by this one. Those about a part of the URLs have a slot.
    Closed {
        host: HostKey,
        kind: String,
        url: String,
        has_slot: bool,
    },
    /// It is opened again.
    Opened {
        host: HostKey,
        kind: String,
        url: String,
    },
    /// A budget is used up.
    UsedUp { by: Spender, setting: &'static str },
    /// A file of the archive is closed.
    FileClosed { file: String },
    /// Less than the reserve is free, and no visits are made until so many bytes are.
    DiskShort {
        path: String,
        free: u64,
        enough: u64,
    },
    /// Enough is free again.
    DiskFree { path: String, free: u64 },
    /// A visit failed for a reason that is ours.
    VisitFailed { url: String, why: String },
    /// A page of which the process has died is not read any more.
    NotRead { url: String, why: String },
    /// Reading a page has panicked.
    Unreadable { url: String },
    /// Seeds were added to the run, those of a list if they were in a file.
    SeedsAdded {
        list: Option<String>,
        new: u64,
        known: u64,
    },
    /// A seed redirects to what is in scope from now on.
    SeedMoved {
        from: String,
        to: String,
        is_other_site: bool,
    },
    /// A seed without a scheme is asked for over http.
    SeedOverHttp {
        url: String,
        reason: String,
        instead: String,
    },
    /// A checkpoint was made.
    Checkpoint { sequence: u64 },
}

impl Happening {
    /// Returns the kind of event.
    pub(super) fn kind(&self) -> EventKind {
        match self {
            Self::Paused => EventKind::Pause,
            Self::Resumed => EventKind::Resume,
            Self::Reloaded { .. } => EventKind::Reload,
            Self::Parked { .. } => EventKind::Parked,
            Self::Unparked { .. } => EventKind::Unparked,
            Self::Held { .. } => EventKind::Held,
            Self::Released { .. } => EventKind::Released,
            Self::Closed { has_slot: true, .. } => EventKind::RuleLearned,
            Self::Closed { .. } => EventKind::Demoted,
            Self::Opened { .. } => EventKind::RuleTakenBack,
            Self::UsedUp { .. } => EventKind::Budget,
            Self::FileClosed { .. } => EventKind::FileClosed,
            Self::DiskShort { .. } | Self::DiskFree { .. } => EventKind::Disk,
            Self::VisitFailed { .. } | Self::NotRead { .. } | Self::Unreadable { .. } => {
                EventKind::Error
            }
            Self::SeedsAdded { .. } | Self::SeedMoved { .. } | Self::SeedOverHttp { .. } => {
                EventKind::Seeds
            }
            Self::Checkpoint { .. } => EventKind::Checkpoint,
        }
    }

    /// Returns the host that it is about.
    pub(super) fn host(&self) -> Option<&HostKey> {
        match self {
            Self::Parked { host, .. }
            | Self::Unparked { host }
            | Self::Held { host, .. }
            | Self::Released { host, .. }
            | Self::Closed { host, .. }
            | Self::Opened { host, .. } => Some(host),
            Self::UsedUp { by, .. } => match by {
                Spender::Host(host) => Some(host),
                Spender::Domain(_) => None,
            },
            _ => None,
        }
    }

    /// Says it in a sentence.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Paused => "paused: no requests are made until the crawl is resumed".to_owned(),
            Self::Resumed => "resumed".to_owned(),
            Self::Reloaded { changed } => match changed.is_empty() {
                true => "the settings were read again".to_owned(),
                false => format!("the settings were read again: {}", changed.join("; ")),
            },
            Self::Parked {
                until,
                failures,
                trouble,
                ..
            } => {
                let mut text = format!("the host is left alone until {}", time(*until));
                if let Some(trouble) = trouble {
                    let _ = write!(text, ": {failures} failures in a row, {}", trouble.name());
                }
                text
            }
            Self::Unparked { .. } => "the host is no longer left alone".to_owned(),
            Self::Held { queued, .. } => {
                format!(
                    "the host is held: {} until it is released",
                    waiting(*queued)
                )
            }
            Self::Released { queued, .. } => {
                format!("the host is released: {}", waiting(*queued))
            }
            Self::Closed { kind, url, .. } => {
                format!("URLs like {kind} say nothing new, by {url}: deferred")
            }
            Self::Opened { kind, url, .. } => {
                format!("URLs like {kind} matter after all, by {url}")
            }
            Self::UsedUp { by, setting } => {
                let (what, rest) = match by {
                    Spender::Host(_) => ("the host", String::new()),
                    Spender::Domain(domain) => ("the domain", format!(" {}", domain.as_str())),
                };
                format!(
                    "the budget of {what}{rest} is used up ({setting}): its remaining URLs are given up, and its pages are not visited again unless the setting is raised"
                )
            }
            Self::FileClosed { file } => format!("{file} is closed"),
            Self::DiskShort { path, free, enough } => format!(
                "the disk of {path} has {} free, less than state.disk_reserve: no visits are made until it has {}",
                megabytes(*free),
                megabytes(*enough)
            ),
            Self::DiskFree { path, free } => format!(
                "the disk of {path} has {} free: the crawl goes on",
                megabytes(*free)
            ),
            Self::VisitFailed { url, why } => {
                format!("the visit of {url} is recorded as failed: {why}")
            }
            Self::NotRead { url, why } => format!("{url} is not read any more: {why}"),
            Self::Unreadable { url } => {
                format!("gleaner failed on {url}; please report this bug")
            }
            Self::SeedsAdded { list, new, known } => {
                let of = list.as_ref().map(|list| format!(" of {list}"));
                let of = of.unwrap_or_default();
                format!("seeds{of} added: {new} new, {known} known")
            }
            Self::SeedMoved {
                from,
                to,
                is_other_site,
            } => {
                let otherwise = match is_other_site {
                    true => "; crawl.moved_seeds = \"domain\" would keep it out",
                    false => "",
                };
                format!(
                    "the seed {from} redirects to {to}, which is in scope from now on{otherwise}"
                )
            }
            Self::SeedOverHttp {
                url,
                reason,
                instead,
            } => format!("{url} is not there ({reason}): {instead} is asked for in its place"),
            Self::Checkpoint { sequence } => {
                format!("checkpoint: all of the first {sequence} commits is in sorted files")
            }
        }
    }

    /// Says it to the log, with what programs look for in fields.
    pub(super) fn log(&self) {
        match self {
            // A daemon logs what it is told by default, as that of the room `control`.
            Self::Paused => tracing::info!(target: CONTROL, "paused"),
            Self::Resumed => tracing::info!(target: CONTROL, "resumed"),
            // Whoever reads them says it on the screen, those that wait for a restart too.
            Self::Reloaded { .. } => {}
            Self::SeedsAdded { list, new, known } => {
                let list = list.as_deref();
                tracing::info!(target: CONTROL, list, new, known, "seeds added");
            }
            Self::Parked {
                host,
                until,
                failures,
                trouble,
            } => {
                let trouble = trouble.map_or("", Trouble::name);
                let until = time(*until);
                tracing::info!(%host, until, failures, trouble, "host is parked");
            }
            Self::Unparked { host } => tracing::info!(%host, "host is no longer parked"),
            Self::Held { host, queued } => {
                tracing::info!(target: CONTROL, %host, queued, "host is held");
            }
            Self::Released { host, queued } => {
                tracing::info!(target: CONTROL, %host, queued, "host is released");
            }
            Self::Closed { host, .. } | Self::Opened { host, .. } => {
                tracing::info!("host {host}: {}", self.text());
            }
            Self::UsedUp { by, setting } => match by {
                Spender::Host(host) => tracing::warn!(
                    %host,
                    setting,
                    "the budget of a host is used up: its remaining URLs are given up, and its pages are not visited again unless the setting is raised"
                ),
                Spender::Domain(domain) => tracing::warn!(
                    domain = domain.as_str(),
                    setting,
                    "the budget of a domain is used up: its remaining URLs are given up, and its pages are not visited again unless the setting is raised"
                ),
            },
            Self::FileClosed { file } => tracing::info!(file, "file is closed"),
            Self::VisitFailed { url, why } => {
                tracing::error!(url, why, "the visit is recorded as failed");
            }
            Self::NotRead { url, why } => {
                tracing::error!(url, why, "the page is not read any more");
            }
            Self::Unreadable { url } => {
                tracing::error!(url, "gleaner failed on this page; please report this bug");
            }
            Self::DiskShort { .. }
            | Self::DiskFree { .. }
            | Self::SeedMoved { .. }
            | Self::SeedOverHttp { .. } => tracing::warn!("{}", self.text()),
            Self::Checkpoint { sequence } => tracing::info!(sequence, "checkpoint"),
        }
    }
}

/// Says how many URLs wait.
fn waiting(queued: u64) -> String {
    match queued {
        0 => "no URLs wait".to_owned(),
        1 => "1 URL waits".to_owned(),
        queued => format!("{queued} URLs wait"),
    }
}

fn time(moment: Moment) -> String {
    let time = i64::try_from(moment.0).ok();
    let time = time.and_then(|it| Timestamp::from_millisecond(it).ok());
    format!("{:.0}", time.unwrap_or_default())
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}
