//! A stage that takes long for each value, while all values are there: they come out one by one.

use millstream_core::{Arrow, SequenceNumber, pipeline};
use millstream_exec::{Inline, JobRefExt, Queues, Rings, Runner, source};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

/// Longer than a step is to take, and than a sink waits until it pauses.
const LONG: Duration = Duration::from_millis(30);
const VALUES: u64 = 8;

/// Runs the slow stage, and returns how many values it had made at each value of the sink, and at each of its pauses.
macro_rules! seen {
    ($on:expr, $source:expr) => {{
        let (made, at_pauses) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (makes, seen, paused) = (made.clone(), made.clone(), at_pauses.clone());
        let p = pipeline::<u64>().map(move |x| {
            sleep(LONG);
            makes.fetch_add(1, Ordering::SeqCst);
            x + 1
        });
        let put = move |all: &mut Vec<u64>, _: SequenceNumber, _: &u64| all.push(seen.load(Ordering::SeqCst));
        let pause = move |all: &mut Vec<u64>| paused.lock().unwrap().push(all.len() as u64);
        let job = (&p).from($source).to_fold(Vec::new(), put).on_pause(pause);
        let (at_values, _) = $on.run(job).unwrap();
        // A pause at END may be one without a value.
        let mut at_pauses = std::mem::take(&mut *at_pauses.lock().unwrap());
        at_pauses.dedup();
        (at_values, at_pauses)
    }};
}

#[test]
fn a_slow_stage_hands_over_each_value_at_once() {
    let each: Vec<u64> = (1..=VALUES).collect();
    // The next value may be made already when the sink has its turn.
    let at_once = |at: &[u64]| at.len() == each.len() && at.iter().zip(&each).all(|(made, value)| made <= &(value + 1));
    for (name, (values, pauses)) in [
        ("inline", seen!(Inline::default(), source::ready(0..VALUES))),
        ("one worker", seen!(Rings::new().workers(1), source::ready(0..VALUES))),
        ("rings", seen!(Rings::new(), source::ready(0..VALUES))),
        ("queues", seen!(Queues::new(), source::ready(0..VALUES))),
    ] {
        assert!(at_once(&values), "{name}: values made by then: {values:?}");
        // The first pause may come after the second value.
        let gaps = pauses.windows(2).map(|two| two[1] - two[0]).chain(pauses.first().copied());
        assert!(gaps.max().is_some_and(|most| most <= 3), "{name}: values put at each pause: {pauses:?}");
    }
}
