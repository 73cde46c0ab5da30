//! What a crawl left out and why, from its rows: the table of summaries, of `status` and of
//! `report`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::admission::{MAX_REFUSED, is_noted};
use super::error::Error;
use super::learned::deferred::url_of as deferred_url;
use super::learned::kinds::for_each as for_each_kind;
use super::learned::shells::hosts_with_shells;
use super::ring::scheduler::Ending;
use crate::fetch::FailureClass;
use crate::frontier::{
    HeldHosts, HostState, LoadRequest, Moment, Purpose, Trouble, class_of, for_each_waiting, load,
};
use crate::rows::{Counters, CrawlState, LeftOut, LostSeed, ReasonKind};
use crate::store::{Store, Table, decode, for_each, keys};
use crate::url::HostKey;

/// Maximum number of lost seeds that are named, and of hosts that need JavaScript.
const MAX_NAMED: usize = 10;

/// The reason of what a budget left out.
const BUDGET: &str = "budget";
/// How the names of settings begin that are budgets.
const SETTINGS: &str = "traps.";
/// The reason of what waits for another run.
const QUEUED: &str = "queued";
/// The reason of what waits at hosts that a person holds.
const HELD: &str = "held";
/// What a host is parked for that asked for a longer time than is waited.
const ASKED_TO_WAIT: &str = "asked to wait";
/// The reason of what is deferred.
const DEFERRED: &str = "deferred";
/// The command that lists what is deferred.
const LIST_DEFERRED: &str = "gleaner queue ls --deferred";
/// Maximum number of kinds of deferred URLs that are told each for itself.
const MAX_KINDS: usize = 20;
/// The command that explains one URL.
const WHY: &str = "gleaner why URL";
/// The command that queues again what a budget gave up.
const RETRY_BUDGET: &str = "gleaner retry --class budget";

/// What a crawl left out since it began, and the seeds that gave nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Omissions {
    /// What was left out, by group, the most frequent reason of each first.
    pub left_out: Vec<Omission>,
    /// The seeds that gave nothing.
    pub lost: LostSeeds,
    /// The hosts that send pages that need JavaScript.
    #[serde(default)]
    pub script_shells: ScriptShells,
}

/// The hosts that send pages that say nothing until their scripts run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ScriptShells {
    /// Number of such hosts.
    pub hosts: u64,
    /// Number of such pages.
    pub pages: u64,
    /// The hosts that sent most of them, most first.
    pub named: Vec<ShellHost>,
}

/// A host that sends pages that need JavaScript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ShellHost {
    /// Scheme, name and port.
    pub host: String,
    /// Number of such pages.
    pub pages: u64,
}

/// What was left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Omission {
    /// What was left out.
    pub group: OmissionGroup,
    /// The reason.
    pub reason: String,
    /// The failure class, the setting or the like, if the reason has several.
    #[serde(default)]
    pub detail: Option<String>,
    /// How many.
    pub count: u64,
    /// What is counted.
    pub unit: OmissionUnit,
    /// Set if there may be more, because no more URLs of such reasons are noted.
    #[serde(default)]
    pub at_least: bool,
    /// One of their URLs.
    #[serde(default)]
    pub example: Option<String>,
    /// The command that tells more, or that changes it.
    #[serde(default)]
    pub command: Option<String>,
}

/// What was left out.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum OmissionGroup {
    /// URLs that the crawl admitted and did not fetch.
    NotFetched,
    /// Links that it did not follow.
    NotFollowed,
    /// Pages that were fetched, and are not among its pages, or without a body.
    NotKept,
    /// Documents that are in the archive, and have no text.
    WithoutText,
    /// Files that pages need to be shown, and that are not in the archive.
    Requisites,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OmissionUnit {
    /// URLs, each counted once.
    Urls,
    /// Links: a URL is counted as often as it is linked.
    Links,
    /// Pages, each counted once.
    Pages,
    /// Files that pages need: those that were not asked for are counted as often as they are named.
    Requisites,
}

/// Returns for which failure a host is parked.
pub fn parked_by(host: &HostState) -> &'static str {
    host.trouble.map_or(ASKED_TO_WAIT, Trouble::name)
}

/// The seeds that gave nothing: neither they nor what they redirect to was answered with a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LostSeeds {
    /// Number of seeds that were given.
    pub seeds: u64,
    /// Number of them that gave nothing.
    pub lost: u64,
    /// Some of these, and why.
    pub named: Vec<LostSeed>,
}

impl Omissions {
    /// Returns `true` if nothing was left out and no seed was lost.
    pub fn is_empty(&self) -> bool {
        self.left_out.is_empty() && self.lost.lost == 0
    }

    /// Reads what a crawl left out, as of its last commit. What is queued is left out if no run is
    /// to fetch it (`is_over`). Reads the hosts only if some are parked.
    pub fn read(store: &dyn Store, is_over: bool) -> Result<Self, Error> {
        let counters = CrawlState::read(store)?.unwrap_or_default().counters;
        let mut lost = LostSeeds {
            seeds: counters.seeds,
            ..LostSeeds::default()
        };
        for_each(store, Table::Meta, keys::meta::LOST, &mut |_, row| {
            lost.add(decode(Table::Meta, row)?);
            Ok(())
        })?;
        let mut found = Found {
            rows: LeftOut::read_all(store)?,
            left_out: Vec::new(),
        };
        found.failed(&counters);
        found.links(&counters);
        found.pages(&counters);
        found.requisites();
        if store.get(Table::Meta, keys::meta::DEFERRED)?.is_some() {
            found.deferred(store)?;
        }
        if counters.parked > 0 {
            found.parked(store, &mut lost)?;
        }
        let waiting = counters.queued.saturating_sub(counters.parked);
        if is_over && waiting > 0 {
            found.queued(store, waiting)?;
        }
        let mut left_out = found.left_out;
        left_out.sort_by_key(|it| (it.group, Reverse(it.count)));
        Ok(Self {
            left_out,
            lost,
            script_shells: script_shells(store)?,
        })
    }
}

impl Omissions {
    /// Reads what was left out as links were found, of which nothing tells the host.
    pub fn of_links(store: &dyn Store) -> Result<Vec<Omission>, Error> {
        let counters = CrawlState::read(store)?.unwrap_or_default().counters;
        let mut found = Found {
            rows: LeftOut::read_all(store)?,
            left_out: Vec::new(),
        };
        found.links(&counters);
        Ok(found.left_out)
    }

    /// Names what ended a run before everything was fetched.
    pub(crate) fn end_of_run(&mut self, ending: Ending) {
        let limit = match ending {
            Ending::MaxPages => "--max-pages reached",
            Ending::MaxDuration => "--max-duration reached",
            Ending::MaxBytes => "--max-bytes reached",
            Ending::Stopped => "stopped",
            Ending::Drained | Ending::Failed => return,
        };
        for of in &mut self.left_out {
            if of.reason == QUEUED {
                of.detail = Some(limit.to_owned());
            }
        }
    }
}

fn script_shells(store: &dyn Store) -> Result<ScriptShells, Error> {
    let found = hosts_with_shells(store, MAX_NAMED)?;
    let named = found.most.into_iter();
    Ok(ScriptShells {
        hosts: found.hosts,
        pages: found.pages,
        named: named
            .map(|(host, pages)| ShellHost { host, pages })
            .collect(),
    })
}

impl LostSeeds {
    fn add(&mut self, seed: LostSeed) {
        self.lost += 1;
        if self.named.len() < MAX_NAMED {
            self.named.push(seed);
        }
    }
}

/// What was found so far, and the rows from which examples are taken.
struct Found {
    rows: BTreeMap<String, LeftOut>,
    left_out: Vec<Omission>,
}

impl Found {
    /// Adds a reason, if anything was left out for it.
    fn add(
        &mut self,
        (group, unit): (OmissionGroup, OmissionUnit),
        (reason, detail): (&str, Option<&str>),
        count: u64,
        example: Option<String>,
        command: &str,
    ) {
        let is_same = |it: &&mut Omission| {
            let (as_reason, as_detail) = (&*it.reason, it.detail.as_deref());
            it.group == group && (as_reason, as_detail) == (reason, detail)
        };
        // One budget may have kept URLs out of the queue and given up others in it.
        if let Some(same) = self.left_out.iter_mut().find(is_same) {
            same.count += count;
            same.example = same.example.take().or(example);
        } else if count > 0 {
            self.left_out.push(Omission {
                group,
                reason: reason.to_owned(),
                detail: detail.map(str::to_owned),
                count,
                unit,
                at_least: false,
                example,
                command: Some(command.to_owned()),
            });
        }
    }

    fn example(&self, kind: ReasonKind, name: &str) -> Option<String> {
        let row = self.rows.get(&format!("{}/{name}", kind.name()))?;
        row.example.clone()
    }

    /// Returns the rows of a kind: name, count, example.
    fn rows_of(&self, kind: ReasonKind) -> Vec<(String, LeftOut)> {
        let prefix = format!("{}/", kind.name());
        let rows = self.rows.iter();
        rows.filter_map(|(key, row)| Some((key.strip_prefix(&prefix)?.to_owned(), row.clone())))
            .collect()
    }

    /// URLs that were given up.
    fn failed(&mut self, counters: &Counters) {
        let urls = (OmissionGroup::NotFetched, OmissionUnit::Urls);
        let robots = FailureClass::Robots.name();
        let example = self.example(ReasonKind::Failed, robots);
        self.add(urls, (robots, None), counters.forbidden, example, WHY);
        let mut budgets = 0;
        for (setting, row) in self.rows_of(ReasonKind::UrlOverBudget) {
            budgets += row.count;
            let reason = (BUDGET, Some(&*setting));
            self.add(urls, reason, row.count, row.example, RETRY_BUDGET);
        }
        for (class, count) in counters.failures.iter() {
            let example = self.example(ReasonKind::Failed, class);
            if class == FailureClass::Budget.name() {
                // The rest is older than the rows that name the setting.
                let rest = count.saturating_sub(budgets);
                self.add(urls, (BUDGET, None), rest, example, RETRY_BUDGET);
            } else if class == FailureClass::Guard.name() {
                self.add(urls, (class, None), *count, example, WHY);
            } else {
                let command = format!("gleaner retry --class {class}");
                self.add(urls, ("failed", Some(class)), *count, example, &command);
            }
        }
    }

    /// URLs that are deferred, by kind, with the share of them that may say something.
    fn deferred(&mut self, store: &dyn Store) -> Result<(), Error> {
        let urls = (OmissionGroup::NotFetched, OmissionUnit::Urls);
        let mut kinds: Vec<(u64, String, Vec<u8>)> = Vec::new();
        let mut rest = 0;
        for_each_kind(store, None, &mut |host, kind, ledger| {
            let count = ledger.left.iter().sum::<u64>() + ledger.returning;
            if count == 0 {
                return;
            }
            let percent = ledger.bound().unwrap_or(1.0) * 100.0;
            let detail = format!("{host} {}, at most {percent:.1} % new", ledger.name);
            kinds.push((count, detail, keys::deferred_kind(host, kind)));
            if kinds.len() > MAX_KINDS {
                kinds.sort_by_key(|(count, ..)| Reverse(*count));
                rest += kinds.pop().map_or(0, |(count, ..)| count);
            }
        })?;
        for (count, detail, prefix) in kinds {
            let reason = (DEFERRED, Some(&*detail));
            // The first by which the kind is known may have been fetched as a sample.
            let first = store.range(Table::Deferred, &prefix, &prefix, 1)?.pop();
            let example = first.map(|(_, row)| deferred_url(&row)).transpose()?;
            self.add(urls, reason, count, example, LIST_DEFERRED);
        }
        self.add(urls, (DEFERRED, None), rest, None, LIST_DEFERRED);
        Ok(())
    }

    /// Links that were not followed. Those that were refused for a reason that is noted for each
    /// URL count as URLs.
    fn links(&mut self, counters: &Counters) {
        let urls = (OmissionGroup::NotFetched, OmissionUnit::Urls);
        let refused = self.rows_of(ReasonKind::Refused);
        let sum: u64 = refused.iter().map(|(_, row)| row.count).sum();
        for (name, row) in refused {
            let reason = match name.starts_with(SETTINGS) {
                true => (BUDGET, Some(&*name)),
                false => (&*name, None),
            };
            self.add(urls, reason, row.count, row.example, WHY);
        }
        // Then no further ones are noted.
        for of in self.left_out.iter_mut().filter(|_| sum >= MAX_REFUSED) {
            of.at_least = of.reason == BUDGET || is_noted(&of.reason);
        }
        let links = (OmissionGroup::NotFollowed, OmissionUnit::Links);
        for (name, count) in counters.links.iter() {
            let row = self
                .rows
                .get(&format!("{}/{name}", ReasonKind::Link.name()));
            let row = row.cloned().unwrap_or_default();
            match &**name {
                // Over a budget; its setting is among the above, or older than their rows. What is
                // still deferred is told by its kind.
                "admitted" | "sent" | "known" | "host-budget" | "domain-budget" | DEFERRED => {}
                "links-cut" => {
                    let pages = (OmissionGroup::NotFollowed, OmissionUnit::Pages);
                    self.add(pages, (name, None), *count, row.example, WHY);
                }
                // Links that were counted before URLs were noted.
                _ if is_noted(name) => {
                    let older = count.saturating_sub(row.count);
                    self.add(links, (name, None), older, None, WHY);
                }
                _ => self.add(links, (name, None), *count, row.example, WHY),
            }
        }
    }

    /// Pages that were fetched and are not kept as pages.
    fn pages(&mut self, counters: &Counters) {
        let pages = (OmissionGroup::NotKept, OmissionUnit::Pages);
        for (group, row) in self.rows_of(ReasonKind::Status) {
            let command = match &*group {
                "denied" => WHY.to_owned(),
                class => format!("gleaner retry --class {class}"),
            };
            let reason = ("status", Some(&*group));
            self.add(pages, reason, row.count, row.example, &command);
        }
        for (reason, count) in counters.ineligible.iter() {
            // That there is no page (404), or nothing on it, is an answer.
            if !matches!(&**reason, "status" | "empty" | "cut") {
                let example = self.example(ReasonKind::Page, reason);
                self.add(pages, (reason, None), *count, example, WHY);
            }
        }
        for (reason, row) in self.rows_of(ReasonKind::Body) {
            self.add(
                pages,
                (&reason, None),
                row.count,
                row.example,
                "gleaner dups",
            );
        }
        let documents = (OmissionGroup::WithoutText, OmissionUnit::Pages);
        for (reason, row) in self.rows_of(ReasonKind::Text) {
            self.add(documents, (&reason, None), row.count, row.example, WHY);
        }
    }

    /// Files that pages need, and that were not fetched, or that their servers refused.
    fn requisites(&mut self) {
        let of = (OmissionGroup::Requisites, OmissionUnit::Requisites);
        let robots = FailureClass::Robots.name();
        for (name, row) in self.rows_of(ReasonKind::NamedRequisite) {
            let reason = match name.starts_with(SETTINGS) {
                true => (BUDGET, Some(&*name)),
                false => (&*name, None),
            };
            self.add(of, reason, row.count, row.example, WHY);
        }
        for (name, row) in self.rows_of(ReasonKind::FailedRequisite) {
            let retry = format!("gleaner retry --class {name}");
            let (reason, command) = match &*name {
                setting if setting.starts_with(SETTINGS) => ((BUDGET, Some(setting)), RETRY_BUDGET),
                class if class == robots || class == FailureClass::Guard.name() => {
                    ((class, None), WHY)
                }
                class => (("failed", Some(class)), &*retry),
            };
            self.add(of, reason, row.count, row.example, command);
        }
        for (group, row) in self.rows_of(ReasonKind::RefusedRequisite) {
            let retry = format!("gleaner retry --class {group}");
            let command = if group == "denied" { WHY } else { &*retry };
            let reason = ("status", Some(&*group));
            self.add(of, reason, row.count, row.example, command);
        }
    }

    /// URLs that are queued at held hosts, and at parked ones by the failure. Seeds among them gave
    /// nothing yet.
    fn parked(&mut self, store: &dyn Store, lost: &mut LostSeeds) -> Result<(), Error> {
        let mut parked: BTreeMap<&'static str, LeftOut> = BTreeMap::new();
        let held = HeldHosts::read(store)?;
        for_each(store, Table::Hosts, &[], &mut |key, row| {
            let state: HostState = decode(Table::Hosts, row)?;
            let name = String::from_utf8_lossy(key);
            let Some(host) = HostKey::parse(&name).filter(|_| state.queued > 0) else {
                return Ok(());
            };
            let is_held = held.has(&host);
            if !is_held && !state.parked {
                return Ok(());
            }
            let trouble = if is_held { HELD } else { parked_by(&state) };
            let of = parked.entry(trouble).or_default();
            of.count += state.queued;
            for_each_waiting(store, &host, &state, &mut |class, _, _, queued| {
                if of.example.is_none() {
                    of.example = Some(queued.url.clone());
                }
                let is_first = !queued.revisit && queued.purpose == Purpose::Page;
                if queued.depth == 0 && is_first {
                    lost.add(LostSeed {
                        reason: match is_held {
                            true => "its host is held".to_owned(),
                            false => format!("its host is parked: {trouble}"),
                        },
                        url: queued.url,
                    });
                }
                // Seeds are in the first class.
                Ok(class <= class_of(0))
            })
        })?;
        let urls = (OmissionGroup::NotFetched, OmissionUnit::Urls);
        for (trouble, of) in parked {
            let command = match trouble {
                ASKED_TO_WAIT => WHY.to_owned(),
                HELD => "gleaner resume --host HOST".to_owned(),
                class => format!("gleaner retry --class {class}"),
            };
            self.add(
                urls,
                match trouble {
                    HELD => (HELD, None),
                    trouble => ("parked", Some(trouble)),
                },
                of.count,
                of.example,
                &command,
            );
        }
        Ok(())
    }

    /// URLs that wait for another run.
    fn queued(&mut self, store: &dyn Store, waiting: u64) -> Result<(), Error> {
        let mut example = None;
        let held = HeldHosts::read(store)?;
        let mut request = LoadRequest {
            from: Vec::new(),
            limit: 100,
        };
        while example.is_none() {
            let loaded = load(store, &request)?;
            let goes_on =
                |(_, host, is_parked): &&(Moment, HostKey, bool)| !is_parked && !held.has(host);
            for (_, host, _) in loaded.hosts.iter().filter(goes_on) {
                let row = store.get(Table::Hosts, host.as_str().as_bytes())?;
                let Some(row) = row.filter(|_| example.is_none()) else {
                    continue;
                };
                let state: HostState = decode(Table::Hosts, &row)?;
                for_each_waiting(store, host, &state, &mut |_, _, _, queued| {
                    example = Some(queued.url);
                    Ok(false)
                })?;
            }
            match loaded.next {
                Some(next) => request.from = next,
                None => break,
            }
        }
        let urls = (OmissionGroup::NotFetched, OmissionUnit::Urls);
        self.add(urls, (QUEUED, None), waiting, example, "gleaner crawl");
        Ok(())
    }
}
