//! No item allocates after the start of a run. Alone in its test binary, since it counts the process's allocations.

use millstream_core::Either::{Left, Right};
use millstream_core::{Arrow, AsyncExt, BorrowedKeysExt, ChoiceExt, ClockExt, StreamsExt, Val, pipeline};
use millstream_exec::{Counters, Deployable, JobExt, JobRefExt, Rings, Runner, source};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::task::Poll;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The allocations and reallocations of a run over this many numbers.
fn allocations<P>(pipeline: &P, rings: &Rings, numbers: u64) -> usize
where
    P: Deployable<In = Val<u64>>
        + millstream_core::Deploy<millstream_exec::RingBackend, Out: millstream_exec::RingShape>,
{
    let region = Region::new(ALLOCATOR);
    rings.for_each(pipeline.from(source::ready(0..numbers)), |_, _| ()).expect("nothing panics");
    let change = region.change();
    change.allocations + change.reallocations
}

/// Threads that start and park allocate at the scheduler's will, so the least of several runs is taken.
fn least<P>(pipeline: &P, rings: &Rings, numbers: u64) -> usize
where
    P: Deployable<In = Val<u64>>
        + millstream_core::Deploy<millstream_exec::RingBackend, Out: millstream_exec::RingShape>,
{
    (0..20).map(|_| allocations(pipeline, rings, numbers)).min().expect("twenty runs")
}

fn assert_none_per_item<P>(what: &str, pipeline: P)
where
    P: Deployable<In = Val<u64>>
        + millstream_core::Deploy<millstream_exec::RingBackend, Out: millstream_exec::RingShape>,
{
    // On one worker observed, on two not.
    for workers in 1..=2 {
        let rings = Rings::new().ring(64).batch(16).workers(workers).observe(workers == 1);
        let (few, many) = (least(&pipeline, &rings, 2_000), least(&pipeline, &rings, 20_000));
        // One allocation for each batch of 16 would be 1,125 more; the start and end of threads cause a few.
        assert!(many < few + 16, "{what} on {workers} workers: {few} allocations of 2,000 numbers, {many} of 20,000");
    }
}

/// As [`allocations`], with an observer that marks, reads, and switches on and off all the time.
fn allocations_watched(numbers: u64) -> usize {
    let p = pipeline::<u64>().map(|x| x + 1).shard(2, |p| p.map(|x| x * 2));
    let rings = Rings::new().ring(64).batch(16).workers(1).observe(true);
    let region = Region::new(ALLOCATOR);
    let run = rings.start(p.from(source::ready(0..numbers)).to_each(|_, _| ())).expect("a thread starts");
    let (observer, mut counters) = (run.observer(), Counters::default());
    while !observer.is_finished() {
        observer.note();
        observer.read(&mut counters);
        run.observe(counters.at.as_micros() % 2 == 0);
    }
    run.wait().expect("nothing panics");
    let change = region.change();
    change.allocations + change.reallocations
}

#[test]
fn no_item_allocates() {
    let (boxes, rings) = (pipeline::<u64>().map(|x| Box::new(*x)), Rings::new().ring(64));
    let (few, many) = (least(&boxes, &rings, 2_000), least(&boxes, &rings, 20_000));
    assert!(many >= few + 18_000, "allocations are counted: {few}, {many}");

    let watched = |numbers| (0..20).map(|_| allocations_watched(numbers)).min().expect("twenty runs");
    let (few, many) = (watched(2_000), watched(20_000));
    assert!(many < few + 16, "watched: {few} allocations of 2,000 numbers, {many} of 20,000");

    assert_none_per_item("map", pipeline::<u64>().map(|x| x + 1).map(|x| x * 2));
    let fanout = pipeline::<u64>().fanout(|p| p, |p| p.map(|x| x + 1)).map(|(x, y)| x ^ y);
    assert_none_per_item("fanout", fanout);
    let renumbered = pipeline::<u64>().filter(|x| x % 3 != 0).compact().flat_map(|x| *x..x + 2);
    assert_none_per_item("compact and flat_map", renumbered);
    let streams = pipeline::<u64>().inspect(|_| ()).map_m(|x| x / 2).dedup().enumerate().map(|(n, x)| n.0 ^ x);
    let streams = streams
        .pairwise()
        .map(|(x, y)| x ^ y)
        .map_windows(5, |last| last[0] ^ last[4])
        .skip(9)
        .skip_while(|x| *x == 1)
        .take_while(|_| true);
    assert_none_per_item("stages with a state", streams.take(usize::MAX));
    // Lefts and Rights stay where they are: each lane reads the one ring, and the merge the lanes' or the one that they
    // fill.
    let either = |x: &u64| if x.is_multiple_of(3) { Left(*x) } else { Right(!*x) };
    let chosen = pipeline::<u64>().map(either).choose(|p| p.map(|x| x + 1), |p| p.filter(|x| x % 2 == 0));
    assert_none_per_item("choose", chosen.merge(|p| p.map(|x| x / 2), |p| p.map(|x| x ^ 5)));
    assert_none_per_item("merge", pipeline::<u64>().map(either).merge(|p| p, |p| p.scan(0, |n, x| *n ^ x)));
    assert_none_per_item("shard", pipeline::<u64>().shard(3, |p| p.map(|x| x + 1)));
    // A key that is borrowed is copied only if it has no state yet.
    let words = || pipeline::<u64>().map(|x| ["to", "be", "or", "not"][(x % 4) as usize]);
    assert_none_per_item("count_by_ref", words().count_by_ref(|word| *word));
    assert_none_per_item("shard_by_ref", words().shard_by_ref(|word| *word, 2, |p| p.scan(0, |n, _| *n + 1)));
    let futures = |limit: usize| pipeline::<u64>().map_async(limit, |x| std::future::ready(x + 1));
    assert_none_per_item("map_async", futures(1).then(futures(8)).shard(2, |p| p.map_async(4, |x| yielding(*x))));
    let others = pipeline::<u64>()
        .filter(|x| x % 3 != 0)
        .scan(0, |sum, x| {
            *sum += x;
            *sum
        })
        .delay(0)
        .shard(2, |p| p.filter_map(|x| (x % 2 == 0).then_some(*x)))
        .both_halves();
    assert_none_per_item("filter, scan, delay, filter_map, both and fold", others);
}

/// A future that wakes itself once.
fn yielding(x: u64) -> impl Future<Output = u64> + Send {
    let mut yielded = false;
    std::future::poll_fn(move |cx| {
        cx.waker().wake_by_ref();
        if std::mem::replace(&mut yielded, true) { Poll::Ready(x) } else { Poll::Pending }
    })
}

/// The remaining combinators, after any pipeline of numbers.
trait BothHalves: Arrow<Out = Val<u64, millstream_core::Sparse>> + Deployable {
    fn both_halves(self) -> impl Deployable<In = Self::In, Out = Val<u64, millstream_core::AtEnd>> {
        self.map(|x| (*x, !*x)).both(|p| p, |p| p.map(|x| !x)).fold(0_u64, |sum, (x, y)| *sum ^= x & y, |sum| sum)
    }
}
impl<P: Arrow<Out = Val<u64, millstream_core::Sparse>> + Deployable> BothHalves for P {}
