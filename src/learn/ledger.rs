//! Ledgers: what is known of one kind of URLs of a host. A kind whose visits say nothing is closed:
//! its further URLs are deferred, and some of them are visited as samples. What a sample says opens
//! it again.

use serde::{Deserialize, Serialize};

use super::kinds::{KindId, Rule, Slot};

/// Distinct values of a slot that must agree before they speak for other values.
const VALUES: usize = 8;
/// Number of values that are told apart among the last visits that said nothing.
const MAX_VALUES: usize = 16;
/// Number of the last visits whose share of repetitions is known.
const WINDOW: u8 = 64;
/// Visits that said nothing up to which all URLs of a kind are visited.
const ENOUGH: u32 = 300;
/// Samples that said nothing after which a kind is finished: of a share of 2 % none is missed but
/// once in a hundred times, [`EARLY_SAMPLES`] aside, which are no uniform draw. Each stratum has
/// its part of them, so that this holds wherever in the kind that share is.
pub(super) const ENOUGH_DRAWN: u32 = 228 + EARLY_SAMPLES;
/// The same at least for the first stratum, however large the second one is: of a share of 5 % none
/// is missed but once in twenty times.
const ENOUGH_GOOD: u32 = 60;
/// The same for the second one, if the samples are pages and no copies.
const ENOUGH_POOR: u32 = 60;
/// Number of pages that must have been compared where each was the one of another URL byte for
/// byte and nothing offers the two as a choice, and how many of them must be samples at least.
const ENOUGH_CARRIED: u32 = 48;
const CARRIED_SAMPLES: u32 = 24;
/// Number of samples over which it is counted how many further URLs a kind gets, and the number for
/// each sample from which it may have no end.
const MEMORY: f32 = 32.0;
const GROWING: f32 = 0.25;
/// Number of samples from which on that is known, however many URLs a kind got before them:
/// `MEMORY * ln(1 / GROWING)` and some more.
const GROWTH_KNOWN: u32 = 48;
/// Number of URLs that are left of a kind up to which it is visited whole if it has an end.
const MAX_FINITE: u64 = 5_000;
/// Number of samples taken while other URLs of the host wait, since one last said something.
const EARLY_SAMPLES: u32 = 8;
/// Number of visits from which it is known whether the URLs of a kind say something as a rule, and
/// the share of them, in percent, that may have said nothing.
const RULE: u8 = 8;
const EXCEPTIONS: u32 = 5;
/// Number of lines with numbers that are remembered for a kind.
const MAX_SERIES: usize = 16;

/// Where a deferred URL was found: its stratum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stratum {
    /// On a page that said something, or in a sitemap.
    Good,
    /// On pages that said nothing only.
    Poor,
}

impl Stratum {
    /// Both, the one that is sampled first first.
    pub const ALL: [Self; 2] = [Self::Good, Self::Poor];

    fn index(self) -> usize {
        match self {
            Self::Good => 0,
            Self::Poor => 1,
        }
    }
}

/// What is known of one kind of a host's URLs: its row in `Learned`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// The name of the kind.
    pub name: String,
    /// The part of URLs that the kind is about, if it is about one.
    pub slot: Option<Slot>,
    /// One of its deferred URLs; empty if none was deferred.
    pub example: String,
    /// Whether its URLs are deferred.
    pub is_closed: bool,
    /// How many times it was opened after it had been closed.
    pub times: u16,
    /// Wider kinds, with which it shares samples while these are closed.
    pub wider: Vec<KindId>,
    /// Visits in a row that said nothing, in halves: one that a slot explains counts half.
    zeros: u32,
    /// Which of the last visits said nothing, one bit each.
    recent: u64,
    counted: u8,
    /// Values of the slot among the visits in a row that said nothing, with their number.
    values: Vec<(u32, u32)>,
    /// Number of its URLs that were deferred.
    pub deferred: u64,
    /// Number of its URLs that are deferred now, by stratum.
    pub left: [u64; 2],
    /// Number of its URLs that were deferred and are on their way back.
    pub returning: u64,
    /// Number of samples that were visited.
    pub sampled: u64,
    /// Number of these that said something.
    pub found: u64,
    /// Number of samples, by stratum, since one last said something.
    pub quiet: [u32; 2],
    /// Number of these samples that were pages, and no copies of others.
    pages: u32,
    /// Number of URLs that were deferred of late, the older ones counting less with each sample; at
    /// most [`MEMORY`], which is what one for each sample comes to. A kind of which many were found
    /// at once, as on an index, is not taken for one that grows.
    growth: f32,
    /// Number of visits that said nothing and were no samples, since one last said something.
    passed: u32,
    /// Samples taken early since one last said something.
    early: u32,
    /// The part of the kind that is open although the kind is closed, and the visits in a row that
    /// said nothing there.
    opened: Option<(u32, u32)>,
    /// The part of the first deferred URL, and whether others are in another one.
    part: Option<u32>,
    is_mixed: bool,
    /// What its pages say with numbers.
    series: Vec<Series>,
    /// Number of its pages that were found to be the one of another URL of the same reduced form,
    /// and of those where the slot was only carried along.
    compared: u32,
    carried: u32,
}

/// A line that pages of a kind have with other numbers each: the sums of its numbers on the last
/// two pages, each with the sum of the numbers in the page's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Series {
    letters: u32,
    points: [(u32, u32); 2],
}

impl Series {
    /// Whether a point lies on the line through the two known ones.
    fn has(&self, (x, y): (u32, u32)) -> bool {
        let [a, b] = self.points;
        let less = |one: u32, other: u32| i128::from(one) - i128::from(other);
        let is_in_line = less(b.0, a.0) * less(y, a.1) == less(b.1, a.1) * less(x, a.0);
        a.0 != b.0 && is_in_line
    }
}

/// What a visit changes about a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing that matters to other URLs.
    None,
    /// Its URLs are deferred from now on.
    Closed,
    /// Its URLs in this part are no longer deferred.
    PartOpened(u32),
    /// Its URLs are no longer deferred.
    Opened,
}

/// The part of a kind in what it shares with others.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Its part of their samples, 0 to 1.
    pub share: f64,
    /// Its samples at least.
    pub at_least: u32,
    /// Whether so few URLs are left of all of them that these may as well be visited.
    pub is_little: bool,
}

/// What becomes of a URL that is suspected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deferral {
    /// It is deferred.
    Row,
    /// It is visited as a sample, after everything else.
    Sample,
}

/// How much must agree before a kind is closed.
#[derive(Debug, Clone, Copy)]
pub struct Burden {
    /// The setting `learn.visits`.
    pub visits: u32,
    /// The setting `traps.max_duplicates`, in percent.
    pub max_duplicates: u8,
}

/// A visit as a kind sees it.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// The value of the slot.
    pub value: u32,
    /// The part of the kind in which the URL lies.
    pub part: u32,
    /// Whether the kind is about no slot, and the URL is a variant of a visited one by some slot.
    pub is_explained: bool,
}

impl Ledger {
    /// A kind of which nothing is known.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// A kind that is suspected from the start.
    pub fn closed(name: &str) -> Self {
        Self {
            is_closed: true,
            ..Self::new(name)
        }
    }

    /// Takes in a visit that was no sample.
    pub fn observe(&mut self, said: bool, seen: Seen, rule: Rule, burden: Burden) -> Change {
        let Seen { value, part, .. } = seen;
        self.passed = if said {
            0
        } else {
            self.passed.saturating_add(1)
        };
        if self.is_closed {
            return self.observe_closed(said, part, rule, burden);
        }
        self.recent = self.recent << 1 | u64::from(!said);
        self.counted = (self.counted + 1).min(WINDOW);
        if said {
            self.zeros = 0;
            self.values.clear();
            return Change::None;
        }
        self.zeros = self
            .zeros
            .saturating_add(if seen.is_explained { 1 } else { 2 });
        let known = self.values.iter().position(|(known, _)| *known == value);
        match known {
            Some(at) => self.values[at].1 += 1,
            None if self.values.len() < MAX_VALUES => self.values.push((value, 1)),
            None => {}
        }
        if !self.is_enough(rule, burden) {
            return Change::None;
        }
        self.is_closed = true;
        self.deferred = 0;
        self.forget_samples();
        Change::Closed
    }

    /// Takes in a visit of a URL that was admitted although the kind is closed.
    fn observe_closed(&mut self, said: bool, part: u32, rule: Rule, burden: Burden) -> Change {
        let needed = 2 * self.needed(rule, burden);
        match &mut self.opened {
            _ if said => return self.said_something(part),
            Some((open, zeros)) if *open == part => {
                *zeros += 1;
                if *zeros >= needed {
                    self.opened = None;
                    return Change::Closed;
                }
            }
            _ => {}
        }
        Change::None
    }

    fn needed(&self, rule: Rule, burden: Burden) -> u32 {
        let halves = match rule {
            Rule::Visits(halves) | Rule::Values(halves) => halves,
            Rule::Form => 1,
        };
        let needed = (burden.visits * halves).div_ceil(2).max(1);
        let doubled = needed.saturating_mul(1 << self.times.min(8));
        doubled.min(ENOUGH.max(needed))
    }

    fn is_enough(&self, rule: Rule, burden: Burden) -> bool {
        let needed = self.needed(rule, burden);
        let repeats = u32::from(self.counted == WINDOW) * self.recent.count_ones() * 100;
        let is_most = repeats > u32::from(WINDOW) * u32::from(burden.max_duplicates.min(100));
        match rule {
            Rule::Values(_) => {
                // One value speaks for itself only.
                let most = self.values.iter().map(|(_, times)| *times).max();
                self.zeros >= 2 * needed
                    && self.values.len() >= VALUES
                    && most.unwrap_or(0) <= self.zeros / 4
            }
            _ => self.zeros >= 2 * needed || is_most && self.times == 0,
        }
    }

    fn forget_samples(&mut self) {
        (self.quiet, self.pages) = ([0, 0], 0);
        self.early = 0;
        self.opened = None;
        (self.part, self.is_mixed) = (None, false);
        self.zeros = 0;
        self.values.clear();
        (self.recent, self.counted) = (0, 0);
    }

    /// Counts a page that is the one of another URL of the same reduced form.
    pub fn compare(&mut self, is_carried: bool) {
        self.compared = self.compared.saturating_add(1);
        self.carried = self.carried.saturating_add(u32::from(is_carried));
    }

    /// Whether the slot is carried along by the pages that link to a URL, and never mattered.
    fn is_carried(&self) -> bool {
        let is_most = u64::from(self.carried) * 20 >= u64::from(self.compared) * 19;
        is_most && self.compared > 0 && self.times == 0 && self.found == 0
    }

    /// Takes in a sample that said nothing.
    pub fn sample_said_nothing(&mut self, stratum: Stratum, is_page: bool) {
        self.sampled += 1;
        self.pages += u32::from(is_page);
        self.stay_quiet(stratum);
    }

    /// Counts a sample of this kind, or of a wider one that is of this kind too.
    pub fn stay_quiet(&mut self, stratum: Stratum) {
        self.growth *= 1.0 - 1.0 / MEMORY;
        self.quiet[stratum.index()] += 1;
    }

    /// Takes in that a sample, or what it led to, in this part of the kind said something. The
    /// first one opens its part, one in another part the kind; so does the first, if all is in one
    /// part.
    pub fn said_something(&mut self, part: u32) -> Change {
        if !self.is_closed {
            self.zeros = 0;
            return Change::None;
        }
        self.found += 1;
        (self.quiet, self.pages) = ([0, 0], 0);
        self.passed = 0;
        self.early = 0;
        match &mut self.opened {
            Some((open, zeros)) if *open == part => {
                *zeros = 0;
                return Change::None;
            }
            None if self.is_mixed => {
                self.opened = Some((part, 0));
                return Change::PartOpened(part);
            }
            _ => {}
        }
        self.open();
        Change::Opened
    }

    /// Takes back half a visit that said nothing: it led to what the page without the slot did not
    /// lead to. A page of a list leads to many such pages, a trap to one now and then. Of a closed
    /// kind the samples decide.
    pub fn led_further(&mut self) {
        self.zeros = self.zeros.saturating_sub(1);
    }

    /// Opens the kind: what was deferred of it comes back.
    pub fn open(&mut self) {
        self.is_closed = false;
        self.times = self.times.saturating_add(1);
        self.returning += self.left.iter().sum::<u64>();
        self.left = [0, 0];
        self.forget_samples();
    }

    /// Whether its URLs say something as a rule: they did on most of the last visits.
    pub fn says_something(&self) -> bool {
        let exceptions = self.recent.count_ones() * 100;
        let is_rule = exceptions <= u32::from(self.counted) * EXCEPTIONS;
        !self.is_closed && self.counted >= RULE && is_rule
    }

    /// Whether the kind is closed, but for parts in which something was found.
    pub fn defers(&self, part: u32) -> bool {
        self.is_closed && self.opened.is_none_or(|(open, _)| open != part)
    }

    /// Counts a URL of the kind that is suspected, and says what becomes of it.
    pub fn defer(&mut self, stratum: Stratum, part: u32, url: &str) -> Deferral {
        self.deferred += 1;
        self.growth = (self.growth + 1.0).min(MEMORY);
        self.is_mixed |= *self.part.get_or_insert(part) != part;
        if self.example.is_empty() {
            url.clone_into(&mut self.example);
        }
        let has_room = self.early < EARLY_SAMPLES && self.quiet_samples() < ENOUGH;
        if has_room && self.deferred.is_power_of_two() {
            self.early += 1;
            return Deferral::Sample;
        }
        self.left[stratum.index()] += 1;
        Deferral::Row
    }

    /// The generation of its deferred URLs: those of earlier ones come back.
    pub fn generation(&self) -> u8 {
        (self.times % 128) as u8
    }

    /// Number of samples since one last said something.
    pub fn quiet_samples(&self) -> u32 {
        self.quiet.iter().sum()
    }

    /// Number of its deferred URLs, and of those that were drawn since one last said something.
    pub fn known(&self) -> u64 {
        let quiet = self.quiet.iter().map(|it| u64::from(*it));
        self.left.iter().copied().chain(quiet).sum()
    }

    /// The stratum from which the next sample is drawn, and how many may be drawn; `None` if the
    /// kind is finished.
    pub fn next_stratum(
        &self,
        Part {
            share,
            at_least,
            is_little,
        }: Part,
    ) -> Option<(Stratum, u32)> {
        let [good, poor] = self.left;
        let [quiet_good, quiet_poor] = self.quiet;
        let quiet = self.quiet_samples();
        // Nobody has proved yet that they repeat one another.
        let are_pages = self.pages * 2 > quiet;
        let part = |of: u32| ((f64::from(of) * share).ceil() as u32).max(at_least.min(of));
        let (enough, drawn) = match self.is_carried() {
            true => {
                let enough = (ENOUGH_CARRIED + quiet).saturating_sub(self.compared);
                (quiet, enough.max(CARRIED_SAMPLES))
            }
            false => (part(ENOUGH), part(ENOUGH_DRAWN)),
        };
        let rest = enough.saturating_sub(quiet.saturating_add(self.passed));
        let (enough_good, enough_poor) = match are_pages {
            true => {
                let due = drawn.saturating_sub(quiet_good);
                (drawn, due.max(part(ENOUGH_POOR)))
            }
            false => {
                let share = (good + u64::from(quiet_good)) as f64 / self.known().max(1) as f64;
                let of_good = (f64::from(drawn) * share).ceil() as u32;
                let of_poor = drawn.saturating_sub(of_good);
                (of_good.max(part(ENOUGH_GOOD)), of_poor)
            }
        };
        let of_good = enough_good.saturating_sub(quiet_good);
        let of_poor = enough_poor.saturating_sub(quiet_poor);
        // What leads nowhere further has an end: it is visited, last of all, if it is no copy. Of
        // copies too, if little is left: not to visit it would spare little. So few are visited
        // also while nobody can tell yet whether there is an end.
        let ends = match self.growth < MEMORY * GROWING {
            true => is_little || are_pages && good + poor <= MAX_FINITE,
            false => good + poor <= u64::from(quiet) && quiet < GROWTH_KNOWN,
        };
        let [of_good, of_poor] = match good + poor <= u64::from(rest) || ends {
            true => self.left,
            false => [of_good, of_poor].map(u64::from),
        };
        let (stratum, most) = match (good.min(of_good), poor.min(of_poor)) {
            (0, 0) => return None,
            (0, of_poor) => (Stratum::Poor, of_poor),
            (of_good, _) => (Stratum::Good, of_good),
        };
        Some((stratum, u32::try_from(most).unwrap_or(u32::MAX)))
    }

    /// Counts URLs that were taken out of a stratum to be visited.
    pub fn drawn(&mut self, stratum: Stratum, count: u64) {
        let left = &mut self.left[stratum.index()];
        *left = left.saturating_sub(count);
    }

    /// The most that may be missed: the share of its deferred URLs that may say something of its
    /// own, with a confidence of 95 %; `None` if nothing is deferred.
    pub fn bound(&self) -> Option<f64> {
        let left = |stratum: Stratum| self.left[stratum.index()] as f64;
        // If they are in one stratum alone, the most of them can be missed.
        let share = |stratum: Stratum| {
            let quiet = f64::from(self.quiet[stratum.index()]);
            3.0 / quiet.max(3.0) * left(stratum)
        };
        let all: f64 = Stratum::ALL.map(left).iter().sum();
        let missed = Stratum::ALL.map(share).into_iter().fold(0.0, f64::max);
        (all > 0.0).then(|| missed / all)
    }

    /// Takes in a line with numbers. Returns `true` if these follow from the numbers of the URL, as
    /// on the pages before. Numbers are given as their sums.
    pub fn follows(&mut self, letters: u32, of_url: u32, of_line: u32) -> bool {
        let point = (of_url, of_line);
        let at = self.series.iter().position(|it| it.letters == letters);
        let known = at.map(|at| self.series.remove(at));
        let follows = known.is_some_and(|it| it.has(point));
        // The first one was not seen for the longest time.
        if self.series.len() >= MAX_SERIES {
            self.series.remove(0);
        }
        let last = known.map_or(point, |it| it.points[1]);
        self.series.push(Series {
            letters,
            points: [last, point],
        });
        follows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A closed kind with so many URLs in each stratum.
    fn closed(good: u64, poor: u64) -> Ledger {
        Ledger {
            is_closed: true,
            left: [good, poor],
            ..Ledger::default()
        }
    }

    /// The part of a kind that is alone on a small host.
    fn part_of(ledger: &Ledger, share: f64, at_least: u32) -> Part {
        Part {
            share,
            at_least,
            is_little: ledger.left.iter().sum::<u64>() <= u64::from(ledger.quiet_samples()),
        }
    }

    /// Draws samples that say nothing until the kind is finished; `grow` says how many URLs each of
    /// them adds. Returns how many were drawn of each stratum.
    fn draw(mut ledger: Ledger, is_page: bool, grow: u64) -> [u64; 2] {
        let mut drawn = [0, 0];
        while let Some((stratum, _)) = ledger.next_stratum(part_of(&ledger, 1.0, 0)) {
            ledger.drawn(stratum, 1);
            ledger.sample_said_nothing(stratum, is_page);
            drawn[stratum.index()] += 1;
            assert!(drawn[stratum.index()] < 10_000, "it does not end");
            for _ in 0..grow {
                ledger.deferred = 3;
                ledger.defer(Stratum::Poor, 0, "u");
            }
        }
        drawn
    }

    #[test]
    fn a_rule_has_few_exceptions() {
        let seen = Seen {
            value: 0,
            part: 0,
            is_explained: false,
        };
        let burden = Burden {
            visits: 12,
            max_duplicates: 90,
        };
        let told = |visits: &[bool]| {
            let mut ledger = Ledger::new("/goods/#");
            for said in visits {
                ledger.observe(*said, seen, Rule::Visits(2), burden);
            }
            ledger.says_something()
        };
        assert!(!told(&[true; 7]));
        assert!(told(&[true; 8]));
        assert!(told(&[&[false][..], &[true; 20]].concat()));
        assert!(!told(&[&[true; 20][..], &[false; 2]].concat()));
        assert!(!told(&[false; 40]));
    }

    #[test]
    fn each_stratum_has_its_part_of_the_samples() {
        assert_eq!(draw(closed(10_000, 0), false, 0), [236, 0]);
        assert_eq!(draw(closed(10_000, 10_000), false, 0), [118, 118]);
        assert_eq!(draw(closed(1_000, 99_000), false, 0), [60, 233]);
        assert_eq!(draw(closed(280, 20), false, 0), [280, 20]);
    }

    #[test]
    fn no_more_are_left_than_were_samples_but_of_what_grows() {
        assert_eq!(draw(closed(236 + 236, 0), false, 0), [472, 0]);
        assert_eq!(draw(closed(300, 172), false, 0), [300, 172]);
        assert_eq!(draw(closed(236 + 237, 0), false, 0), [236, 0]);
        assert!(draw(closed(200, 0), false, 1).iter().sum::<u64>() < 300);
    }

    /// Pages of a language that are copies, most of which an index lists at once: a kind that has
    /// its part of the samples of all such pages.
    #[test]
    fn what_was_found_at_once_does_not_grow() {
        let mut ledger = closed(0, 0);
        for n in 0..100 {
            // No early samples.
            ledger.deferred = 4;
            let deferral = ledger.defer(Stratum::Good, 0, &format!("/de/mod/{n}.html"));
            assert_eq!(deferral, Deferral::Row);
        }
        let mut drawn = 0;
        while let Some((stratum, _)) = ledger.next_stratum(part_of(&ledger, 0.3, 12)) {
            ledger.drawn(stratum, 1);
            // Every other one was drawn from among those of a wider kind.
            match drawn % 2 {
                0 => ledger.sample_said_nothing(stratum, false),
                _ => ledger.stay_quiet(stratum),
            }
            drawn += 1;
        }
        assert_eq!(drawn, 100);
    }

    #[test]
    fn little_is_left_only_of_what_grows() {
        let shared = |mut ledger: Ledger, grow: u64| {
            let mut drawn = 0;
            while let Some((stratum, _)) = ledger.next_stratum(part_of(&ledger, 0.01, 12)) {
                ledger.drawn(stratum, 1);
                ledger.sample_said_nothing(stratum, false);
                drawn += 1;
                for _ in 0..grow {
                    ledger.deferred = 4;
                    ledger.defer(Stratum::Poor, 0, "u");
                }
            }
            drawn
        };
        assert_eq!(shared(closed(13, 1), 0), 14);
        // One link to the next page on each.
        assert_eq!(shared(closed(0, 1), 1), GROWTH_KNOWN);
        assert_eq!(shared(closed(100, 0), 0), 12);
    }

    #[test]
    fn pages_that_lead_nowhere_are_visited_and_endless_ones_sampled() {
        assert_eq!(draw(closed(4_000, 900), true, 0), [4_000, 900]);
        let [good, poor] = draw(closed(4_000, 900), true, 1);
        assert_eq!((good, poor), (236, 60));
        assert_eq!(draw(closed(40_000, 0), true, 0), [236, 0]);
    }

    #[test]
    fn numbers_that_follow_from_the_url_are_told_from_others() {
        let mut ledger = Ledger::new("/list?from");
        let mut told = |from: u32, sum: u32| ledger.follows(7, from, sum);
        // "Results 11 to 20" at 10, and so on.
        assert!(!told(10, 31));
        assert!(!told(20, 51));
        assert!(told(30, 71));
        assert!(told(500, 1_011));
        assert!(told(40, 91));
        // A price.
        assert!(!told(41, 1_999));
        assert!(!told(42, 350));
        // One point says nothing about others.
        assert!(told(42, 350));
        assert!(!told(43, 351));
    }
}
