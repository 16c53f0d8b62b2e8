//! Names in blocks of wires.

use crate::graphs::{assert_slots, full};
use millstream_core::{Arrow, ModelExt, StreamsExt, Val, pipeline, wires};
use std::collections::BTreeMap;

/// The names of the stages, of which there is nothing to warn, and whose states can be found again.
fn names(p: &impl Arrow) -> Vec<String> {
    let plan = p.plan();
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    assert_eq!(plan.check_durable(), Ok(()));
    plan.stages.into_iter().map(|stage| stage.name).collect()
}

/// A wire has the name of a function, and the value has that of an item which the macro once had.
#[test]
fn names_of_paths_are_no_wires() {
    #[derive(Clone, Debug, PartialEq)]
    struct Here(u64);
    #[derive(Clone, Debug, PartialEq)]
    struct InLane(u64);
    let p = wires!(|here: Val<Here>| {
        let max = here.map(|here: &Here| here.0).scan(0, |max, x| {
            *max = u64::max(*max, *x);
            *max
        });
        let capped = |here| std::cmp::min(here.0, 10).max(u64::max(2, 3));
        let side = if |capped| *capped > 5 { |capped| InLane(*capped) } else { |capped| InLane(u64::max(*capped, 4)) };
        (max, side)
    });
    let slots = p.model([1, 20, 7].map(Here));
    let expected = [(1, 4), (20, 10), (20, 7)].map(|(max, side)| (max, InLane(side)));
    assert_eq!(slots, expected);
}

/// A name that the user sets is the stage's, also if it is that of the wire.
#[test]
fn a_stage_may_be_named_as_its_wire() {
    let sums = wires!(|x: Val<u64>| {
        let total = x
            .map(|x| x + 1)
            .scan(0, |sum, x| {
                *sum += x;
                *sum
            })
            .named("total")
            .state_version(2);
        let twice = total.map(|total| total * 2).named("doubled");
        let twice = twice.dedup();
        (total, twice)
    });
    assert_eq!(names(&sums), ["total.map-1", "total", "doubled", "twice"]);
}

/// The name of a block is that of its last stage, which may have it from its wire.
#[test]
fn a_block_may_be_named_as_its_last_wire() {
    let p = wires!(|x: Val<u64>| {
        let last = x.dedup();
        last
    });
    assert_eq!(names(&p.named("last")), ["last"]);
}

/// Wherever that stage is: another one may come after it, and the result may be what comes in.
#[test]
fn a_block_is_named_by_what_it_yields() {
    let p = wires!(|x: Val<u64>| {
        let out = x.map(|x| x + 1);
        let seen = x.map(|x| x + 2);
        let _after = seen.map(|x| x + 3);
        out
    });
    assert_eq!(names(&p.named("result")), ["result", "seen", "_after"]);
    let same = wires!(|x: Val<u64>| {
        let _after = x.map(|x| x + 1);
        x
    });
    assert_eq!(names(&pipeline::<u64>().map(|x| x + 2).then(same).named("before")), ["before", "_after"]);
}

#[test]
fn a_type_of_an_edge_may_have_commas() {
    let p = wires!(|x: Val<Result<u64, String>>| {
        let good = |x: &Result<u64, String>| x.is_ok();
        |x: &Result<u64, String>, good: &bool| (*good, x.clone().unwrap_or_default())
    });
    assert_eq!(p.model([Ok(3), Err("no".to_owned())]), [(true, 3), (false, 0)]);
}

/// One arm chooses nothing: it takes a value apart, and its block is written once.
#[test]
fn a_match_of_one_arm_takes_a_value_apart() {
    struct Prices(BTreeMap<&'static str, u64>);
    let prices = Prices(BTreeMap::from([("tea", 5), ("pot", 7)]));
    let p = wires!(|order: Val<(u64, String)>| {
        let item = |order| order.1.len();
        let total = match order {
            (count, item) => {
                let sum = count
                    .scan(0, |sum, count| {
                        *sum += count;
                        *sum
                    })
                    .named("sum");
                let price = item.map(move |item: &String| prices.0[&**item]);
                |sum, price| sum * price
            }
        };
        (total, item)
    });
    assert_eq!(names(&p), ["item", "sum", "price", "total"]);
    let orders = [(2, "tea".to_owned()), (3, "pot".to_owned())];
    assert_slots(&p, orders, &full([(10, 3), (35, 3)]));
}

#[test]
fn each_match_of_a_tuple_reads_its_own_wire() {
    let p = wires!(|x: Val<u64>| {
        let half = |x| x / 2;
        let both = (
            match x {
                0 => |x| 10,
                _ => |x| *x,
            },
            match half {
                0 => |half| 20,
                _ => |half| *half,
            },
        );
        both
    });
    assert_eq!(p.model(0..4), [(10, 20), (1, 20), (2, 1), (3, 1)]);
}

/// The compiler's limit on nested types holds for a group of statements: a block has none.
#[test]
fn statements_without_a_name_are_grouped() {
    macro_rules! effects {
        ($($n:literal)*) => {
            wires!(|x: Val<u64>| {
                $( x.map(|x| x + $n); x.map(|x| x + $n); x.map(|x| x + $n); x.map(|x| x + $n); )*
                x
            })
        };
    }
    let p = effects!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34);
    assert_eq!(p.plan().stages.len(), 140);
}
