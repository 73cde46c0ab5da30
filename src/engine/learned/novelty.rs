//! Novelty: whether a visit said something that its site had not said before, which is all that
//! counts for and against the kinds of its URL.

use xxhash_rust::xxh3::xxh3_64;

use super::rows::{HostRows, kind_key};
use crate::dedup::{Ineligible, Verdict};
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::visit::{Judged, Novelty};
use crate::fetch::{Exchange, Outcome};
use crate::frontier::Purpose;
use crate::learn::{Ledger, Pattern, Rows};
use crate::store::encode;
use crate::url::{self, HostKey, Identity, Position, Site, Url};

/// Number of originals at other domains that are remembered per host.
const REPEATED: usize = 16;

/// Returns whether a first visit said something of its own; `None` if that is not known: there was
/// no answer, or none that says anything about the URL. What other hosts of its domain said counts
/// if they may be one site (`is_one_site`).
pub(crate) fn said_something(
    judged: &Judged<'_>,
    is_one_site: bool,
    identity: &Identity,
    group: &mut Group<'_>,
) -> Result<Option<bool>, Error> {
    let task = &judged.analysed.fetched.task;
    let Outcome::Exchange(exchange) = &judged.analysed.fetched.outcome else {
        return Ok(None);
    };
    if task.queued.purpose != Purpose::Page {
        return Ok(None);
    }
    let novelty = judged.own.novelty;
    match &judged.verdict {
        Verdict::Unchanged(_) => Ok(None),
        Verdict::Unique | Verdict::Duplicate(_) if novelty == Novelty::New => {
            Ok(Some(says_more_than_its_url(judged, identity, group)?))
        }
        Verdict::Unique | Verdict::Duplicate(_) if novelty == Novelty::Nothing => Ok(Some(false)),
        Verdict::Unique => Ok(Some(says_more_than_its_url(judged, identity, group)?)),
        Verdict::Duplicate(repeat) => {
            let is_own = url::parse(&repeat.original.url).is_ok_and(|url| match is_one_site {
                true => Site::of(&url) == Site::of(&task.url),
                false => HostKey::of(&url) == task.host,
            });
            if is_own {
                return Ok(Some(false));
            }
            // A mirror repeats each page of another site once.
            let known = &mut group.set.host(&task.host)?.repeated_elsewhere;
            let id = repeat.original.id;
            // Which shard it is of is said above the number.
            let number = (id ^ (id >> 32)) as u32;
            let is_new = !known.contains(&number);
            if is_new {
                if known.len() >= REPEATED {
                    known.remove(0);
                }
                known.push(number);
            }
            Ok(Some(is_new))
        }
        Verdict::Ineligible(reason) => {
            Ok(of_ineligible(judged, exchange, *reason, identity, group))
        }
    }
}

fn of_ineligible(
    judged: &Judged<'_>,
    exchange: &Exchange,
    reason: Ineligible,
    identity: &Identity,
    group: &mut Group<'_>,
) -> Option<bool> {
    let task = &judged.analysed.fetched.task;
    match reason {
        Ineligible::Status if exchange.is_redirect() => {
            let target = exchange.redirect_target(&task.url);
            let id = target.map(|target| identity.id(&target));
            // What a new target says is known when it was visited.
            let is_known = id.is_none_or(|id| id != task.queued.id && group.is_seen(id));
            is_known.then_some(false)
        }
        Ineligible::Status => match exchange.status {
            429 => None,
            400..=499 => Some(false),
            _ => None,
        },
        Ineligible::Challenge | Ineligible::Denied | Ineligible::Consent => None,
        Ineligible::Empty | Ineligible::Repeated | Ineligible::ScriptShell => Some(false),
        Ineligible::Cut | Ineligible::Kind => Some(match &judged.same_payload {
            // Fetched before as a file that a page needs, under the same URL.
            Some(same) => same.url_id != task.queued.id && same.url == task.queued.url,
            None => true,
        }),
    }
}

/// Returns `true` unless the page is new by a few lines only, and the numbers in them follow from
/// those of its URL as on the pages before, like "results 11 to 20".
fn says_more_than_its_url(
    judged: &Judged<'_>,
    identity: &Identity,
    group: &mut Group<'_>,
) -> Result<bool, Error> {
    let task = &judged.analysed.fetched.task;
    let news = &judged.own.news;
    let of_url = numbers(&task.url);
    if news.is_empty() || of_url.is_none() || news.iter().all(|it| it.sum.is_none()) {
        return Ok(true);
    }
    let pattern = Pattern::named(&task.url);
    let kind = xxh3_64(pattern.text.as_bytes());
    let mut rows = HostRows {
        host: &task.host,
        identity,
        group,
    };
    let known = rows.ledger(kind)?;
    if known.is_none() {
        rows.suspicions()?.kinds += 1;
    }
    let mut ledger = known.unwrap_or_else(|| Ledger::new(&pattern.text));
    let mut says_more = false;
    for line in news {
        let follows = |sum| ledger.follows(line.letters, of_url.unwrap_or_default(), sum);
        says_more |= !line.sum.is_some_and(follows);
    }
    group.set.learn(kind_key(&task.host, kind), encode(&ledger));
    Ok(says_more)
}

/// Returns the sum of the numbers in a URL, if it has any.
fn numbers(url: &Url) -> Option<u32> {
    let text = &url[Position::BeforePath..];
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    let numbers = numbers.filter_map(|it| it.parse::<u32>().ok());
    numbers.reduce(u32::wrapping_add)
}
