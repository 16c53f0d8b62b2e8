//! Batches that a thread sends with a mark at the end of each, and whose stages it runs itself.

use millstream_core::{Arrow, AsyncExt, ClockExt, SequenceNumber, StreamsExt, pipeline};
use millstream_exec::source::channel;
use millstream_exec::{BatchSender, Handle, JobRefExt, Rings, RunError, Runner, StagesOn, fan_in, sink};
use millstream_testkit::within;
use std::collections::HashSet;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::thread::{ThreadId, current, sleep};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn here() -> Rings {
    Rings::new().workers(2).stages_on(StagesOn::Source)
}

/// The threads on which a stage has run.
type Threads = Arc<Mutex<HashSet<ThreadId>>>;

/// A run of a stage that notes its threads, and its sender of batches. The channel has this many slots.
fn noting(rings: &Rings, slots: usize) -> (BatchSender<u64>, Handle<Vec<u64>>, Threads) {
    let seen = Threads::default();
    let noted = seen.clone();
    let p = pipeline::<u64>().filter(|x| x % 3 > 0).scan(0, move |sum, x| {
        noted.lock().unwrap().insert(current().id());
        *sum += x;
        *sum
    });
    let (sender, receiver) = channel(slots);
    let run = rings.start((&p).from(receiver).to(sink::collect())).unwrap();
    (run.batches(sender), run, seen)
}

/// What those stages yield of the numbers below `n`.
fn sums(n: u64) -> Vec<u64> {
    let sums = (0..n).filter(|x| x % 3 > 0).scan(0, |sum, x| {
        *sum += x;
        Some(*sum)
    });
    sums.collect()
}

/// Sends the numbers below `n` in batches of `size`, and waits for each mark.
fn send_all(batches: &mut BatchSender<u64>, n: u64, size: u64) {
    for first in (0..n).step_by(size as usize) {
        let end = n.min(first + size);
        let mark = batches.send((first..end).collect()).unwrap();
        assert_eq!(batches.passed(mark), Some((SequenceNumber(end), SequenceNumber(end))));
    }
}

#[test]
fn the_stages_run_on_the_thread_that_the_options_name() {
    within(LONG, || {
        for (slots, size) in [(16, 5), (64, 64), (4, 100)] {
            let on_own_thread = |rings: &Rings| {
                let (mut batches, run, seen) = noting(rings, slots);
                send_all(&mut batches, 1000, size);
                let own = HashSet::from([current().id()]);
                let seen: HashSet<ThreadId> = seen.lock().unwrap().clone();
                drop(batches);
                assert_eq!(run.wait().unwrap().0, sums(1000));
                !seen.is_disjoint(&own)
            };
            assert!(!on_own_thread(&here().stages_on(StagesOn::Workers)), "{slots} {size}");
            // A worker that is in the middle of a step goes on with its stage.
            assert!(on_own_thread(&here()) || size > slots as u64, "{slots} {size}");
        }
    })
    .unwrap();
}

#[test]
fn the_faster_way_is_looked_for() {
    within(LONG, || {
        let (mut batches, run, seen) = noting(&Rings::new().stages_on(StagesOn::Faster), 1024);
        let mut sent = 0;
        while !seen.lock().unwrap().contains(&current().id()) {
            let mark = batches.send((sent..sent + 512).collect()).unwrap();
            assert!(batches.passed(mark).is_some());
            sent += 512;
        }
        drop(batches);
        assert_eq!(run.wait().unwrap().0, sums(sent));
    })
    .unwrap();
}

#[test]
fn a_mark_comes_behind_the_output_of_its_batch() {
    within(LONG, || {
        for rings in [here(), here().stages_on(StagesOn::Workers)] {
            let (put, seen) = mpsc::channel();
            let p = pipeline::<u64>().flat_map(|x| vec![*x; 3]);
            let (sender, receiver) = channel(8);
            let run = rings.start((&p).from(receiver).to_each(move |_, x: &u64| put.send(*x).unwrap())).unwrap();
            let mut batches = run.batches(sender);
            for (n, size) in [0, 1, 7, 8, 9, 100, 0].into_iter().enumerate() {
                let mark = batches.send(vec![n as u64; size]).unwrap();
                batches.passed(mark).unwrap();
                assert_eq!(seen.try_iter().collect::<Vec<_>>(), vec![n as u64; 3 * size]);
            }
            drop(batches);
            run.wait().unwrap();
        }
    })
    .unwrap();
}

#[test]
fn a_sender_that_is_silent_leaves_the_stages_to_the_workers() {
    within(LONG, || {
        let (mut batches, run, seen) = noting(&here(), 64);
        send_all(&mut batches, 60, 20);
        // Longer than the workers wait for it.
        sleep(Duration::from_millis(50));
        assert!(run.snapshot().is_some());
        let mark = batches.send((60..90).collect()).unwrap();
        batches.passed(mark).unwrap();
        assert!(seen.lock().unwrap().contains(&current().id()));
        drop(batches);
        assert_eq!(run.wait().unwrap().0, sums(90));
    })
    .unwrap();
}

#[test]
fn a_failure_ends_the_batches() {
    within(LONG, || {
        for at in [0, 9, 10, 35] {
            let (put, seen) = (Arc::new(AtomicU64::new(0)), Arc::new(()));
            let (count, kept) = (put.clone(), seen.clone());
            let p = pipeline::<(u64, Arc<()>)>().map(move |(x, _)| assert!(*x < at, "no {x}")).named("check");
            let (sender, receiver) = channel(16);
            let each = move |_: SequenceNumber, (): &()| _ = count.fetch_add(1, Relaxed);
            let run = here().start((&p).from(receiver).to_each(each)).unwrap();
            let mut batches = run.batches(sender);
            let goes_on = (0..10).all(|n| {
                let mark = batches.send((n * 10..n * 10 + 10).map(|x| (x, kept.clone())).collect());
                mark.is_some_and(|mark| batches.passed(mark).is_some())
            });
            assert!(!goes_on);
            drop(batches);
            let RunError::Stage { stage, number, .. } = run.wait().unwrap_err() else { panic!("not the stage") };
            assert_eq!((&*stage, number), ("check", Some(SequenceNumber(at))));
            assert!(put.load(Relaxed) <= at);
            drop((kept, p));
            assert_eq!(Arc::strong_count(&seen), 1, "values are dropped");
        }
    })
    .unwrap();
}

#[test]
fn a_stream_that_ends_early_ends_the_batches() {
    within(LONG, || {
        let (sender, receiver) = channel(16);
        let run = here().start(pipeline::<u64>().take(25).from(receiver).to(sink::collect())).unwrap();
        let mut batches = run.batches(sender);
        while batches.send(vec![7; 10]).and_then(|mark| batches.passed(mark)).is_some() {}
        drop(batches);
        assert_eq!(run.wait().unwrap().0, [7; 25]);
    })
    .unwrap();
}

#[test]
fn a_stopped_run_takes_no_batches() {
    within(LONG, || {
        let (mut batches, run, _) = noting(&here(), 64);
        send_all(&mut batches, 60, 20);
        drop(run);
        assert!(batches.send(vec![1, 2]).is_none());
    })
    .unwrap();
}

#[test]
fn futures_are_waited_for() {
    within(LONG, || {
        let p = pipeline::<u64>().map_async(4, |x: &u64| {
            let (x, mut polled) = (*x, false);
            poll_fn(move |cx| {
                if std::mem::replace(&mut polled, true) {
                    return Poll::Ready(x + 1);
                }
                let waker = cx.waker().clone();
                std::thread::spawn(move || {
                    sleep(Duration::from_millis(1));
                    waker.wake();
                });
                Poll::Pending
            })
        });
        let (sender, receiver) = channel(16);
        let run = here().start((&p).from(receiver).to(sink::collect())).unwrap();
        let mut batches = run.batches(sender);
        send_all(&mut batches, 100, 10);
        drop(batches);
        assert_eq!(run.wait().unwrap().0, (1..=100).collect::<Vec<_>>());
    })
    .unwrap();
}

#[test]
fn a_closure_of_the_run_cannot_wait_for_a_mark() {
    within(LONG, || {
        let stopper = Arc::new(Mutex::new(None));
        let asked = stopper.clone();
        let p = pipeline::<u64>().map(move |x| {
            let run: &Option<millstream_exec::Snapshotter> = &asked.lock().unwrap();
            run.as_ref().and_then(|run| run.cut()).map_or(*x, |_| 0)
        });
        let (sender, receiver) = channel(16);
        let run = here().start((&p).from(receiver).to(sink::collect())).unwrap();
        *stopper.lock().unwrap() = Some(run.snapshotter());
        let mut batches = run.batches(sender);
        while batches.send(vec![1]).and_then(|mark| batches.passed(mark)).is_some() {}
        drop(batches);
        let failed = run.wait().unwrap_err().to_string();
        assert!(failed.contains("waits for the run, which waits for the closure"), "{failed}");
    })
    .unwrap();
}

#[test]
fn a_producer_of_many_has_its_batch_before_the_mark() {
    within(LONG, || {
        for (shared, size) in [(false, 3), (true, 3), (false, 100), (true, 100), (false, 0)] {
            let joined = if shared { fan_in(1).shared() } else { fan_in(1) };
            let (mut senders, poller) = joined.ring(16).open(&here()).unwrap();
            let (put, seen) = mpsc::channel();
            let each = move |_: SequenceNumber, x: &u64| put.send(*x).unwrap();
            let run = here().ring(16).start(pipeline::<u64>().from(poller).to_each(each)).unwrap();
            let mut batches = run.batches(senders.pop().unwrap());
            for n in 1..20 {
                let mark = batches.send(vec![n; size]).unwrap();
                let at = SequenceNumber(n * size as u64);
                assert_eq!(batches.passed(mark), Some((at, at)));
                assert_eq!(seen.try_iter().collect::<Vec<_>>(), vec![n; size]);
            }
            drop(batches);
            run.wait().unwrap();
        }
    })
    .unwrap();
}

#[test]
fn the_marks_of_a_producers_batches_stand_between_them() {
    within(LONG, || {
        for joined in [fan_in(1), fan_in(1).shared(), fan_in(1).round_robin()] {
            let (mut senders, poller) = joined.ring(64).open(&here()).unwrap();
            let run = here().start(pipeline::<u64>().from(poller).to(sink::collect())).unwrap();
            let mut batches = run.batches(senders.pop().unwrap());
            let marks: Vec<_> = (0..10).map(|n| (3 * n + 3, batches.send(vec![n; 3]).unwrap())).collect();
            // The last one comes before END, too.
            drop(batches);
            for (at, mark) in marks {
                assert_eq!(mark.passed(), Some((SequenceNumber(at), SequenceNumber(at))));
            }
            assert_eq!(run.wait().unwrap().0.len(), 30);
        }
    })
    .unwrap();
}

#[test]
fn a_batch_may_wait_for_other_producers() {
    within(LONG, || {
        let (mut senders, poller) = fan_in(2).round_robin().ring(16).open(&here()).unwrap();
        let (put, seen) = mpsc::channel();
        let each = move |_: SequenceNumber, x: &u64| put.send(*x).unwrap();
        let run = here().start(pipeline::<u64>().from(poller).to_each(each)).unwrap();
        let (other, mut batches) = (senders.pop().unwrap(), run.batches(senders.pop().unwrap()));
        for n in 0..10 {
            let mark = batches.send(vec![n, n + 100]).unwrap();
            // Without the other one's values the merge does not go on.
            assert!(!mark.has_passed());
            other.send_all([1000, 1000]).unwrap();
            let (at, _) = batches.passed(mark).unwrap();
            let before: Vec<u64> = seen.try_iter().filter(|x| *x < 1000).collect();
            assert_eq!((before, at.0 >= 4 * n + 3), (vec![n, n + 100], true));
        }
        drop((other, batches));
        run.wait().unwrap();
    })
    .unwrap();
}

#[test]
fn a_producer_whose_run_ends_waits_for_no_mark() {
    within(LONG, || {
        let (mut senders, poller) = fan_in(2).round_robin().ring(16).open(&here()).unwrap();
        let run = here().start(pipeline::<u64>().from(poller).to(sink::collect())).unwrap();
        let mut batches = run.batches(senders.pop().unwrap());
        let mark = batches.send(vec![1, 2]).unwrap();
        drop(run);
        assert_eq!(batches.passed(mark), None);
        assert!(batches.send(vec![1]).is_none());
    })
    .unwrap();
}
