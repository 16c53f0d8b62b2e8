//! A stage that takes long for each value, while all values are there: they come out one by one.

use millstream_core::{Arrow, AsyncExt, FeedbackExt, PartsExt, SequenceNumber, pipeline};
use millstream_exec::{Inline, JobExt, JobRefExt, Queues, Rings, Runner, sink, source};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

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

/// By how many values a stage was ahead of the sink, at most. The stage counts what it has made in the first argument,
/// and the sink notes in the second how far that was ahead.
fn most_ahead(run: impl FnOnce(Arc<AtomicU64>, Arc<AtomicU64>)) -> u64 {
    let (made, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    run(made, most.clone());
    most.load(Ordering::SeqCst)
}

#[test]
fn slow_futures_that_are_ready_at_once_come_out_as_they_are_made() {
    let ahead = most_ahead(|made, ahead| {
        let makes = made.clone();
        let p = pipeline::<u64>().map_async(1, move |x| {
            sleep(LONG);
            makes.fetch_add(1, Ordering::SeqCst);
            std::future::ready(*x)
        });
        let put = move |number: SequenceNumber, _: &u64| {
            ahead.fetch_max(made.load(Ordering::SeqCst) - number.0, Ordering::SeqCst);
        };
        Rings::new().workers(1).run(p.from(source::ready(0..VALUES)).to(sink::each(put))).unwrap();
    });
    assert!(ahead <= 3, "{ahead} values were made at once");
}

#[test]
fn a_slow_loop_hands_over_each_value_soon() {
    let ahead = most_ahead(|made, ahead| {
        let makes = made.clone();
        let p = pipeline::<u64>().feedback(0_u64, move |p| {
            p.map(move |(x, sum): (&u64, &u64)| {
                sleep(LONG);
                makes.fetch_add(1, Ordering::SeqCst);
                (x + sum, x + sum)
            })
        });
        let put = move |number: SequenceNumber, _: &u64| {
            ahead.fetch_max(made.load(Ordering::SeqCst) - number.0, Ordering::SeqCst);
        };
        Rings::new().workers(1).run(p.from(source::ready(0..VALUES)).to(sink::each(put))).unwrap();
    });
    assert!(ahead <= 3, "{ahead} values were made at once");
}

/// The numbers at which a sink pauses that takes long for each value, while more are there.
#[test]
fn a_slow_sink_pauses_after_each_value() {
    let slow = || {
        let at_pauses = Arc::new(Mutex::new(Vec::new()));
        let pauses = at_pauses.clone();
        let put = |put: &mut u64, _: SequenceNumber, _: &u64| {
            sleep(LONG);
            *put += 1;
        };
        (sink::fold(0, put).on_pause(move |put| pauses.lock().unwrap().push(*put)), at_pauses)
    };
    let check = |name: &str, at_pauses: &Mutex<Vec<u64>>| {
        let at = at_pauses.lock().unwrap();
        let gaps = at.windows(2).map(|two| two[1] - two[0]).chain(at.first().copied());
        assert!(gaps.max().is_some_and(|most| most <= 3), "{name}: values put at each pause: {at:?}");
    };
    let (sink, at) = slow();
    Rings::new().workers(1).run(pipeline().from(source::ready(0..VALUES)).to(sink)).unwrap();
    check("one worker", &at);
    let (sink, at) = slow();
    Queues::new().run(pipeline().from(source::ready(0..VALUES)).to(sink)).unwrap();
    check("queues", &at);
    let (sink, at) = slow();
    Rings::new().run(pipeline().tee_to("side", sink).from(source::ready(0..VALUES)).to(sink::last())).unwrap();
    check("a side output", &at);
}

#[test]
fn pauses_that_take_long_come_seldom() {
    let (mut pauses, begun) = (0, Instant::now());
    let pause = move |_: &mut u64| {
        let most = 2 + begun.elapsed().as_nanos() / (LONG * 9).as_nanos();
        pauses += 1;
        assert!(pauses <= most, "{pauses} pauses in {:?}", begun.elapsed());
        sleep(LONG);
    };
    let count = pipeline::<u64>().from(source::ready(0..3_000_000)).to_fold(0, |all: &mut u64, _, _| *all += 1);
    let (all, _) = Rings::new().workers(1).ring(64).batch(64).run(count.on_pause(pause)).unwrap();
    assert_eq!(all, 3_000_000);
}
