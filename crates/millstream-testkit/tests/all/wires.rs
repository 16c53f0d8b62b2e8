//! Blocks of named wires: their meaning, on every deployment, and the laws of the notation.

mod laws;
mod names;

use crate::graphs::{assert_slots, full};
use millstream_core::wires::{block, choose};
use millstream_core::{
    Arrow, ClockExt, FeedbackExt, KeysExt, Model, ModelExt, PartsExt, StreamsExt, Val, ViewExt, pipeline, wires,
    wires::WireExt,
};
use millstream_exec::{BoxBlock, BoxExt, JobExt, JobRefExt, Queues, Rings, Runner, sink};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
struct Order {
    id: u64,
    item: String,
    count: u64,
}

fn orders() -> Vec<Order> {
    let order = |(id, (item, count)): (u64, (&str, u64))| Order { id, item: item.to_owned(), count };
    (0..).zip([("tea", 2), ("coffee", 7), ("", 1), ("cocoa", 3), ("tea", 40)]).map(order).collect()
}

#[test]
fn parts_joins_and_choices_are_those_of_a_loop() {
    let p = wires!(|order: Val<Order>| {
        let item = order.part(|order| &order.item).filter(|item| !item.is_empty());
        let price = item.map(|item| item.len() as u64);
        let total = |order, price| order.count * price;
        let spent = total.scan(0, |spent, total| {
            *spent += total;
            *spent
        });
        let answer = if |total| *total > 20 {
            |order| format!("{} no", order.id)
        } else {
            let seen = price.scan(0, |seen, _| {
                *seen += 1;
                *seen
            });
            |order, seen| format!("{} yes {seen}", order.id)
        };
        (answer, spent)
    });
    let (mut spent, mut seen) = (0, 0);
    let orders = orders();
    let expected = orders.iter().map(|order| {
        if order.item.is_empty() {
            return None;
        }
        let total = order.count * order.item.len() as u64;
        spent += total;
        if total > 20 {
            return Some((format!("{} no", order.id), spent));
        }
        seen += 1;
        Some((format!("{} yes {seen}", order.id), spent))
    });
    let expected: Vec<_> = expected.chain([None]).collect();
    assert_slots(&p, orders.clone(), &expected);
}

#[test]
fn stages_have_the_names_of_their_wires() {
    let p = wires!(|x: Val<u64>| {
        let next = |x| x + 1;
        let turn = (|x, next| x < next).dedup();
        let side = if |turn| *turn {
            let far = |next| next + 10;
            far.map(|far| far + 1)
        } else {
            |x| x + 5
        };
        let kind = match next {
            1..=3 => |next| next + 1,
            _ if false => |next| next + 2,
            _ => |x| x + 2,
        };
        (side, kind)
    });
    let names: Vec<String> = p.plan().stages.into_iter().map(|stage| stage.name).collect();
    let expected = [
        "next",
        "turn.map-1",
        "turn",
        "side.if",
        "side.yes.far",
        "side.yes",
        "side.no",
        "kind.match",
        "kind.arm",
        "kind.else",
        "kind.else-2",
    ];
    assert_eq!(names, expected);
    let named: Vec<bool> = p.plan().stages.iter().map(|stage| stage.named_by_user).collect();
    assert_eq!(named.iter().filter(|named| !**named).count(), 1, "only the stage before the last of a statement");
    assert!(p.plan().warnings.is_empty(), "{:?}", p.plan().warnings);
}

#[test]
fn a_match_binds_parts_by_reference() {
    // Not `Clone`, so a copy would not compile.
    #[derive(Debug)]
    enum Event {
        Bought { item: String, count: u64 },
        Sold(String),
        Nothing,
    }
    let p = wires!(|event: Val<Event>| {
        match event {
            Event::Bought { item, count: n } if *n > 1 => {
                let shown = |item, n| format!("{n} {item}s");
                shown
            }
            Event::Bought { item, .. } => |item| format!("one {item}"),
            Event::Sold(item) => |item, event| format!("sold {item}: {event:?}"),
            Event::Nothing => |event| format!("{event:?}"),
        }
    });
    let events = || {
        let item = |text: &str| text.to_owned();
        [
            Event::Bought { item: item("tea"), count: 2 },
            Event::Nothing,
            Event::Bought { item: item("pot"), count: 1 },
            Event::Sold(item("cup")),
        ]
    };
    let expected = ["2 teas", "Nothing", "one pot", "sold cup: Sold(\"cup\")"];
    assert_eq!(p.model(events()), expected);
    assert_eq!(Rings::new().ring(2).collect((&p).from(events())).unwrap(), expected);
}

#[test]
fn a_match_of_many_arms_reads_its_wire_once_an_arm() {
    let p = wires!(|x: Val<u64>| {
        match x {
            0 => |x| 10,
            1 => |x| x + 20,
            2 => |x| x + 30,
            n @ 3..=5 => |n, x| n * x,
            6 => |x| x + 60,
            7 => |x| x + 70,
            8 => |x| x + 80,
            n if n % 2 == 0 => |n| n / 2,
            _ => |x| 3 * x + 1,
        }
    });
    let expected = |x: u64| match x {
        0 => 10,
        n @ 3..=5 => n * n,
        1 | 2 | 6 | 7 | 8 => x + 10 * (x + u64::from(x < 3)),
        n if n % 2 == 0 => n / 2,
        _ => 3 * x + 1,
    };
    assert_slots(&p, 0..30, &full((0..30).map(expected)));
    let plan = p.plan();
    assert!(plan.stages.iter().all(|stage| stage.reads.len() <= 4), "{plan}");
    assert_eq!(plan.stages.len(), 10);
}

#[test]
fn maybe_is_a_left_join_and_or_a_default() {
    let p = wires!(|x: Val<u64>| {
        let even = x.filter(|x| x % 2 == 0);
        let third = even.filter_map(|x| x.is_multiple_of(3).then(|| x * 100));
        let either = third.or(even);
        (x, even.maybe(), either.maybe())
    })
    .map(|(x, even, either)| (*x, even.copied(), either.copied()));
    let expected = full((0..9_u64).map(|x| {
        let even = (x % 2 == 0).then_some(x);
        (x, even, if x % 6 == 0 { Some(x * 100) } else { even })
    }));
    assert_slots(&p, 0..9, &expected);
}

#[test]
fn maybe_leaves_end_as_it_was() {
    let every = pipeline::<u64>().filter(|x| x % 2 == 0).maybe().map(|x| x.copied());
    assert_slots(&every, 0..3, &[Some(Some(0)), Some(None), Some(Some(2)), None]);
    let answer = pipeline::<u64>().fold(0, |sum, x| *sum += x, |sum| sum).maybe().map(|x| x.copied());
    assert_slots(&answer, 0..3, &[Some(None), Some(None), Some(None), Some(Some(3))]);
}

#[test]
fn end_is_a_slot_as_any() {
    let p = wires!(|x: Val<u64>| {
        let sum = x.fold(0, |sum, x| *sum += x, |sum| sum);
        let count = x.fold(0_u64, |count, _| *count += 1, |count| count);
        let mean = (sum, count).map(|(sum, count)| sum / count);
        (mean.or(x), mean.maybe())
    })
    .map(|(x, mean)| (*x, mean.copied()));
    let below = (1..=5_u64).map(|x| Some((x, None)));
    assert_slots(&p, 1..=5, &below.chain([Some((3, Some(3)))]).collect::<Vec<_>>());
}

#[test]
fn blocks_are_bodies_of_shards_of_keys_and_of_loops() {
    let sharded = pipeline::<u64>()
        .shard(
            3,
            wires!(|x| {
                let odd = x.filter(|x| x % 2 == 1);
                let square = |x| x * x;
                if |square| *square > 20 { |x, square| x + square } else { odd.map(|odd| odd + 1000) }
            }),
        )
        .map(|x| *x);
    let slot = |x: u64| if x * x > 20 { Some(x + x * x) } else { (x % 2 == 1).then_some(x + 1000) };
    let expected: Vec<_> = (0..20).map(slot).chain([None]).collect();
    assert_slots(&sharded, 0..20, &expected);

    let keyed = pipeline::<u64>().shard_by(
        |x| x % 3,
        2,
        wires!(|x| {
            let count = x.scan(0_u64, |n, _| {
                *n += 1;
                *n
            });
            |x, count| (*x, *count)
        }),
    );
    assert_slots(&keyed, 0..7, &full((0..7).map(|x| (x, x / 3 + 1))));

    let turns = wires!(|x: Val<u64>| {
        let turn = (if |x| *x > 3 { |x| *x > 9 } else { |x| true }).dedup();
        (x, turn)
    });
    assert_eq!(turns.model([1, 2, 5, 7, 11]), [(1, true), (5, false), (11, true)]);

    let looped = pipeline::<u64>().feedback(
        0,
        wires!(|both| {
            let (x, state) = both;
            let sum = |x, state| x + state;
            (sum, sum)
        }),
    );
    assert_slots(&looped.map(|x| *x), 1..5, &full([1, 3, 6, 10]));
}

#[test]
fn tuples_have_up_to_eight_wires_and_closures_too() {
    let p = wires!(|x: Val<u64>| {
        let (a, b, c) = (|x| x + 1, |x| x + 2, |x| x + 3);
        let (d, e, f) = (|a| a * 10, |b| b * 10, |c| c * 10);
        let g = |a, b, c, d, e, f, x| a + b + c + d + e + f + x;
        let h = |a, b, c, d, e, f, g, &x| vec![*a, *b, *c, *d, *e, *f, *g, x];
        (h, (a, b, c, d, e, f, g, x).map(|(a, .., x)| a + x))
    });
    let expected = full((0..3_u64).map(|x| {
        let (a, b, c) = (x + 1, x + 2, x + 3);
        let g = 11 * (a + b + c) + x;
        (vec![a, b, c, a * 10, b * 10, c * 10, g, x], a + x)
    }));
    assert_slots(&p, 0..3, &expected);
}

#[test]
fn an_underscore_is_no_wire_of_a_lane() {
    let p = wires!(|x: Val<u64>| {
        let _ = |x| x + 1;
        let (_, next) = (|x| x + 2, |x| x + 3);
        match x {
            1 => |next| *next,
            _ => |x| *x,
        }
    });
    assert_eq!(p.model([1, 2]), [4, 2]);
}

#[test]
fn effects_are_statements_and_wires_that_nothing_reads_hold_nothing_back() {
    let (kept, output) = sink::with_output(sink::collect());
    let p = wires!(|x: Val<u64>| {
        let next = |x| x + 1;
        next.tee_to("next", kept.clone());
        let _unread = next.scan(0, |sum, x| {
            *sum += x;
            *sum
        });
        x.filter(|x| x % 2 == 0)
    });
    for _ in 0..2 {
        assert_eq!(Rings::new().ring(1).collect((&p).from(0..6)).unwrap(), [0, 2, 4]);
        assert_eq!(output.take(), Some(vec![1, 2, 3, 4, 5, 6]));
        assert_eq!(Queues::new().capacity(1).collect((&p).from(0..6)).unwrap(), [0, 2, 4]);
        assert_eq!(output.take(), Some(vec![1, 2, 3, 4, 5, 6]));
    }
}

/// `stock` waits until `price` has the same number: in a nest of pairs `price` would wait for `stock`.
#[test]
fn a_stage_does_not_wait_for_a_wire_that_it_does_not_read() {
    let (priced, prices) = channel();
    let prices = Arc::new(Mutex::new(prices));
    let p = wires!(|x: Val<u64>| {
        let stock = x.map_blocking(move |x| {
            let price: u64 = prices.lock().unwrap().recv_timeout(Duration::from_secs(60)).expect("a price");
            assert_eq!(price, x + 1);
            *x
        });
        let price = x.map_blocking(move |x| {
            priced.send(x + 1).unwrap();
            x + 1
        });
        (stock, price)
    });
    for _ in 0..2 {
        let expected: Vec<(u64, u64)> = (0..20).map(|x| (x, x + 1)).collect();
        assert_eq!(Rings::new().ring(1).collect((&p).from(0..20)).unwrap(), expected);
        assert_eq!(Queues::new().capacity(1).collect((&p).from(0..20)).unwrap(), expected);
    }
}

/// A wire does not affect stages that do not read it: an empty slot of one wire is not empty in another.
#[test]
fn a_wire_has_no_empty_slots_of_a_wire_that_it_does_not_read() {
    let p = wires!(|x: Val<u64>| {
        let even = x.filter(|x| x % 2 == 0);
        let tens = |x| x * 10;
        let halves = |even| even / 2;
        (tens, halves.maybe())
    });
    assert_eq!(p.model(1..4), [(10, None), (20, Some(1)), (30, None)]);
}

#[test]
fn blocks_without_the_macro_and_in_boxes_are_the_same() {
    enum Here {}
    let macro_made = wires!(|x: Val<u64>| {
        let even = |x| x % 2 == 0;
        let next = if even { |x| x / 2 } else { |x| 3 * x + 1 };
        (x, next)
    });
    let (w, x) = block::<Val<u64>, Here>();
    let (w, even) = w.wire("even", x.map(|x| x % 2 == 0));
    let next = choose(even, |yes, w| w.lane(yes.see(x).map(|x| x / 2)), |no, w| w.lane(no.see(x).map(|x| 3 * x + 1)));
    let (w, next) = w.wire("next", next);
    let by_hand = w.emit((x, next));
    let (mut w, x) = BoxBlock::<Val<u64>, Here>::new();
    let even = w.wire("even", x.map(|x| x % 2 == 0));
    let next = choose(even, |yes, w| w.lane(yes.see(x).map(|x| x / 2)), |no, w| w.lane(no.see(x).map(|x| 3 * x + 1)));
    let next = w.wire("next", next);
    let boxed = w.emit((x, next));
    assert_eq!(by_hand.plan(), macro_made.plan());
    assert_eq!(boxed.plan(), macro_made.plan());
    assert_slots(&by_hand, 3..6, &full([(3, 10), (4, 2), (5, 16)]));
    let boxed = boxed.map(|(x, next)| (*x, *next)).boxed();
    assert_eq!(boxed.model(3..6), [(3, 10), (4, 2), (5, 16)]);
    assert_eq!(Rings::new().collect((&boxed).from(3..6)).unwrap(), [(3, 10), (4, 2), (5, 16)]);
}

#[test]
fn a_stage_that_renumbers_comes_after_a_block() {
    let p = wires!(|x: Val<u64>| {
        let next = |x| x + 1;
        |x, next| vec![*x, *next]
    })
    .flat_map(|both: &Vec<u64>| both.clone());
    assert_slots(&p, 0..3, &full([0, 1, 1, 2, 2, 3]));
}

#[test]
fn three_hundred_statements_are_a_block() {
    enum Here {}
    let (mut w, x) = BoxBlock::<Val<u64>, Here>::new();
    let mut last = w.wire("first", x.map(|x| *x).any_edge());
    for n in 0..300 {
        last = w.wire(format!("sum-{n}"), (x, last).map(|(x, last)| x + last).any_edge());
    }
    let p = w.emit(last);
    assert_eq!(p.plan().stages.len(), 301);
    assert_eq!(p.model([1, 2]), [301, 602]);
    assert_eq!(Rings::new().collect((&p).from([1, 2])).unwrap(), [301, 602]);
}

#[test]
fn the_model_runs_a_block_beside_the_others() {
    let p = wires!(|x: Val<u64>| {
        let next = |x| x + 1;
        (x, next)
    });
    assert_eq!(Model.collect_slots(p.from(0..2)).unwrap(), full([(0, 1), (1, 2)]));
}
