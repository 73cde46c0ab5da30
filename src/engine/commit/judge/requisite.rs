//! Judges the visit of a requisite: it is archived and leads to what it needs itself. It is no
//! page, so it is compared by its bytes only, and nothing is learned from it.

use super::super::compare::find_same;
use super::super::effects::VisitEffects;
use super::super::group::Group;
use super::super::lines::log_line;
use super::super::losses::refused;
use super::{End, Judge, acknowledge, record, try_again, verdict_of_failure};
use crate::engine::Error;
use crate::engine::admission::{follow_moved_requisite, follow_requisites};
use crate::engine::again::note_since;
use crate::engine::commit::not_judged;
use crate::engine::learned::requisites::closed;
use crate::engine::visit::{Analysed, Judged, Since};
use crate::fetch::{Exchange, Failure, FailureClass, Outcome};
use crate::frontier::RequisiteOf;
use crate::rows::{Fate, Reason, ReasonKind, VisitVerdict};

impl Judge<'_> {
    /// Judges the visit of a requisite.
    pub(super) fn requisite(
        &self,
        analysed: &Analysed,
        of: RequisiteOf,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let mut judged = not_judged(analysed);
        // Whatever pages are kept: it is fetched for nothing but the archive.
        judged.keep = Some(true);
        judged.must_be_whole = matches!(analysed.since, Some(Since::Lost));
        find_same(&mut judged, self.bodies.forms(), group)?;
        let (effects, end) = match self.retry(&judged) {
            Some(retry) => (try_again(&judged, retry, self.gate, group)?, End::Again),
            None => (self.requisite_done(&judged, of, group)?, End::Done),
        };
        acknowledge(&judged, effects, end, self.gate, group)
    }

    fn requisite_done(
        &self,
        judged: &Judged<'_>,
        of: RequisiteOf,
        group: &mut Group<'_>,
    ) -> Result<VisitEffects, Error> {
        let mut effects = VisitEffects::default();
        let mut line = log_line(judged);
        let mut document = None;
        let task = &judged.analysed.fetched.task;
        let fate = match &judged.analysed.fetched.outcome {
            Outcome::Failed(failure) => {
                line.verdict = verdict_of_failure(failure);
                note_failure(failure, &task.queued.url, group);
                Fate::failed(
                    task.queued.purpose,
                    failure.class.name(),
                    failure.message.clone(),
                    None,
                )
            }
            Outcome::Exchange(exchange) => {
                line.verdict = VisitVerdict::Requisite;
                line.original = judged.same_payload.as_ref().map(|same| same.url.clone());
                document = self.archive(judged, exchange, &mut effects, group);
                note_answer(judged, exchange, group);
                if exchange.is_redirect() {
                    follow_moved_requisite(self.gate, task, of, exchange, group)?;
                } else {
                    let requisites = &judged.analysed.requisites;
                    follow_requisites(self.gate, task, requisites, group)?;
                }
                Fate::Requisite {
                    of,
                    status: exchange.status,
                    mime: exchange.mime(),
                    size: exchange.body.len() as u64,
                }
            }
        };
        note_since(judged.analysed, &self.gate.identity, group);
        closed(of.page, of.reading, &mut group.set)?;
        group
            .set
            .put_page(task.queued.id, record(judged, fate), document);
        effects.page = Some(task.queued.id);
        effects.line = Some(line);
        Ok(effects)
    }
}

fn note_failure(failure: &Failure, url: &str, group: &mut Group<'_>) {
    let counters = &mut group.set.state.counters.requisites;
    if failure.class == FailureClass::Robots {
        counters.forbidden += 1;
    } else {
        counters.failed += 1;
        counters.failures.add(&failure.class);
    }
    let reason = Reason::of_failure(failure.class.name(), &failure.message);
    let kind = ReasonKind::FailedRequisite;
    group.set.leave_out(Reason { kind, ..reason }, url);
}

fn note_answer(judged: &Judged<'_>, exchange: &Exchange, group: &mut Group<'_>) {
    let counters = &mut group.set.state.counters.requisites;
    counters.fetched += 1;
    counters.same += u64::from(judged.same_payload.is_some());
    counters.bytes += exchange.body.len() as u64;
    *counters.statuses.entry(exchange.status / 100).or_default() += 1;
    if let Some(name) = refused(exchange.status) {
        let kind = ReasonKind::RefusedRequisite;
        let url = &judged.analysed.fetched.task.queued.url;
        group.set.leave_out(Reason { kind, name }, url);
    }
}
