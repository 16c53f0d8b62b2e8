//! The parts of a ring one by one: its capacity, elements, cursor and gates, and the addresses of its slots.

use millstream_core::{Dense, Sparse, Val};
use millstream_ring::{Producer, Reader, Wiring, ring};
use std::collections::BTreeSet;
use std::path::Path;

fn publish<S: Send + Sync + 'static>(producer: &mut Producer<S>, values: impl IntoIterator<Item = S>) {
    for value in values {
        let mut claim = producer.try_claim(1).unwrap().expect("room");
        claim.write(value);
        claim.publish();
    }
}

/// Reads at most `max` slots, and releases them. (A batch ends where the slots do.)
fn read<T: Clone + Send + Sync + 'static>(reader: &mut Reader<Val<T>>, max: usize) -> Vec<T> {
    let mut all = Vec::new();
    while let Some(batch) = reader.batch(max - all.len()) {
        all.extend(batch.iter().flatten().cloned());
        if all.len() == max {
            break;
        }
    }
    all
}

#[test]
fn a_ring_has_a_capacity_elements_a_cursor_gates_and_their_cached_minimum() {
    let wiring = Wiring::<char, Dense>::new(4).unwrap();
    let (mut a, mut b) = (wiring.reader(), wiring.reader());
    let mut producer = wiring.start();
    let probe = producer.probe();
    let cursor_and_gate = || (probe.published(), probe.released());
    assert_eq!((producer.capacity(), probe.capacity()), (4, 4));
    assert_eq!((producer.next().0, cursor_and_gate()), (0, (0, 0)));

    // The cursor moves when the written slots are published, and no sooner.
    let mut claim = producer.try_claim(3).unwrap().unwrap();
    "abc".chars().for_each(|c| claim.write(c));
    assert_eq!(cursor_and_gate(), (0, 0));
    claim.publish();
    assert_eq!((producer.next().0, cursor_and_gate()), (3, (3, 0)));

    // Each reader sees the written elements, and the least position of the readers is the gate.
    assert_eq!(read(&mut a, 9), ['a', 'b', 'c']);
    assert_eq!((a.position().0, cursor_and_gate()), (3, (3, 0)));
    assert_eq!(read(&mut b, 2), ['a', 'b']);
    assert_eq!((b.position().0, cursor_and_gate()), (2, (3, 2)));

    // The minimum is cached: a slot that was free at the last read of the gates needs no further read.
    let scans = producer.gate_scans();
    publish(&mut producer, ['d']);
    assert_eq!((producer.gate_scans(), cursor_and_gate()), (scans, (4, 2)));
    // One read then finds both slots that were released since.
    publish(&mut producer, ['e', 'f']);
    assert_eq!((producer.gate_scans(), producer.free()), (scans + 1, 0));
    assert_eq!((read(&mut a, 9), read(&mut b, 9)), (vec!['d', 'e', 'f'], vec!['c', 'd', 'e', 'f']));
    assert_eq!((producer.free(), cursor_and_gate()), (4, (6, 6)));
}

#[test]
fn a_claim_of_one_is_the_next_number_or_none() {
    let (mut producer, mut reader) = ring::<u64, Dense>(2).unwrap();
    for n in 0..10 {
        let mut claim = producer.try_claim(1).unwrap().unwrap();
        assert_eq!((claim.first().0, claim.last().0, claim.len()), (n, n, 1));
        claim.write(n);
        claim.publish();
        if n % 2 == 1 {
            assert!(producer.try_claim(1).unwrap().is_none(), "both slots are full");
            assert_eq!(read(&mut reader, 9), [n - 1, n]);
        }
    }
}

/// The article's `size`, `iter`, `foldRB`, `toListSmall` and `toListBig`, and the debug output.
#[test]
fn a_ring_is_counted_listed_folded_and_shown_before_and_after_it_wraps() {
    let (mut producer, mut reader) = ring::<char, Dense>(4).unwrap();
    assert_eq!((producer.free(), reader.backlog()), (4, 0));
    publish(&mut producer, "abc".chars());
    assert_eq!((producer.free(), reader.backlog()), (1, 3));
    assert_eq!(read(&mut reader.fork(), 9), ['a', 'b', 'c']);
    let shown = |batch: &millstream_ring::Batch<'_, Val<char>>| format!("{:?}", batch.iter().collect::<Vec<_>>());
    let batch = reader.batch(1).unwrap();
    assert_eq!(batch.iter().flatten().fold(String::from("z"), |all, c| all + &c.to_string()), "za");
    assert_eq!((shown(&batch), batch.len(), batch.get(0), batch.get(1)), ("[Some('a')]".into(), 1, Some(&'a'), None));
    drop(batch);

    publish(&mut producer, "de".chars()); // `e` takes the slot of `a`
    assert_eq!((producer.free(), reader.backlog()), (0, 4));
    let mut listed = String::new();
    let mut lists = reader.fork();
    while let Some(batch) = lists.batch(9) {
        listed.extend(batch.iter().flatten());
        assert!(shown(&batch).starts_with("[Some('"));
    }
    assert_eq!(listed, "bcde");
    assert_eq!(format!("{producer:?}"), "Producer { next: 5, ended: false, .. }");
}

/// For values without `Drop`: once a lap. Values with `Drop` are dropped at the claim after their release, so each of
/// those claims reads the gates.
#[test]
fn the_gates_are_read_once_a_lap_or_for_values_with_a_destructor_once_a_claim() {
    fn scans<T: Clone + Send + Sync + 'static>(value: T) -> u64 {
        let (mut producer, mut reader) = ring::<T, Dense>(1024).unwrap();
        for _ in 0..100 {
            publish(&mut producer, std::iter::repeat_n(value.clone(), 1000));
            assert_eq!(read(&mut reader, 1000).len(), 1000);
        }
        producer.gate_scans()
    }
    let (numbers, strings) = (scans(7_u64), scans("seven".to_owned()));
    assert!((90..=110).contains(&numbers), "{numbers} scans of 100,000 claims");
    assert_eq!(strings, 100_000);
    // A claim of many slots reads them once for all.
    let (mut producer, _reader) = ring::<String, Dense>(1024).unwrap();
    let mut claim = producer.try_claim(1000).unwrap().unwrap();
    (0..1000).for_each(|n| claim.write(n.to_string()));
    claim.publish();
    assert_eq!(producer.gate_scans(), 1);
}

/// However many slots are published, a reader that takes `k` at a time frees `k` at a time for the producer.
#[test]
fn every_batch_is_released_when_it_is_dropped() {
    for k in [1, 3, 8, 64] {
        let (mut producer, mut reader) = ring::<u64, Dense>(64).unwrap();
        publish(&mut producer, 0..64);
        let mut free = 0;
        while let Some(batch) = reader.batch(k) {
            let len = batch.len();
            assert!(len <= k);
            assert_eq!(producer.free(), free, "a lent slot is not released");
            drop(batch);
            free += len;
            assert_eq!(producer.free(), free);
        }
        assert_eq!(free, 64);
    }
}

#[test]
fn slots_are_contiguous_without_a_box_or_a_tag() {
    fn distance<T, const N: usize>(values: [T; N]) -> Vec<usize>
    where
        T: Send + Sync + 'static,
    {
        let (mut producer, mut reader) = ring::<T, Dense>(N).unwrap();
        publish(&mut producer, values);
        let batch = reader.batch(N).unwrap();
        let at: Vec<usize> = batch.iter().flatten().map(|value| std::ptr::from_ref(value).addr()).collect();
        at.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
    assert_eq!(distance([1_u64, 2, 3, 4]), [8; 3]);
    assert_eq!(distance([1_u8, 2, 3, 4]), [1; 3]);
    assert_eq!(distance([[0_u32; 3], [1; 3]]), [12]);
}

/// The halves of a pair of two rings are stored apart, each in an array of its own type.
#[test]
fn the_halves_of_a_pair_are_two_arrays() {
    let (mut p, a) = ring::<u64, Dense>(4).unwrap();
    let (mut q, b) = ring::<u8, Sparse>(4).unwrap();
    let mut pair = a.zip(b);
    publish(&mut p, 0..4);
    publish(&mut q, (0..4).map(Some));
    let batch = pair.batch(4).unwrap();
    let distances = |half: fn((&u64, &u8)) -> usize| -> Vec<usize> {
        let at: Vec<usize> = batch.iter().flatten().map(half).collect();
        at.windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    assert_eq!(distances(|(x, _)| std::ptr::from_ref(x).addr()), [8; 3]);
    assert_eq!(distances(|(_, y)| std::ptr::from_ref(y).addr()), [size_of::<Option<u8>>(); 3]);
}

/// The files of the sources in which a counter is read and written in one step, which takes the cache line exclusively.
/// A producer, a claim, a batch and a reader do without: each counter has one writer.
#[test]
fn nothing_between_one_producer_and_its_readers_is_a_read_modify_write() {
    fn find(dir: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                find(&path, found);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            let steps = ["compare_exchange", "fetch_", ".swap("];
            if steps.iter().any(|step| source.contains(step)) {
                found.insert(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    let mut found = BTreeSet::new();
    find(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    // Run writers claim runs, a ring of several senders claims slots, a set of gates has a version that changes when a
    // reader is added or dropped, and empty slots are counted once a batch, if that is switched on.
    let expected = ["gate.rs", "mpsc.rs", "occupancy.rs", "run_writers.rs"];
    assert!(found.iter().eq(expected.iter()), "{found:?}");
}
