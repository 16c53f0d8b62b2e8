//! Sources that may wait, and whose thread gathers values and runs the stages itself.

use futures_util::future::poll_fn;
use millstream_core::{Arrow, AsyncExt, SequenceNumber, Val, pipeline};
use millstream_exec::{Deployable, JobRefExt, Rings, RunError, Runner, StagesOn, sink};
use millstream_testkit::within;
use std::collections::HashSet;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn rings(workers: usize) -> Rings {
    Rings::new().ring(256).workers(workers).stages_on(StagesOn::Source)
}

/// The numbers below `n`, by an iterator that may wait.
fn numbers(n: u64) -> impl Iterator<Item = u64> + Send + 'static {
    let mut all = 0..n;
    std::iter::from_fn(move || all.next())
}

/// The names of the threads on which a stage runs.
fn threads_of(rings: &Rings, n: u64) -> HashSet<String> {
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let noted = seen.clone();
    let p = pipeline::<u64>().map(move |x| {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        noted.lock().unwrap().insert(name.rsplit('-').next().unwrap_or_default().to_owned());
        x + 1
    });
    let sum = rings.run((&p).from(numbers(n)).to_fold(0, |sum, _, x| *sum += x)).unwrap().0;
    assert_eq!(sum, n * (n + 1) / 2);
    seen.lock().unwrap().clone()
}

#[test]
fn the_stages_run_on_the_thread_that_the_options_name() {
    within(LONG, || {
        for workers in [1, 3] {
            assert!(threads_of(&rings(workers), 10_000).contains("source"));
            let apart = rings(workers).stages_on(StagesOn::Workers);
            assert!(!threads_of(&apart, 10_000).contains("source"));
        }
        // By default, once enough values have come fast.
        let faster = Rings::new();
        while !threads_of(&faster, 1_000_000).contains("source") {}
    })
    .unwrap();
}

/// A source that yields the first `n` numbers at once, and a further one for each message.
fn bursts(n: u64, further: Receiver<()>) -> impl Iterator<Item = u64> + Send + 'static {
    (0..).take_while(move |x| *x < n || further.recv().is_ok())
}

#[test]
fn values_that_none_follows_come_out() {
    within(LONG, || {
        for (workers, first) in [(1, 3), (1, 64), (2, 100), (3, 1000)] {
            let (ask, further) = channel();
            let (put, seen) = channel();
            let p = pipeline::<u64>().map(|x| x * 2).filter(|x| x % 4 == 0);
            let each = move |_: SequenceNumber, x: &u64| put.send(*x).unwrap();
            let run = rings(workers).start((&p).from(bursts(first, further)).to_each(each)).unwrap();
            let expect = |from: u64, to: u64| {
                (from..to).filter(|x| x % 2 == 0).for_each(|x| assert_eq!(seen.recv().unwrap(), 2 * x));
            };
            expect(0, first);
            for further in first..first + 20 {
                ask.send(()).unwrap();
                expect(further, further + 1);
            }
            drop(ask);
            assert_eq!(run.wait().unwrap().1.numbers.0, first + 20);
        }
    })
    .unwrap();
}

#[test]
fn a_drain_takes_what_is_gathered_and_no_more() {
    within(LONG, || {
        for round in 0..50 {
            let first = 1 + round * 7 % 100;
            let asked = Arc::new(AtomicU64::new(0));
            let (ask, further) = channel::<()>();
            let source = bursts(first, further).inspect({
                let asked = asked.clone();
                move |x| asked.store(x + 1, Relaxed)
            });
            let run = rings(1).start(pipeline::<u64>().from(source).to(sink::collect())).unwrap();
            while asked.load(Relaxed) < first {
                std::thread::yield_now();
            }
            run.stopper().drain();
            let (values, _) = run.wait().unwrap();
            // The last one may not be gathered yet.
            assert!((first - 1..=first).contains(&(values.len() as u64)), "{first} {}", values.len());
            assert!(values.iter().copied().eq(0..values.len() as u64), "{first}");
            drop(ask);
        }
    })
    .unwrap();
}

#[test]
fn a_failure_of_the_source_has_its_number_and_the_output_before_it() {
    within(LONG, || {
        for at in [0, 1, 63, 64, 65, 1000] {
            let source = numbers(u64::MAX).inspect(move |x| assert!(*x < at, "no {x}"));
            let put = Arc::new(AtomicU64::new(0));
            let seen = put.clone();
            let each = move |_: SequenceNumber, _: &u64| _ = seen.fetch_add(1, Relaxed);
            let failed = rings(1).run(pipeline::<u64>().map(|x| x + 1).from(source).to_each(each)).unwrap_err();
            let RunError::Stage { stage, number, .. } = failed else { panic!("{failed:?}") };
            assert_eq!((&*stage, number), ("source", Some(SequenceNumber(at))));
            assert!(put.load(Relaxed) <= at);
        }
    })
    .unwrap();
}

#[test]
fn every_value_is_dropped_once_whatever_fails() {
    within(LONG, || {
        for at in [0, 5, 64, 100, 1000] {
            let value = Arc::new(());
            let source = numbers(2000).map({
                let value = value.clone();
                move |n| (n, value.clone())
            });
            let p = pipeline::<(u64, Arc<()>)>().map(move |(n, _)| assert!(*n < at, "not {n}"));
            rings(1).run((&p).from(source).to_each(|_, ()| ())).unwrap_err();
            // The source's thread ends by itself.
            while Arc::strong_count(&value) > 1 {
                std::thread::yield_now();
            }
        }
    })
    .unwrap();
}

/// Futures wait at it until it opens; then the list is gone.
#[derive(Clone)]
struct Gate(Arc<Mutex<Option<Vec<Waker>>>>);

impl Gate {
    fn closed() -> Self {
        Gate(Arc::new(Mutex::new(Some(Vec::new()))))
    }

    fn open(&self) {
        let waiting = self.0.lock().unwrap().take();
        waiting.into_iter().flatten().for_each(Waker::wake);
    }

    fn wait(&self) {
        while self.0.lock().unwrap().is_some() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn pass(&self, x: u64) -> impl Future<Output = u64> + Send + use<> {
        let gate = self.clone();
        poll_fn(move |cx| match &mut *gate.0.lock().unwrap() {
            None => Poll::Ready(x),
            Some(waiting) => {
                waiting.push(cx.waker().clone());
                Poll::Pending
            }
        })
    }
}

/// A small ring, and stages that pass nothing until the gate opens: more values come than both have room for.
fn jammed(gate: &Gate) -> impl Deployable<In = Val<u64>, Out = Val<u64>> + use<> {
    let gate = gate.clone();
    pipeline::<u64>().map_async(4, move |x: &u64| gate.pass(*x))
}

fn on_source_thread() -> bool {
    std::thread::current().name().is_some_and(|name| name.ends_with("source"))
}

#[test]
fn values_that_found_no_room_come_out() {
    within(LONG, || {
        for values in 1..40 {
            let (gate, (put, source), (seen, out)) = (Gate::closed(), channel(), channel());
            let each = move |_: SequenceNumber, x: &u64| seen.send(*x).unwrap();
            let run = rings(1).ring(4).start((&jammed(&gate)).from(source).to_each(each)).unwrap();
            (0..values).for_each(|x| put.send(x).unwrap());
            // A worker takes the stages back meanwhile.
            std::thread::sleep(Duration::from_millis(10));
            gate.open();
            (0..values).for_each(|x| assert_eq!(out.recv(), Ok(x)));
            drop(put);
            assert_eq!(run.wait().unwrap().1.numbers.0, values);
        }
    })
    .unwrap();
}

#[test]
fn a_drain_takes_values_that_found_no_room() {
    within(LONG, || {
        for values in 1..40 {
            let (gate, (put, source)) = (Gate::closed(), channel());
            let run = rings(1).ring(4).start((&jammed(&gate)).from(source).to(sink::collect())).unwrap();
            (0..values).for_each(|x| put.send(x).unwrap());
            std::thread::sleep(Duration::from_millis(10));
            run.stopper().drain();
            gate.open();
            let (all, _) = run.wait().unwrap();
            assert!(all.iter().copied().eq(0..all.len() as u64), "{values}: {all:?}");
            drop(put);
        }
    })
    .unwrap();
}

/// The worker is in a step that is about to fail, and the source's thread in one for a number before it.
#[test]
fn results_of_a_step_that_outlasts_a_failure_come_out() {
    // The output has no room for `LATE` before some of it is read.
    const LATE: u64 = 256;
    const FAILING: u64 = LATE + 1;
    within(LONG, || {
        for _ in 0..5 {
            let (fails, late) = (Gate::closed(), Gate::closed());
            let (reached, (put, source)) = (Arc::new(AtomicU64::new(0)), channel::<u64>());
            let (reaches, fails_now, is_late) = (reached.clone(), fails.clone(), late.clone());
            let until = |x| {
                while reached.load(Relaxed) < x {
                    std::thread::yield_now();
                }
            };
            let p = pipeline::<u64>()
                .map(move |x| {
                    reaches.store(*x, Relaxed);
                    if *x == FAILING {
                        if !on_source_thread() {
                            fails_now.wait();
                        }
                        std::panic::resume_unwind(Box::new("broken"));
                    }
                    *x
                })
                // Its neighbours are not one loop.
                .map_async(1, |x: &u64| std::future::ready(*x))
                .map(move |x| {
                    if *x == LATE {
                        is_late.open();
                        // The worker leaves meanwhile.
                        std::thread::sleep(Duration::from_millis(50));
                    }
                    *x
                });
            let mut out = rings(1).batch(1).iter(p.from(source)).unwrap();
            let mut next = || out.try_next().map_err(|error| error.to_string());
            (0..=LATE).for_each(|x| put.send(x).unwrap());
            until(LATE);
            // A value that comes alone is nearly always the worker's.
            std::thread::sleep(Duration::from_millis(10));
            put.send(FAILING).unwrap();
            until(FAILING);
            (0..3).for_each(|x| assert_eq!(next(), Ok(Some(x))));
            (1..=200).for_each(|x| put.send(FAILING + x).unwrap());
            late.wait();
            fails.open();
            (3..=LATE).for_each(|x| assert_eq!(next(), Ok(Some(x))));
            let failure = next().unwrap_err();
            assert!(failure.contains("number 257: panicked: broken"), "{failure}");
        }
    })
    .unwrap();
}
