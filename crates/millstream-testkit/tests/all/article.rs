//! The article's equations of its combinators: on lists, for every number of shards, on every deployment.

use millstream_core::model::ModelShape;
use millstream_core::{
    Arrow, ChoiceExt, ClockExt, Either, FeedbackExt, Item, Model, PartsExt, StreamsExt, ToOwnedItem, Val, pipeline,
};
use millstream_exec::{Everywhere, Inline, JobExt, JobRefExt, QueueShape, Queues, RingShape, Rings, Runner, source};
use millstream_testkit::random::{Pipe, streams, values};
use millstream_testkit::{Feeding, QueueFeeding, deployments, within};
use proptest::prelude::*;
use proptest::sample::select;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(300);

/// Checks that every deployment has these slots, END last.
fn assert_slots<T, P, B>(p: &P, inputs: &[T], slots: &[Option<B>])
where
    T: Item + Clone,
    P: Everywhere + Arrow<In = Val<T>, Out: RingShape + QueueShape + ModelShape + ToOwnedItem<Owned = B>>,
    B: PartialEq + Debug,
{
    assert_eq!(Model.collect_slots(p.from(inputs.to_vec())).as_deref(), Ok(slots), "model");
    assert_eq!(Inline::default().collect_slots(p.from(inputs.to_vec())).as_deref(), Ok(slots), "inline");
    for capacity in [1, 8] {
        let queues = Queues::new().capacity(capacity);
        assert_eq!(queues.collect_slots(p.from(inputs.to_vec())).as_deref(), Ok(slots), "{queues:?}");
        for workers in 1..=3 {
            let rings = Rings::new().ring(capacity).workers(workers);
            assert_eq!(rings.collect_slots(p.from(inputs.to_vec())).as_deref(), Ok(slots), "{rings:?}");
        }
    }
}

/// The values, and an empty END.
fn full<T>(values: impl IntoIterator<Item = T>) -> Vec<Option<T>> {
    values.into_iter().map(Some).chain([None]).collect()
}

/// `Fold :: (a -> s -> (s, b)) -> s -> P a b` is a scan of the list.
#[test]
fn a_mealy_machine_is_a_scan_of_the_list() {
    let step = |state: &mut u64, x: &u64| {
        let out = *state ^ x;
        *state = state.wrapping_mul(31).wrapping_add(*x);
        out
    };
    let p = pipeline::<u64>().scan(7, step);
    for length in [0, 1, 2, 50] {
        let inputs: Vec<u64> = (0..length).map(|n| n * n).collect();
        let listed = inputs.iter().scan(7, |state, x| Some(step(state, x)));
        assert_slots(&p, &inputs, &full(listed));
    }
}

/// A running sum as a scan, and as a function with its state in a loop; and a delay.
#[test]
fn a_state_machine_is_the_running_sum_and_a_delay_the_sum_before() {
    let folded = pipeline::<u64>().scan(0, |sum, x| {
        *sum += x;
        *sum
    });
    let looped = pipeline::<u64>().feedback(0, |p| p.map(|(x, sum)| (x + sum, x + sum)));
    let sums = full([1, 3, 6, 10, 15]);
    assert_slots(&folded, &[1, 2, 3, 4, 5], &sums);
    assert_slots(&looped, &[1, 2, 3, 4, 5], &sums);
    assert_slots(&folded.delay(0), &[1, 2, 3, 4, 5], &full([0, 1, 3, 6, 10]));
}

/// The shapes that the article lists, but does not build.
#[test]
fn fork_distribute_decompose_recompose_tee_and_dead_end_have_their_equations() {
    let inputs = [2_u64, 0, 3, 1];
    assert_slots(&pipeline::<u64>().fork(), &inputs, &full(inputs.map(|x| (x, x))));

    let side = |x: &u64| if *x < 2 { Either::Left(*x) } else { Either::Right(x.to_string()) };
    let distribute = pipeline::<u64>().map(move |x| (*x, side(x))).distribute();
    // Lanes of a choice do not own their values, so each value carries its number.
    let distribute = distribute.choose(|p| p.map(|(x, a)| (*x, *a)), |p| p.map(|(x, b)| (*x, b.clone())));
    let distributed = inputs.map(|x| match side(&x) {
        Either::Left(a) => Either::Left((x, a)),
        Either::Right(b) => Either::Right((x, b)),
    });
    assert_slots(&distribute, &inputs, &full(distributed));

    let decompose = pipeline::<u64>().flat_map(|n| 0..*n);
    assert_slots(&decompose, &inputs, &full(inputs.iter().flat_map(|n| 0..*n)));
    let recompose = pipeline::<u64>().chunks(3).compact();
    assert_slots(&recompose, &inputs, &full(inputs.chunks(3).map(<[u64]>::to_vec)));

    let seen = Arc::new(AtomicU64::new(0));
    let sees = seen.clone();
    let tee = pipeline::<u64>().tee(move |p| p.map(move |x| sees.fetch_add(*x, Ordering::Relaxed)));
    assert_slots(&tee, &inputs, &full(inputs));
    assert_eq!(seen.load(Ordering::Relaxed) % inputs.iter().sum::<u64>(), 0, "each run has seen all values");
    assert!(seen.load(Ordering::Relaxed) > 0);

    assert_slots(&pipeline::<u64>().map(|x| x + 1).dead_end(), &inputs, &[None; 5]);
}

/// The bodies that a shard can have: stateless stages, and fan-outs and choices of such stages.
fn bodies() -> impl Strategy<Value = Pipe> {
    let (map, filter) = (Pipe::Map { plus: 1 }, Pipe::Filter { modulus: 3 });
    let filter_map = Pipe::FilterMap { modulus: 2, plus: 5 };
    let fanout = Pipe::Fanout(map.clone().into(), filter.clone().into());
    let sharded = Pipe::Fanout(Pipe::Shard(2, map.clone().into()).into(), Pipe::Shard(3, filter.clone().into()).into());
    let merge = Pipe::Merge(map.clone().into(), filter_map.clone().into());
    let then = Pipe::Then(filter.clone().into(), map.clone().into());
    select(vec![map, filter, filter_map, fanout, sharded, merge, then])
}

proptest! {
    /// If a pipeline compiles, every stage reads rings that something writes: the source, a stage before it, or the
    /// loop that it is in. One stage writes every ring but the source's, and the output is read from rings that exist.
    #[test]
    fn no_inlet_is_unconnected(tree in streams(24)) {
        let plan = tree.build().plan();
        for (index, stage) in plan.stages.iter().enumerate() {
            prop_assert!(!stage.reads.is_empty(), "{} reads nothing", stage.name);
            prop_assert_eq!(plan.rings[stage.writes].writer, Some(index));
            for ring in &stage.reads {
                let before = plan.rings[*ring].writer.is_none_or(|writer| writer < index);
                prop_assert!(before || stage.serial, "{} reads ring {} in {}", stage.name, ring, tree);
            }
        }
        let written = plan.rings.iter().filter(|ring| ring.writer.is_some()).count();
        prop_assert_eq!((written, plan.rings.len()), (plan.stages.len(), plan.stages.len() + 1));
        prop_assert!(!plan.output.is_empty() && plan.output.iter().all(|ring| *ring < plan.rings.len()));
    }

    /// `model (shard f) = model f`, by any number of tasklets, a power of two or not, in a shard and out of it, alone
    /// and between two stages.
    #[test]
    fn a_shard_is_its_body_for_any_number_nested_or_not(
        body in bodies(),
        k in 1..=8_usize,
        inner in select(vec![None, Some(1), Some(2), Some(4), Some(8)]),
        inputs in values(60),
        deployment in deployments(),
        seed in any::<u64>(),
        capacity in 1..=16_usize,
    ) {
        let plain = body.build().model_slots(inputs.clone());
        let nested = inner.map_or(body.clone(), |k| Pipe::Shard(k, body.clone().into()));
        let shard = Pipe::Shard(k, nested.into());
        prop_assert_eq!(shard.build().model_slots(inputs.clone()), plain, "{}", shard);
        let (scan, delay) = (Pipe::Scan { start: 3 }, Pipe::Delay { first: 4 });
        let between = Pipe::Then(scan.into(), Pipe::Then(shard.clone().into(), delay.into()).into());
        for tree in [&shard, &between] {
            for feeding in [Feeding::Stepped(seed), Feeding::Ready] {
                let deployment = millstream_testkit::Deployment { feeding, ..deployment };
                let outcome = tree.build().check(&inputs, deployment);
                prop_assert_eq!(outcome, Ok(()), "{}, {:?}", tree, deployment);
            }
        }
        if shard.width() <= 32 {
            let outcome = shard.build().check_on_queues(&inputs, Queues::new().capacity(capacity), QueueFeeding::Ready);
            prop_assert_eq!(outcome, Ok(()), "{} on queues of {}", shard, capacity);
        }
    }

    /// `model (f &&& g) xs = zip (model f xs) (model g xs)`, and neither arm lags at the end: both have processed every
    /// number, and END.
    #[test]
    fn both_arms_of_a_fan_out_consume_every_input(
        xs in prop::collection::vec(any::<u32>(), 0..200),
        slots in 0..8_u32,
        batch in 1..20_usize,
        workers in 1..=3_usize,
    ) {
        let (f, g) = (|x: &u32| x.count_ones(), |x: &u32| u64::from(*x) * 3);
        let p = pipeline::<u32>().fanout(move |p| p.map(f).named("f"), move |p| p.map(g).named("g"));
        let rings = Rings::new().ring(1 << slots).batch(batch).workers(workers);
        let take = |all: &mut Vec<_>, _, (x, y): (&u32, &u64)| all.push((*x, *y));
        let (zipped, report) = rings.run(p.from(source::ready(xs.clone())).to_fold(Vec::new(), take)).unwrap();
        prop_assert_eq!(zipped, xs.iter().map(f).zip(xs.iter().map(g)).collect::<Vec<_>>());
        let consumed = |name: &str| report.stages.iter().find(|stage| stage.name == name).map(|stage| stage.moved);
        prop_assert_eq!([consumed("f"), consumed("g")], [Some(xs.len() as u64 + 1); 2]);
    }
}

/// Three stages that read one ring, each with its own thread, and all of them parked: the source waits long enough for
/// that after the last value has come out. One value must wake all three, or their join would never be filled.
#[test]
fn one_publication_wakes_all_consumers_of_a_fan_out() {
    let outcome = within(LONG, || {
        let (seen, sees) = channel();
        let source = (0..20_u64).inspect(move |n| {
            if *n > 0 {
                assert_eq!(sees.recv(), Ok(n - 1));
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let p = pipeline::<u64>()
            .fanout(|p| p.map_blocking(|x| *x), |p| p.fanout(|p| p.map_blocking(|x| *x), |p| p.map_blocking(|x| *x)));
        let sink = move |_, (x, (y, z)): (&u64, (&u64, &u64))| {
            assert!(x == y && y == z);
            seen.send(*x).unwrap_or(());
        };
        Rings::new().ring(4).workers(1).for_each(p.from(source), sink).map(|report| report.values)
    });
    assert_eq!(outcome, Ok(Ok(20)));
}

/// Five stages read the same slot at the same time: each waits until all five have the value, which is not `Clone`.
#[test]
fn five_consumers_see_one_value_at_the_same_time() {
    struct Unique(u64);
    let outcome = within(LONG, || {
        let together = Arc::new(Barrier::new(5));
        let seen = || {
            let together = together.clone();
            move |unique: &Unique| {
                together.wait();
                (std::ptr::from_ref(unique) as usize, unique.0)
            }
        };
        let (a, b, c, d, e) = (seen(), seen(), seen(), seen(), seen());
        let p = pipeline::<Unique>().fanout(
            |p| p.fanout(|p| p.map_blocking(a), |p| p.map_blocking(b)),
            |p| p.fanout(|p| p.map_blocking(c), |p| p.fanout(|p| p.map_blocking(d), |p| p.map_blocking(e))),
        );
        let p = p.map(|((a, b), (c, (d, e)))| ([a, b, c, d].iter().all(|other| *other == e), e.1));
        Rings::new().ring(4).workers(1).collect(p.from(source::ready((0..20).map(Unique))))
    });
    assert_eq!(outcome, Ok(Ok((0..20).map(|n| (true, n)).collect())));
}

/// Two stages do not take turns: the first continues while the second blocks, as far as its ring has room.
#[test]
fn a_stage_continues_by_itself_while_the_next_one_blocks() {
    const SLOTS: u64 = 8;
    let outcome = within(LONG, || {
        let done = Arc::new(AtomicU64::new(0));
        let (counts, waits_for) = (done.clone(), done.clone());
        let p = pipeline::<u64>()
            .map(move |x| {
                counts.fetch_add(1, Ordering::SeqCst);
                *x
            })
            .map_blocking(move |x| {
                // It returns from the first number only after the stage before it has filled its ring.
                while waits_for.load(Ordering::SeqCst) < SLOTS {
                    std::thread::yield_now();
                }
                *x
            });
        Rings::new().ring(SLOTS as usize).batch(2).workers(1).collect((&p).from(source::ready(0..100)))
    });
    assert_eq!(outcome, Ok(Ok((0..100).collect::<Vec<_>>())));
}
