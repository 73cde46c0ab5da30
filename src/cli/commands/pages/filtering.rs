//! `gleaner pages --filter`: leaves out pages whose texts do not pass filters for corpora, and
//! tells how many.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::cli::output::Screen;
use crate::quality::{Filter, Judgement, Quality, Reason};

/// Reads the name of a filter.
pub(super) fn parse(name: &str) -> Result<Filter, String> {
    Filter::named(name).ok_or_else(|| "there are gopher, c4 and fineweb".to_owned())
}

/// The filters that are asked, and what they said.
pub(super) struct Filtering {
    /// Each once, in the order of [`Filter::ALL`].
    filters: Vec<Filter>,
    /// Locked for an addition.
    said: Mutex<Said>,
}

#[derive(Default)]
struct Said {
    pages: u64,
    out: BTreeMap<Filter, BTreeMap<Reason, u64>>,
    without_text: u64,
    /// Pages that are kept because a filter cannot judge their language.
    open: u64,
}

impl Filtering {
    pub(super) fn new(asked: &[Filter]) -> Self {
        let filters = Filter::ALL.into_iter().filter(|it| asked.contains(it));
        Self {
            filters: filters.collect(),
            said: Mutex::default(),
        }
    }

    /// Whether a page is to be printed. Without a text it is not, if there are filters.
    pub(super) fn passes(&self, quality: Option<&Quality>) -> bool {
        if self.filters.is_empty() {
            return true;
        }
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.pages += 1;
        let Some(quality) = quality else {
            said.without_text += 1;
            return false;
        };
        let mut is_open = false;
        for filter in &self.filters {
            match filter.judge(quality) {
                Judgement::Kept => {}
                Judgement::Open => is_open = true,
                Judgement::Out(reason) => {
                    let reasons = said.out.entry(*filter).or_default();
                    *reasons.entry(reason).or_default() += 1;
                    return false;
                }
            }
        }
        said.open += u64::from(is_open);
        true
    }

    /// Says at the end what was left out.
    pub(super) fn tell(&self, screen: &Screen) {
        if self.filters.is_empty() {
            return;
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.lines().iter().for_each(|line| screen.say(line));
    }
}

impl Said {
    fn lines(&self) -> Vec<String> {
        let by_filter = self.out.values().flat_map(BTreeMap::values);
        let out = by_filter.sum::<u64>() + self.without_text;
        let mut lines = vec![format!("filtered out: {out} of {} pages", self.pages)];
        for (filter, reasons) in &self.out {
            let sum: u64 = reasons.values().sum();
            let named = reasons
                .iter()
                .map(|(reason, count)| format!("{} {count}", reason.name()));
            let named: Vec<String> = named.collect();
            lines.push(format!("  {filter}: {sum} ({})", named.join(", ")));
        }
        if self.without_text > 0 {
            lines.push(format!("  without a text: {}", self.without_text));
        }
        if self.open > 0 {
            lines.push(format!(
                "kept although a filter cannot judge their language: {}",
                self.open
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quality::measure;

    #[test]
    fn what_is_left_out_is_told_by_filter_and_reason() {
        let filtering = Filtering::new(&[Filter::FineWeb, Filter::Gopher]);
        let passes = |text: &str, language| filtering.passes(Some(&measure(text, Some(language))));
        assert!(!passes("Too short.", "en"));
        assert!(!passes("Too short.", "en"));
        assert!(!passes(&"word ".repeat(70), "de"));
        assert!(!filtering.passes(None));
        assert!(passes(
            "港は小さな町にあり、多くの人がそこで働いている。そして海を見る。",
            "ja"
        ));
        let said = filtering.said.lock().unwrap();
        assert_eq!(
            said.lines(),
            [
                "filtered out: 4 of 5 pages",
                "  gopher: 3 (gopher_short_doc 2, top_2_gram 1)",
                "  without a text: 1",
                "kept although a filter cannot judge their language: 1",
            ]
        );
        assert!(Filtering::new(&[]).passes(None));
        assert!(parse("c4").is_ok() && parse("c5").is_err());
    }
}
