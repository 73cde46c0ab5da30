//! Kinds that share their samples.

use super::*;

/// Number of samples that are drawn of 20 kinds of 500 URLs and a wider one of 5,000, of which this
/// many have said something. What is drawn says nothing.
fn drawn_of_kinds_that_share(found: u64) -> u32 {
    const WIDE: KindId = 1_000;
    let mut memory = Memory::default();
    for kind in (0..20).chain([WIDE]) {
        let mut ledger = Ledger::closed("kind");
        ledger.left = [if kind == WIDE { 5_000 } else { 500 }, 0];
        if kind == WIDE {
            ledger.found = found;
        } else {
            ledger.wider = vec![WIDE];
        }
        memory.write(kind, &ledger);
        memory.suspicions().unwrap().closed.push(kind);
    }
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
    let shared = drawn_of_kinds_that_share(0);
    let apart = drawn_of_kinds_that_share(1);
    assert!((236..500).contains(&shared), "{shared}");
    assert!(apart < shared + 236, "{apart}, {shared}");
}
