//! The bounds of a run: memory, copies, tasklets.

use millstream_core::{Arrow, ModelExt, pipeline};
use millstream_exec::{JobRefExt, Rings, Runner, ThroughExt, source};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A value that counts how many of its kind are alive, and the maximum.
struct Counted(Arc<Count>);

#[derive(Default)]
struct Count {
    made: AtomicUsize,
    alive: AtomicUsize,
    most: AtomicUsize,
}

impl Counted {
    fn new(count: &Arc<Count>) -> Self {
        count.made.fetch_add(1, Ordering::SeqCst);
        let alive = count.alive.fetch_add(1, Ordering::SeqCst) + 1;
        count.most.fetch_max(alive, Ordering::SeqCst);
        Counted(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Work that the compiler cannot remove.
fn slow(x: u64) -> u64 {
    (0..200).fold(x, |x, _| std::hint::black_box(x.rotate_left(7) ^ 0x9e37))
}

#[test]
fn every_inner_ring_holds_back_the_stage_before_it() {
    let p = pipeline::<u64>().map(|x| x + 1).map(|x| slow(*x)).map(|x| x ^ 1).filter_map(|x| Some(*x));
    let model = p.model(0..20_000);
    for workers in [1, 2, 4] {
        let rings = Rings::new().ring(16).workers(workers);
        assert_eq!(rings.collect((&p).from(source::ready(0..20_000))).unwrap(), model);
    }
}

#[test]
fn a_long_stream_keeps_no_more_values_alive_than_its_rings_have_slots() {
    let (sources, outputs) = (Arc::new(Count::default()), Arc::new(Count::default()));
    let (values, mapped) = (sources.clone(), outputs.clone());
    let source = (0..100_000).map(move |_| Counted::new(&values));
    let p = pipeline::<Counted>().map(move |_| Counted::new(&mapped)).shard(2, |p| p.map(|_| 1_u64));
    for ready in [true, false] {
        let rings = Rings::new().ring(8).workers(2);
        let source = source.clone();
        let report = if ready {
            rings.for_each((&p).from(source::ready(source)), |_, _| ())
        } else {
            rings.for_each((&p).from(source), |_, _| ())
        };
        assert_eq!(report.unwrap().values, 100_000);
        // One more: the source makes a value before it waits for room.
        assert!(sources.most.load(Ordering::SeqCst) <= 9 && outputs.most.load(Ordering::SeqCst) <= 8);
    }
    assert_eq!(outputs.made.load(Ordering::SeqCst), 200_000);
    assert_eq!(outputs.alive.load(Ordering::SeqCst), 0);
}

#[test]
fn an_endless_stream_is_processed_as_far_as_it_is_wanted() {
    let pulled = Arc::new(AtomicUsize::new(0));
    let counter = pulled.clone();
    let endless = std::iter::repeat_with(move || counter.fetch_add(1, Ordering::SeqCst) as u64);
    let p = pipeline::<u64>().map(|x| x * 2);
    let first: Vec<u64> = endless.through_on(Rings::new().ring(4), p).take(1000).collect();
    assert_eq!(first, (0..1000).map(|x| x * 2).collect::<Vec<_>>());
    assert!(pulled.load(Ordering::SeqCst) <= 1000 + 3 * 4 + 1, "the values taken, two rings, and one in progress");
}

#[test]
fn a_fan_out_has_neither_copiers_nor_zippers_and_makes_no_values() {
    let count = Arc::new(Count::default());
    let values = count.clone();
    let p = pipeline::<Counted>()
        .fanout(|p| p, |p| p.fanout(|p| p, |p| p.fanout(|p| p, |p| p.fanout(|p| p, |p| p))))
        .filter(|(a, (_, (_, (_, e))))| std::ptr::eq(a, e));
    assert_eq!(p.plan().stages.len(), 1, "the filter alone is a stage");
    let source = (0..1000).map(move |_| Counted::new(&values));
    let (seen, report) = Rings::new()
        .ring(8)
        .run((&p).from(source).to_fold(0, |seen, _, (a, (b, (c, (d, e))))| {
            let five: [&Counted; 5] = [a, b, c, d, e];
            *seen += usize::from(five.iter().all(|x| std::ptr::eq(*x, a)));
        }))
        .unwrap();
    assert_eq!((seen, report.values), (1000, 1000));
    assert_eq!(count.made.load(Ordering::SeqCst), 1000);
}

#[test]
fn a_filter_writes_no_values_and_moves_no_numbers() {
    let count = Arc::new(Count::default());
    let values = count.clone();
    let numbered = (0..100_u64).map(move |n| (n, Counted::new(&values)));
    let p = pipeline::<(u64, Counted)>().filter(|(n, _)| n % 10 == 0).map(|(n, _)| *n);
    let record = |all: &mut Vec<_>, number: millstream_core::SequenceNumber, n: &u64| all.push((number.0, *n));
    let (all, report) = Rings::new().run((&p).from(numbered).to_fold(Vec::new(), record)).unwrap();
    assert_eq!(all, (0..10).map(|n| (n * 10, n * 10)).collect::<Vec<_>>());
    assert_eq!(report.numbers.0, 100);
    assert_eq!(count.made.load(Ordering::SeqCst), 100);
}
