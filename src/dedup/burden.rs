//! The burden of proof: what the own parts of two pages must say before equal or similar texts make
//! one the duplicate of the other. The table of all rules is in `docs/dedup.md`.
//!
//! A page of its own that is called a duplicate is lost, and a duplicate that is kept costs a few
//! kilobytes. So whoever says *duplicate* has to prove it, at every tier above equal bytes.

use super::Tier;
use super::own::OwnComparison;

/// Least share of own words that two pages of one site must have in common. An edited copy at a
/// similarity of 0.93, four fifths of whose words are its own, has at least 1 - 0.07 / 0.8 = 0.91.
const OWN_SHARE: f32 = 0.85;
/// The same for pages of two sites, each with lines of its own around what they share: an edited
/// copy at 0.84 has at least 1 - 0.16 / 0.8 = 0.8.
const OWN_SHARE_ACROSS: f32 = 0.7;
/// Least share where the whole texts are equal and only images, data or form values differ.
const OWN_SHARE_OF_SAME_TEXT: f32 = 0.7;
/// Returns whether the own parts of two pages that match at a tier bear the match out.
pub(crate) fn is_borne_out(tier: Tier, own: OwnComparison, is_one_site: bool) -> bool {
    let least = match (tier, is_one_site) {
        (Tier::Raw, _) => return true,
        (Tier::Normalized, _) => OWN_SHARE_OF_SAME_TEXT,
        (Tier::Content | Tier::Near, true) => OWN_SHARE,
        (Tier::Content | Tier::Near, false) => OWN_SHARE_ACROSS,
    };
    match own {
        // Nothing is known of one of them, or there is nothing of their own: the whole texts and
        // the vetoes decide.
        OwnComparison::Equal | OwnComparison::Unknown => true,
        OwnComparison::Similar(share) => share >= least,
        OwnComparison::Restless(_) | OwnComparison::Differ => false,
    }
}

/// Returns whether they would, if the short lines in which the pages differ changed with each
/// fetch.
pub(super) fn may_be_borne_out(tier: Tier, own: OwnComparison, is_one_site: bool) -> bool {
    match own {
        OwnComparison::Restless(share) => {
            is_borne_out(tier, OwnComparison::Similar(share), is_one_site)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_parts_decide_above_equal_bytes() {
        let check = |tier, own, is_one_site, expected| {
            assert_eq!(
                is_borne_out(tier, own, is_one_site),
                expected,
                "{tier:?} {own:?}"
            );
        };
        for tier in Tier::ALL {
            for is_one_site in [false, true] {
                check(tier, OwnComparison::Equal, is_one_site, true);
                check(tier, OwnComparison::Unknown, is_one_site, true);
                check(tier, OwnComparison::Differ, is_one_site, tier == Tier::Raw);
            }
        }
        for (share, expected) in [(0.9, true), (0.8, false)] {
            let own = OwnComparison::Restless(share);
            check(Tier::Near, own, true, false);
            assert_eq!(may_be_borne_out(Tier::Near, own, true), expected);
        }
        check(Tier::Near, OwnComparison::Similar(0.9), true, true);
        check(Tier::Near, OwnComparison::Similar(0.8), true, false);
        check(Tier::Near, OwnComparison::Similar(0.8), false, true);
        check(Tier::Content, OwnComparison::Similar(0.5), false, false);
    }
}
