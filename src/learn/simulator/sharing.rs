//! Kinds that share their samples.

use super::*;

/// A kind that is wider than the others.
const WIDE: KindId = 1_000;

/// Closes 20 kinds of so many URLs each and a wider one of `wide`, of which `found` samples have
/// said something, at a host of so many URLs.
fn closed(each: u64, wide: u64, found: u64, urls: u64) -> Memory {
    let mut memory = Memory {
        sequence: urls,
        ..Memory::default()
    };
    for kind in (0..20).chain([WIDE]) {
        let mut ledger = Ledger::closed("kind");
        ledger.left = [if kind == WIDE { wide } else { each }, 0];
        if kind == WIDE {
            ledger.found = found;
        } else {
            ledger.wider = vec![WIDE];
        }
        memory.write(kind, &ledger);
        memory.suspicions().unwrap().closed.push(kind);
    }
    memory
}

/// Number of samples that are drawn, all of which say nothing.
fn drawn(mut memory: Memory) -> u32 {
    let mut drawn = 0;
    while let Some(draw) = next_draw(&mut memory).unwrap() {
        drawn += draw.most;
        let mut ledger = memory.ledger(draw.kind).unwrap().unwrap();
        ledger.drawn(draw.stratum, u64::from(draw.most));
        for _ in 0..draw.most {
            ledger.sample_said_nothing(draw.stratum, false);
        }
        memory.write(draw.kind, &ledger);
    }
    drawn
}

#[test]
fn what_a_wider_kind_has_said_does_not_make_the_others_dearer() {
    let shared = drawn(closed(500, 5_000, 0, 0));
    let apart = drawn(closed(500, 5_000, 1, 0));
    assert!((236..500).contains(&shared), "{shared}");
    assert!(apart < shared + 236, "{apart}, {shared}");
}

/// As the parts of a manual that are not translated, or are but for a few pages.
#[test]
fn kinds_of_which_little_is_left_together_are_visited_whole() {
    assert_eq!(drawn(closed(0, 460, 0, 0)), 460);
    assert_eq!(drawn(closed(15, 160, 0, 0)), 460);
    // Little for a host of many URLs, and not for one of few.
    assert_eq!(drawn(closed(100, 1_000, 0, 24_000)), 3_000);
    assert!(drawn(closed(100, 1_000, 0, 5_000)) < 1_000);
}
