//! The counters of a crawl, as visits change them.

use crate::dedup::Verdict;
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::commit::effects::Places;
use crate::engine::learned::restless::compare_again;
use crate::engine::visit::Judged;
use crate::fetch::{Exchange, Failure, FailureClass, Outcome};
use crate::frontier::Finding;
use crate::rows::{Counters, SavedBytes};

/// Counts a URL that is given up.
pub(super) fn count_failure(failure: &Failure, counters: &mut Counters) {
    if failure.class == FailureClass::Robots {
        counters.forbidden += 1;
    } else {
        counters.failed += 1;
        counters.failures.add(&failure.class);
    }
}

/// Counts the first answer to a URL.
pub(super) fn count_answer(judged: &Judged<'_>, exchange: &Exchange, counters: &mut Counters) {
    if judged.analysed.fetched.task.queued.purpose.is_sitemap() {
        counters.sitemaps += 1;
        counters.sitemap_entries += u64::from(judged.analysed.sitemap_entries());
        return;
    }
    counters.pages += 1;
    *counters.statuses.entry(exchange.status / 100).or_default() += 1;
    counters.verdicts.add(&(&judged.verdict).into());
    if let Verdict::Ineligible(reason) = &judged.verdict {
        counters.ineligible.add(reason);
    }
}

/// Counts the bytes of a duplicate's body, if it is not stored.
pub(super) fn count_saved(
    judged: &Judged<'_>,
    exchange: &Exchange,
    places: &Places,
    saved: &mut SavedBytes,
) {
    if let Verdict::Duplicate(repeat) = &judged.verdict
        && !places.keep_body()
    {
        *saved.entry(repeat.tier.name().to_owned()).or_default() += exchange.body.len() as u64;
    }
}

/// Counts a visit that looks for what has changed on a page.
pub(super) fn count_checked(judged: &Judged<'_>, group: &mut Group<'_>) -> Result<(), Error> {
    let finding = match &judged.analysed.fetched.outcome {
        Outcome::Exchange(exchange) => {
            group.set.state.counters.bytes += exchange.body.len() as u64;
            match compare_again(judged, group)? {
                true => Finding::Unchanged,
                false => Finding::Changed,
            }
        }
        Outcome::Failed(_) => Finding::Unreachable,
    };
    group.set.state.counters.revisits.add(&finding);
    Ok(())
}
