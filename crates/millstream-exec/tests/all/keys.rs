//! A state for every key: the same output for every number of tasklets, bounds on keys, and keys that are parked.

use millstream_core::{
    Arrow, Bound, DeadLetter, Fault, FeedbackExt, Item, KeysExt, ModelExt, SequenceNumber, StableHasher, Val, pipeline,
};
use millstream_exec::{
    Deployable, Edge, Everywhere, Inline, JobExt, JobRefExt, Migrations, Pipeline, Queues, RingShape, Rings, RunError,
    RunOutcome, Runner, RunsOn, sink, source,
};
use std::hash::{Hash, Hasher};
use std::sync::mpsc;

const N: u64 = 3_000;

fn mixed(x: u64) -> u64 {
    x.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

fn slots<P, R>(on: &R, p: &P) -> Vec<(u64, u64)>
where
    P: Arrow<In = Val<u64>, Out: Edge<u64>> + RunsOn<R, Item = u64>,
    R: Runner,
{
    let put = |all: &mut Vec<(u64, u64)>, number: SequenceNumber, x: &u64| all.push((number.0, *x));
    on.run(p.from(source::ready((0..N).map(mixed))).to_fold(Vec::new(), put)).unwrap().0
}

/// Balances, one a key, after a stateless stage and a loop.
fn balances(k: usize) -> impl Pipeline<u64, u64> + Everywhere {
    pipeline::<u64>().shard_by(
        |x| x % 97,
        k,
        |p| {
            p.map(|x| x >> 7)
                .scan(1_u64, |sum, x| {
                    *sum = sum.wrapping_mul(31).wrapping_add(*x);
                    *sum
                })
                .feedback(7, |p| p.map(|(x, last): (&u64, &u64)| (x ^ last.rotate_left(5), x.wrapping_add(*last))))
                .map(|x| *x)
        },
    )
}

#[test]
fn every_k_on_every_deployment_equals_a_map_of_states() {
    let mut states = std::collections::HashMap::new();
    let expected: Vec<(u64, u64)> = (0..N)
        .map(|n| {
            let (sum, last) = states.entry(mixed(n) % 97).or_insert((1_u64, 7_u64));
            *sum = sum.wrapping_mul(31).wrapping_add(mixed(n) >> 7);
            let given = *sum ^ last.rotate_left(5);
            *last = sum.wrapping_add(*last);
            (n, given)
        })
        .collect();
    for k in [1, 2, 3, 8] {
        let p = balances(k);
        for (ring, workers) in [(1, 1), (4, 2), (1024, 3)] {
            assert!(slots(&Rings::new().ring(ring).workers(workers), &p) == expected, "{k} on {workers}, {ring} slots");
        }
        assert!(slots(&Inline::new(Rings::new()), &p) == expected, "{k} inline");
        assert!(slots(&Queues::new().capacity(4), &p) == expected, "{k} on queues");
    }
}

#[test]
fn the_model_equals_a_map_of_states_too() {
    let p = pipeline::<u64>().shard_by(
        |x| x % 7,
        3,
        |p| {
            p.scan(0, |sum, x| {
                *sum += x;
                *sum
            })
        },
    );
    let model = p.model(0..100);
    let expected: Vec<u64> = (0..100).map(|n| (0..=n).filter(|x| x % 7 == n % 7).sum()).collect();
    assert_eq!((model, p.collect(0..100).unwrap()), (expected.clone(), expected));
}

fn counted<P: Deployable + Arrow<In = Val<u64>, Out: RingShape>>(p: &P, input: Vec<u64>) -> (Option<u64>, RunOutcome) {
    let (_, report) = Rings::new().run(p.from(source::ready(input)).to_each(|_, _| ())).unwrap();
    let stage = report.stages.iter().find(|stage| stage.name.ends_with("key-1")).expect("the stage of the key slots");
    (stage.keys, report.outcome)
}

#[test]
fn a_report_says_how_many_keys_there_are_and_a_plan_how_many_there_can_be() {
    let sums = |bound| {
        pipeline::<u64>().shard_by_within(
            bound,
            |x| x % 10,
            2,
            |p| {
                p.scan(0, |sum, x| {
                    *sum += x;
                    *sum
                })
            },
        )
    };
    assert_eq!(counted(&sums(Bound::default()), (0..100).collect()), (Some(10), RunOutcome::End));
    assert_eq!(counted(&sums(Bound::forget(4)), (0..100).collect()), (Some(4), RunOutcome::End));
    let plan = sums(Bound::refuse(12)).plan();
    assert!(plan.stages.iter().all(|stage| stage.keys == Some(12)));
    assert_eq!(plan.stages.iter().map(|stage| stage.tasklets).collect::<Vec<_>>(), [1, 2]);
    assert!(plan.to_string().contains("scan (up to 12 keys)"), "{plan}");
}

/// A run that goes on with keys has them, whether or not others come.
#[test]
fn a_report_counts_the_keys_with_which_a_version_begins() {
    let sums = |k| {
        let sum = |sum: &mut u64, x: &u64| {
            *sum += x;
            *sum
        };
        pipeline::<u64>().shard_by(|x| x % 10, k, move |p| p.scan(0, sum).named("sums")).named("keys")
    };
    let (sender, receiver) = source::channel(64);
    let run = Rings::new().start(sums(2).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..20).unwrap();
    let snapshot = run.snapshot().unwrap();
    drop((run, sender));
    let counted = |rings: Rings, k, input: std::ops::Range<u64>| {
        let (_, report) = rings.run(sums(k).from(source::ready(input)).to_each(|_, _| ())).unwrap();
        let stage = report.stages.iter().find(|stage| stage.name == "keys.key-1").expect("the stage of the key slots");
        (stage.keys, report.outcome)
    };
    for input in [20..20, 20..23] {
        let resumed = Rings::new().resume(snapshot.clone());
        assert_eq!(counted(resumed, 2, input.clone()), (Some(10), RunOutcome::End), "{input:?}");
        let changed = Rings::new().resume_changed(snapshot.clone(), sums(2).plan(), Migrations::new());
        assert_eq!(counted(changed, 3, input.clone()), (Some(10), RunOutcome::End), "{input:?}");
    }
    for k in [2, 3] {
        let upgraded = Rings::new().upgrade_at(SequenceNumber(20), sums(k));
        assert_eq!(counted(upgraded, 2, 0..23), (Some(10), RunOutcome::End), "{k} shards");
    }
}

/// The numbers of the keys in bytes: a run never has more, the plan says the number of keys, and nothing else decides
/// which key is evicted.
#[test]
fn a_bound_in_bytes_is_a_number_of_keys_whose_tables_fit() {
    let count = |n: &mut u64, _: &u64| {
        *n += 1;
        *n
    };
    let seen = |bound: Bound, k: usize| {
        pipeline::<u64>().shard_by_within(bound, |x| x % 1000, k, move |p| p.scan(0, count).scan(0_u64, count))
    };
    for bytes in [500, 4_000, 40_000, 100_000] {
        let most = seen(Bound::forget_bytes(bytes), 1).plan().stages[0].keys.unwrap();
        assert!(most * 200 > bytes && most * 60 < bytes, "{most} keys in {bytes} bytes");
        let input: Vec<u64> = (0..40_000).map(|n: u64| n * n % 7919).collect();
        let expected = seen(Bound::forget(most), 1).model(input.iter().copied());
        for k in [1, 2, 3] {
            let p = seen(Bound::forget_bytes(bytes), k);
            assert_eq!(p.collect(input.clone()).unwrap(), expected);
            assert_eq!(Queues::new().collect((&p).from(input.clone())).unwrap(), expected);
            let (_, report) = Rings::new().run(p.from(source::ready(input.clone())).to_each(|_, _| ())).unwrap();
            let kept: u64 = report.stages.iter().filter_map(|stage| stage.state_bytes).sum();
            // With few keys, a segment of the tables is not full.
            let slack = 200 * k as u64 * 3;
            assert!(kept <= bytes as u64 + slack && kept * 3 > bytes as u64, "{kept} of {bytes} bytes");
        }
        assert_eq!(seen(Bound::refuse(1_000).within_bytes(1 << 30), 1).plan().stages[0].keys, Some(1_000));
    }
}

/// The keys of one tasklet go, and those of another one come: the states that are kept do not become more.
#[test]
fn the_state_of_an_evicted_key_is_dropped_in_whatever_tasklet_it_is() {
    let lane = |key: u64| {
        let mut hasher = StableHasher::default();
        key.hash(&mut hasher);
        hasher.finish() % 2
    };
    let of_lane = |n| (0..).filter(move |key| lane(*key) == n).take(1_000);
    let input: Vec<u64> = of_lane(0).chain(of_lane(1)).chain(of_lane(0)).collect();
    let count = |state: &mut [u64; 8], x: &u64| {
        state[0] += 1;
        state[0] + x
    };
    let p = pipeline::<u64>().shard_by_within(
        Bound::forget(1_000),
        |x| *x,
        2,
        move |p| p.scan([0_u64; 8], count).named("counts"),
    );
    let (given, report) = Rings::new().run(p.from(source::ready(input.clone())).to(sink::collect())).unwrap();
    assert_eq!(given, input.iter().map(|x| x + 1).collect::<Vec<_>>());
    let counts = report.stages.iter().filter(|stage| stage.name.ends_with("counts"));
    let bytes: u64 = counts.filter_map(|stage| stage.state_bytes).sum();
    assert!((64_000..80_000).contains(&bytes), "{bytes}");
}

#[test]
fn a_bound_in_bytes_says_so_and_refuses_less_than_one_key() {
    let sums = |bytes: usize| {
        pipeline::<u64>()
            .shard_by_within(Bound::refuse_bytes(bytes), |x| x % 50, 2, |p| p.scan(0_u64, |n, x| *n + x))
            .named("accounts")
    };
    let said = failure(sums(1000).collect(0..100));
    assert!(
        said.contains("\"accounts.key-1\"") && said.contains("the bound of 1000 bytes has room for no more"),
        "{said}"
    );
    // The lower bound is the one to raise.
    let both = |most, bytes| {
        let bound = Bound::refuse(most).within_bytes(bytes);
        let p = pipeline::<u64>().shard_by_within(bound, |x| x % 50, 2, |p| p.scan(0_u64, |n, x| *n + x));
        failure(p.collect(0..100))
    };
    let said = both(3, 1 << 20);
    assert!(said.contains("there are 3 keys") && said.contains("more keys with `Bound::refuse(n)`"), "{said}");
    assert!(both(50, 1000).contains("the bound of 1000 bytes has room for no more"));
    let Err(refused) = std::panic::catch_unwind(|| sums(20)) else { panic!("20 bytes are enough") };
    let said = refused.downcast_ref::<String>().unwrap();
    assert!(
        said.starts_with("a key takes ") && said.ends_with(", and the bound of 20 bytes has no room for one"),
        "{said}"
    );
}

fn failure<R: Item>(outcome: Result<R, RunError>) -> String {
    outcome.err().expect("it fails").to_string()
}

#[test]
fn a_key_too_many_is_an_error_that_names_the_place_and_the_remedy() {
    let p = pipeline::<u64>().shard_by_within(Bound::refuse(3), |x| x % 5, 2, |p| p.map(|x| x + 1)).named("accounts");
    let said = failure(p.collect(0..100));
    assert!(said.contains("\"accounts.key-1\"") && said.contains("number 3"), "{said}");
    assert!(said.contains("there are 3 keys") && said.contains("`Bound::forget(n)`"), "{said}");
    let p = pipeline::<u64>().fold_by_within(3, |x| x % 5, 0, |n, _| *n += 1, |n| n);
    let said = failure(p.collect(0..100));
    assert!(said.contains("\"fold_by-1\"") && said.contains("number 3"), "{said}");
}

#[test]
fn a_failed_key_is_parked_and_the_others_go_on_in_every_deployment() {
    let book = |x: &u64| if *x == 21 || *x == 33 { Err(format!("no {x}")) } else { Ok(x * 10) };
    let expected: Vec<(u64, String)> =
        [(21, "no 21"), (31, "21"), (33, "no 33"), (41, "21"), (43, "33"), (51, "21"), (53, "33")]
            .map(|(x, why)| (x, if why.starts_with("no") { why.to_owned() } else { format!("after {why}") }))
            .into();
    let booked: Vec<u64> = (0..55).filter(|x| !expected.iter().any(|(dead, _)| dead == x)).collect();
    for k in [1, 3] {
        let (dead, letters) = mpsc::channel();
        let receive = move |letter: DeadLetter<'_, u64, String>| {
            let why = match letter.fault {
                Fault::Error(why) => why.clone(),
                Fault::Parked(number) => format!("after {number}"),
                Fault::Panic(why) => panic!("{why}"),
            };
            let _ = dead.send((letter.number.0, *letter.input, why));
        };
        // In a key's own body the result is the same, since keys do not share parked values.
        let parks = pipeline::<u64>().shard_by(|x| x % 2, k, |p| p.try_map_or_park("book", |x| x % 10, book, receive));
        let letters = || {
            let mut letters: Vec<_> = letters.try_iter().collect();
            // On queues, and in the model, the letters of each key are in order.
            letters.sort();
            assert!(letters.iter().all(|(number, x, _)| number == x));
            letters.into_iter().map(|(_, x, why)| (x, why)).collect::<Vec<_>>()
        };
        let values = |all: Vec<u64>| all.into_iter().map(|x| x / 10).collect::<Vec<_>>();
        assert_eq!((values(parks.model(0..55)), letters()), (booked.clone(), expected.clone()));
        assert_eq!(
            (values(Rings::new().ring(4).collect((&parks).from(0..55)).unwrap()), letters()),
            (booked.clone(), expected.clone())
        );
        let on_queues = Queues::new().collect((&parks).from(0..55_u64)).unwrap();
        assert_eq!((values(on_queues), letters()), (booked.clone(), expected.clone()));
    }
}

#[test]
fn dead_letters_of_a_parked_key_come_in_the_order_of_their_numbers() {
    let (dead, letters) = mpsc::channel();
    let receive = move |letter: DeadLetter<'_, u64, &str>| {
        let _ = dead.send(letter.number.0);
    };
    let p = pipeline::<u64>().try_map_or_park(
        "even",
        |x| x % 100,
        |x| if *x > 1_000 && x % 4 == 0 { Err("four") } else { Ok(*x) },
        receive,
    );
    let done = Rings::new().workers(2).ring(64).collect((&p).from(0..10_000)).unwrap();
    let letters: Vec<u64> = letters.try_iter().collect();
    let parked: Vec<u64> = (0..10_000).filter(|x| *x > 1_000 && x % 4 == 0).collect();
    assert_eq!((done.len() + letters.len(), letters), (10_000, parked));
}
