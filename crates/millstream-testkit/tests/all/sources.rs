//! Joins of sources: every deployment has the result of their meaning on lists, whatever the schedule.

use millstream_core::failure::fail;
use millstream_core::model::{ModelShape, sources};
use millstream_core::{Arrow, Item, Joined, Model, ModelExt, ToOwnedItem, Val, pipeline};
use millstream_exec::{
    Everywhere, Inline, JobExt, JobRefExt, QueueShape, Queues, RingShape, Rings, RunError, Runner, Source, source,
};
use millstream_testkit::within;
use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt::Debug;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// Asserts that every deployment's output from a source is the model's output from the list that the source means.
fn assert_means<T, P, X>(p: &P, source: impl Fn() -> X, meaning: Vec<T>, capacity: usize)
where
    T: Item + Clone,
    P: Everywhere
        + Arrow<In = Val<T>, Out: RingShape + QueueShape + ModelShape + ToOwnedItem<Owned: PartialEq + Debug>>,
    X: Source<T>,
{
    let slots = Ok(p.model_slots(meaning));
    assert_eq!(Model.collect_slots(p.from(source())), slots, "model");
    assert_eq!(Inline::new(Rings::new().ring(capacity)).collect_slots(p.from(source())), slots, "inline");
    assert_eq!(Queues::new().capacity(capacity).collect_slots(p.from(source())), slots, "queues");
    for workers in 1..=3 {
        let rings = Rings::new().ring(capacity).workers(workers);
        assert_eq!(rings.collect_slots(p.from(source())), slots, "{workers} workers");
    }
}

fn shown<T: Item + Debug + Clone>() -> impl Everywhere<In = Val<T>, Out = Val<String>> {
    pipeline::<T>().shard(2, |p| p.map(|x| format!("{x:?}")))
}

/// Values with small keys, and times that grow by small steps.
fn timed(length: usize) -> impl Strategy<Value = Vec<(u8, u64)>> {
    vec((0..4_u8, 0..5_u64), 0..length).prop_map(|steps| {
        let mut time = 0;
        let on = |(key, step)| {
            time += step;
            (key, time)
        };
        steps.into_iter().map(on).collect()
    })
}

/// As (key, position, value).
fn placed(values: &[(u8, u64)], at: impl Fn(usize, u64) -> u64) -> Vec<(u8, u64, (u8, u64))> {
    values.iter().enumerate().map(|(n, (key, time))| (*key, at(n, *time), (*key, *time))).collect()
}

fn pairs<A, B>(joined: Vec<Joined<A, B>>) -> Vec<(A, B)> {
    let both = |joined| match joined {
        Joined::Both(a, b) => Some((a, b)),
        Joined::First(_) | Joined::Second(_) => None,
    };
    joined.into_iter().filter_map(both).collect()
}

type Pair = ((u8, u64), (u8, u64));

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn zipped_by_number(a in vec(any::<u8>(), 0..40), b in vec(any::<i8>(), 0..40), log in 0..5_u32) {
        let zip = || source::zip(a.clone(), source::ready(b.clone()));
        assert_means(&shown(), zip, sources::zip(a.clone(), b.clone()), 1 << log);
    }

    #[test]
    fn one_after_another(a in vec(any::<u8>(), 0..40), b in vec(any::<u8>(), 0..40), log in 0..5_u32) {
        let chain = || source::chain(a.clone(), source::ready(b.clone()));
        assert_means(&shown(), chain, sources::chain(a.clone(), b.clone()), 1 << log);
    }

    #[test]
    fn in_turn(all in vec(vec(any::<u8>(), 0..20), 0..5), log in 0..5_u32) {
        assert_means(&shown(), || source::round_robin(all.clone()), sources::round_robin(all.clone()), 1 << log);
    }

    #[test]
    fn by_time_then_source(all in vec(timed(20), 0..5), log in 0..5_u32) {
        let merged = || source::by_timestamp(all.clone(), |(_, time)| *time);
        assert_means(&shown(), merged, sources::by_timestamp(all.clone(), |(_, time)| *time), 1 << log);
    }

    #[test]
    fn by_key_within_numbers(a in timed(30), b in timed(30), distance in 0..8_u64, log in 0..5_u32) {
        let at = |n, _| n as u64;
        let meaning = sources::join(distance, &placed(&a, at), &placed(&b, at));
        let join = || source::join_by_number(distance, a.clone(), |(key, _)| *key, b.clone(), |(key, _)| *key);
        assert_means(&shown::<Pair>(), join, pairs(meaning.clone()), 1 << log);
        assert_means(&shown::<Joined<_, _>>(), || join().outer(), meaning, 1 << log);
    }

    #[test]
    fn by_key_within_time(a in timed(30), b in timed(30), distance in 0..20_u64, log in 0..5_u32) {
        let at = |_, time| time;
        let meaning = sources::join(distance, &placed(&a, at), &placed(&b, at));
        let place = |(key, time): &(u8, u64)| (*key, *time);
        let join = || source::join_by_time(distance, 1000, a.clone(), place, b.clone(), place);
        assert_means(&shown::<Pair>(), join, pairs(meaning.clone()), 1 << log);
        assert_means(&shown::<Joined<_, _>>(), || join().outer(), meaning, 1 << log);
    }

    #[test]
    fn by_key_one_to_one(a in timed(60), b in timed(60), distance in 0..40_u64, log in 0..5_u32) {
        let at = |n, _| n as u64;
        let meaning = sources::join_one_to_one(distance, &placed(&a, at), &placed(&b, at));
        let join = || {
            source::join_by_number(distance, a.clone(), |(key, _)| *key, b.clone(), |(key, _)| *key).one_to_one()
        };
        assert_means(&shown::<Pair>(), join, pairs(meaning.clone()), 1 << log);
        assert_means(&shown::<Joined<_, _>>(), || join().outer(), meaning, 1 << log);
        let at = |_, time| time;
        let meaning = sources::join_one_to_one(distance, &placed(&a, at), &placed(&b, at));
        let place = |value: &(u8, u64)| *value;
        let join = || source::join_by_time(distance, 1000, a.clone(), place, b.clone(), place).one_to_one();
        assert_means(&shown::<Joined<_, _>>(), || join().outer(), meaning, 1 << log);
    }

    #[test]
    fn joins_of_joins(all in vec(vec(any::<u8>(), 0..20), 0..4), b in timed(30)) {
        let timed = || source::by_timestamp([b.clone()], |(_, time)| *time);
        let join = || source::zip(source::round_robin(all.clone()), timed());
        assert_means(&shown(), join, sources::zip(sources::round_robin(all.clone()), b.clone()), 4);
    }
}

/// The failure of a run of this source, the same on every deployment.
fn failure<T: Item + Clone + Debug, X: Source<T>>(source: impl Fn() -> X) -> String {
    let on_rings = |workers| Rings::new().ring(2).workers(workers).collect(shown().from(source())).unwrap_err();
    let error = on_rings(1).to_string();
    assert_eq!(on_rings(3).to_string(), error);
    assert_eq!(Inline::default().collect((&shown()).from(source())).unwrap_err().to_string(), error);
    assert_eq!(Queues::new().collect((&shown()).from(source())).unwrap_err().to_string(), error);
    error
}

#[test]
fn a_time_out_of_order_names_source_and_number() {
    let sources = || source::by_timestamp([vec![1_u64, 5, 9], vec![2, 7, 6, 8]], |time| *time);
    let expected = "stage \"source\", number 4: source 1, its number 2: a value of time 6 after one of time 7; ";
    assert_eq!(failure(sources).split_inclusive("; ").next(), Some(expected));
    let place = |x: &(u8, u64)| *x;
    let join = || source::join_by_time(3, 10, vec![(0, 5)], place, vec![(1, 4), (1, 3)], place);
    let expected = "stage \"source\", number 0: source 1, its number 1: a value of time 3 after one of time 4; ";
    assert_eq!(failure(join).split_inclusive("; ").next(), Some(expected));
}

#[test]
fn a_failing_source_fails_the_run_at_its_next_number() {
    let failing = || (0..3_u64).map(|x| if x == 2 { fail("the line is cut") } else { x });
    let expected = "stage \"source\", number 5: the line is cut";
    assert_eq!(
        failure(|| source::round_robin([
            Box::new(0..9_u64) as Box<dyn Iterator<Item = u64> + Send>,
            Box::new(failing())
        ])),
        expected
    );
    assert_eq!(failure(|| source::zip(failing(), 'a'..)), "stage \"source\", number 2: the line is cut");
}

#[test]
fn kept_values_are_bounded_and_the_bound_has_a_policy() {
    let place = |x: &(u8, u64)| *x;
    let asked = vec![(0, 0), (1, 0), (2, 0)];
    let answered = vec![(2, 1), (1, 1), (0, 1)];
    let join = |most| source::join_by_time(5, most, asked.clone(), place, answered.clone(), place);
    let pair = |key| ((key, 0), (key, 1));
    let collect = |join| pipeline::<Pair>().collect(join);
    assert_eq!(collect(join(6)), Ok(vec![pair(2), pair(1), pair(0)]));
    let expected = "stage \"source\", number 2: source 1, its number 2: 5 values are kept already; ";
    assert!(matches!(&collect(join(5)), Err(RunError::Stage { .. })));
    assert_eq!(failure(|| join(5)).split_inclusive("; ").next(), Some(expected));
    // With room for three, the first value is forgotten when the first answer arrives, and the second with the next
    // one.
    let forgetful = pipeline::<Pair>().collect(join(3).forget_oldest());
    assert_eq!(forgetful, Ok(vec![pair(2), pair(1)]));
    let outer = pipeline::<Joined<_, _>>().collect(join(3).forget_oldest().outer());
    let all =
        vec![Joined::Both((2, 0), (2, 1)), Joined::First((0, 0)), Joined::Both((1, 0), (1, 1)), Joined::Second((0, 1))];
    assert_eq!(outer, Ok(all));
}

#[test]
fn a_value_without_a_match_can_fail_the_run() {
    let join = || source::join_by_number(1, [1_u64, 2, 3], |n| *n, [1, 2, 4], |n| *n).fail_unmatched();
    let expected = "stage \"source\", number 2: source 0, its number 2: this value has no match in the other source";
    assert_eq!(failure(join), expected);
}

/// Two threads send through channels with room for one value, at their own pace: the join waits for the channel whose
/// turn it is, and never for ever.
#[test]
fn live_sources_hold_each_other_back_without_a_hang() {
    for workers in 1..=3 {
        let run = move || {
            let ((left, lefts), (right, rights)) = (sync_channel(1), sync_channel(1));
            std::thread::spawn(move || (0..300_u64).try_for_each(|n| left.send(n)));
            std::thread::spawn(move || (0..200_u64).try_for_each(|n| right.send(n)));
            let rings = Rings::new().ring(2).workers(workers);
            let zipped = rings.collect(pipeline::<(u64, u64)>().from(source::zip(lefts, rights)));
            let ((left, lefts), (right, rights)) = (sync_channel(1), sync_channel(1));
            std::thread::spawn(move || (0..300_u64).try_for_each(|n| left.send(n)));
            std::thread::spawn(move || (0..200_u64).try_for_each(|n| right.send(n)));
            (zipped, rings.collect(pipeline::<u64>().from(source::round_robin([lefts, rights]))))
        };
        let (zipped, merged) = within(Duration::from_secs(60), run).unwrap();
        assert_eq!(zipped, Ok((0..200).map(|n| (n, n)).collect()));
        assert_eq!(merged, Ok((0..200).flat_map(|n| [n, n]).chain(200..300).collect()));
    }
}

/// A pair is output before the join waits for a value that the pair does not need.
#[test]
fn a_pair_is_output_as_soon_as_its_later_value_arrives() {
    let run = || {
        let ((left, lefts), (right, rights)) = (sync_channel(9), sync_channel(9));
        let (out, seen) = sync_channel(9);
        let join = source::join_by_number(3, lefts, |n: &u64| *n, rights, |n: &u64| *n);
        let run = std::thread::spawn(move || {
            let p = pipeline::<(u64, u64)>();
            Rings::new().workers(1).for_each(p.from(join), move |_, pair| out.send(*pair).unwrap()).map(|_| ())
        });
        for n in 0..5 {
            left.send(n).unwrap();
            right.send(n).unwrap();
            assert_eq!(seen.recv(), Ok((n, n)));
        }
        drop((left, right));
        run.join().unwrap()
    };
    assert_eq!(within(Duration::from_secs(60), run), Ok(Ok(())));
}

#[test]
fn an_endless_source_ends_if_the_other_one_has_no_further_matches() {
    let join = source::join_by_number(2, [3_u64, 1], |n| *n, 0_u64.., |n| *n);
    assert_eq!(pipeline::<(u64, u64)>().collect(join), Ok(vec![(1, 1)]));
}

/// The other one may wait for ever: its sender lives, and sends no more.
#[test]
fn a_join_ends_with_its_last_pair() {
    let (sender, seconds) = source::channel(4);
    sender.send_all(1..=3_u64).unwrap();
    let one_to_one = source::join_by_number(2, vec![1, 2, 3_u64], |n| *n, seconds, |n| *n).one_to_one();
    let (waits, silent) = source::channel::<u64>(4);
    let of_none = source::join_by_time(2, 9, Vec::new(), |n: &u64| (*n, *n), silent, |n| (*n, *n));
    let joined = within(Duration::from_secs(60), move || {
        let p = pipeline::<(u64, u64)>;
        (p().collect(one_to_one), Queues::new().collect(p().from(of_none)))
    });
    assert_eq!(joined, Ok((Ok(vec![(1, 1), (2, 2), (3, 3)]), Ok(Vec::new()))));
    drop((sender, waits));
}
