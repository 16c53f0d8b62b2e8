//! User code in unusual places: drops of panic payloads, wakers, handles in closures.

use crate::handed_in::handed_in;
use millstream_core::failure::into_message;
use millstream_core::{Arrow, AsyncExt, ClockExt, FeedbackExt, Retry, StreamsExt, TryMapExt, pipeline};
use millstream_exec::{Handle, JobExt, JobRefExt, Rings, RunError, RunOutcome, Runner, ThroughExt, source};
use millstream_testkit::within;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Panics when it is dropped, nested this many times.
struct Evil(u32);

impl Drop for Evil {
    fn drop(&mut self) {
        if self.0 > 0 {
            resume_unwind(Box::new(Evil(self.0 - 1)));
        }
    }
}

fn evil_at_3(x: &u64) -> u64 {
    if *x == 3 { resume_unwind(Box::new(Evil(10))) } else { *x }
}

#[test]
fn a_panics_payload_may_panic_when_it_is_dropped() {
    let values = || (0..10_u64).map(|x| evil_at_3(&x));
    let failed = |outcome: Result<_, RunError>, stage: &str| {
        let outcome: Result<Vec<u64>, RunError> = outcome;
        assert_eq!(outcome.unwrap_err().to_string(), format!(r#"stage "{stage}", number 3: panicked"#));
    };
    within(LONG, move || {
        let rings = Rings::new();
        failed(rings.collect(pipeline::<u64>().from(values())), "source");
        failed(rings.collect(pipeline::<u64>().from(source::ready(values()))), "source");
        failed(rings.collect(pipeline::<u64>().map(evil_at_3).from(source::ready(0..10))), "map-1");
        failed(rings.collect(pipeline::<u64>().map_blocking(evil_at_3).from(0..10)), "map_blocking-1");
        let later = |x: &u64| {
            let x = *x;
            async move { evil_at_3(&x) }
        };
        failed(rings.collect(pipeline::<u64>().map_async(2, later).from(0..10)), "map_async-1");
        let or_empty = pipeline::<u64>().try_map_or_empty(|x| Ok::<_, &str>(evil_at_3(x)));
        assert_eq!(rings.collect((&or_empty).from(0..5)).unwrap(), [0, 1, 2, 4]);
        // After the end of the stream a panic is no failure, and neither is a panic in its payload's drop.
        for _ in 0..50 {
            let cut = pipeline::<u64>().map(evil_at_3).take(3);
            assert_eq!(rings.clone().batch(1).collect(cut.from(source::ready(0..))).unwrap(), [0, 1, 2]);
        }
    })
    .unwrap();
}

struct Bad;

impl Wake for Bad {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new(Evil(10)));
    }
}

/// Reports that it was woken.
struct Tells(Mutex<std::sync::mpsc::Sender<()>>);

impl Wake for Tells {
    fn wake(self: Arc<Self>) {
        let _ = self.0.lock().unwrap().send(());
    }
}

#[test]
fn a_waker_that_panics_leaves_no_waiter_asleep_and_fails_no_run() {
    within(LONG, || {
        let (open, gate) = channel::<()>();
        let (gate, open) = (Mutex::new(gate), Mutex::new(open));
        let sink = move |n: &mut u64, _, _: &u64| {
            let _ = gate.lock().unwrap().recv();
            *n += 1;
        };
        let (sender, receiver) = source::channel(1);
        let run = Rings::new().ring(1).workers(1).start(pipeline::<u64>().from(receiver).to_fold(0, sink)).unwrap();
        let mut sent = 0;
        while sender.try_send(1).is_ok() {
            sent += 1;
        }
        let (woken, wakes) = channel();
        let (bad, good) = (Waker::from(Arc::new(Bad)), Waker::from(Arc::new(Tells(Mutex::new(woken)))));
        let (mut first, mut second) = (sender.send_async(2), sender.send_async(3));
        assert!(Pin::new(&mut first).poll(&mut Context::from_waker(&bad)).is_pending());
        assert!(Pin::new(&mut second).poll(&mut Context::from_waker(&good)).is_pending());
        drop(open);
        // The task after the bad one.
        wakes.recv().unwrap();
        drop((first, second));
        drop(sender);
        let (n, report) = run.wait().unwrap();
        assert_eq!((n, report.outcome), (sent, RunOutcome::End));
    })
    .unwrap();
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task that runs at once on the thread that wakes it.
struct AtOnce(Mutex<Option<Task>>, AtomicBool);

impl Wake for AtOnce {
    fn wake(self: Arc<Self>) {
        self.1.store(true, Ordering::SeqCst);
        while self.1.load(Ordering::SeqCst) {
            let Ok(mut task) = self.0.try_lock() else { return };
            self.1.store(false, Ordering::SeqCst);
            let waker = Waker::from(self.clone());
            if task.as_mut().is_some_and(|task| task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()) {
                *task = None;
            }
        }
    }
}

#[cfg(feature = "stream")]
#[test]
fn a_stream_can_be_polled_by_its_waker() {
    use futures_util::{StreamExt, TryStreamExt};
    within(LONG, || {
        for values in [0..5_u64, 0..300] {
            for fails in [false, true] {
                let last = values.end - 1;
                let p = pipeline::<u64>().map(move |x| if fails && *x == last { panic!("at the last") } else { *x });
                let (results, result) = channel();
                let mut stream = values.clone().through(p).stream();
                let task = async move {
                    let all: Result<Vec<u64>, RunError> = stream.by_ref().try_collect().await;
                    let _ = results.send((all, stream.next().await.is_none()));
                };
                Arc::new(AtOnce(Mutex::new(Some(Box::pin(task))), AtomicBool::new(false))).wake();
                let (all, ended) = result.recv().unwrap();
                assert!(ended);
                match fails {
                    false => assert_eq!(all.unwrap(), values.clone().collect::<Vec<_>>()),
                    true => assert!(all.unwrap_err().to_string().ends_with("panicked: at the last")),
                }
            }
        }
    })
    .unwrap();
}

/// Runs a pipeline with a closure that ends the run by `with`. Returns the result of `with` and the end of the run.
fn ended_by_closure<R: Send + 'static>(
    workers: usize,
    with: impl Fn(Handle<()>) -> R + Send + Sync + 'static,
) -> Result<R, String> {
    let kept: Arc<Mutex<Option<Handle<()>>>> = Arc::default();
    let (said, says) = channel();
    let inside = kept.clone();
    let alive = Arc::new(());
    let held = alive.clone();
    let p = pipeline::<u64>()
        .map(move |x| {
            let _held = &held;
            if *x == 5 {
                let ended = catch_unwind(AssertUnwindSafe(|| with(handed_in(&inside))));
                said.send(ended.map_err(into_message)).unwrap();
            }
            *x
        })
        .map(|x| x + 1);
    let run = Rings::new().workers(workers).start((&p).from(0..).to_each(|_, _| ())).unwrap();
    drop(p);
    *kept.lock().unwrap() = Some(run);
    let ended = says.recv().unwrap();
    // The worker drops the run's values once it has left the closure.
    while Arc::strong_count(&alive) > 1 {
        std::thread::yield_now();
    }
    ended
}

#[test]
fn a_handle_may_be_dropped_in_a_closure_of_its_run() {
    within(LONG, || {
        for workers in 1..3 {
            ended_by_closure(workers, drop).unwrap();
            let stopped = ended_by_closure(workers, |handle| handle.stop_now().unwrap().1.outcome).unwrap();
            assert_eq!(stopped, RunOutcome::Stopped);
            let waits: [fn(Handle<()>); 3] = [
                |handle| drop(handle.wait()),
                |handle| drop(handle.drain(Duration::MAX)),
                |handle| _ = handle.stopper().drain_within(Duration::MAX),
            ];
            for waits in waits {
                let waited = ended_by_closure(workers, waits).unwrap_err();
                assert!(waited.contains("a closure of a run waits for the end of that run"), "{waited}");
            }
        }
    })
    .unwrap();
}

static ALIVE: AtomicI64 = AtomicI64::new(0);

struct Counted;

impl Counted {
    fn new() -> Self {
        ALIVE.fetch_add(1, Ordering::SeqCst);
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn a_stopper_that_outlives_its_run_keeps_no_value() {
    within(LONG, || {
        for stops in [false, true] {
            let values = (0..10_000).map(|_| Counted::new());
            let run = Rings::new().start(pipeline::<Counted>().from(values).to_each(|_, _| ())).unwrap();
            let stopper = run.stopper();
            if stops {
                run.stop_now().unwrap()
            } else {
                run.wait().unwrap()
            };
            // The source's thread may still hold one.
            while ALIVE.load(Ordering::SeqCst) > 0 {
                std::thread::yield_now();
            }
            stopper.drain();
        }
    })
    .unwrap();
}

/// The tries of a stage that waits a day between two tries.
fn waits_a_day(tries: &Arc<AtomicUsize>) -> impl Fn(&u64) -> Result<u64, &'static str> + use<> {
    let tries = tries.clone();
    move |x| {
        tries.fetch_add(1, Ordering::SeqCst);
        if *x < 3 { Ok(*x) } else { Err("not yet") }
    }
}

const DAILY: fn() -> Retry = || Retry::times(4).backoff(Duration::from_secs(86_400));

#[test]
fn the_pause_between_two_tries_is_not_waited_for() {
    within(LONG, || {
        for how in 0..6 {
            let tries = Arc::new(AtomicUsize::new(0));
            let daily = waits_a_day(&tries);
            let p = pipeline::<u64>().try_map_retry(DAILY(), daily);
            let rings = Rings::new().workers(2);
            let paused = || {
                while tries.load(Ordering::SeqCst) < 4 {
                    std::thread::yield_now();
                }
            };
            match how {
                0 | 1 => {
                    let run = rings.start((&p).from(0..10).to_each(|_, _| ())).unwrap();
                    paused();
                    let ended = if how == 0 {
                        run.stop_now().unwrap().1
                    } else {
                        run.drain_join(Duration::from_millis(1)).report
                    };
                    assert_eq!(ended.outcome, RunOutcome::Stopped);
                }
                2 => {
                    let run = rings.start((&p).from(0..10).to_each(|_, _| ())).unwrap();
                    paused();
                    drop(run);
                }
                3 => {
                    // Another stage fails meanwhile.
                    let gate = tries.clone();
                    let q = p.fanout(|p| p, |p| p).map(move |(x, _)| {
                        while *x == 2 && gate.load(Ordering::SeqCst) < 4 {
                            std::thread::yield_now();
                        }
                        1 / (2 - x)
                    });
                    let error = rings.collect((&q).from(0..10)).unwrap_err();
                    assert!(error.to_string().contains("divide by zero"), "{error}");
                }
                4 => {
                    // The rest is no longer wanted.
                    let q = p.take(3);
                    assert_eq!(rings.collect((&q).from(0..10)).unwrap(), [0, 1, 2]);
                }
                _ => {
                    let q = p.feedback(0, |p| p.map(|(x, n)| (x + n, *n)));
                    let run = rings.start((&q).from(0..10).to_each(|_, _| ())).unwrap();
                    paused();
                    assert_eq!(run.stop_now().unwrap().1.outcome, RunOutcome::Stopped);
                }
            }
        }
    })
    .unwrap();
}

#[test]
fn a_sources_panic_after_a_stop_is_not_part_of_the_run() {
    within(LONG, || {
        for _ in 0..20 {
            let (go, went) = channel::<()>();
            let (entered, enters) = channel();
            let went = Mutex::new(went);
            let values = (0..).inspect(move |x: &u64| {
                if *x == 3 {
                    entered.send(()).unwrap();
                    let _ = went.lock().unwrap().recv();
                    resume_unwind(Box::new("after the stop"));
                }
            });
            let run = Rings::new().start(pipeline::<u64>().from(values).to_each(|_, _| ())).unwrap();
            enters.recv().unwrap();
            let stopper = run.stopper();
            stopper.stop_now();
            drop(go);
            // The source's thread has passed its panic when it releases the run's counters.
            let observer = run.observer();
            while !observer.is_finished() {
                std::thread::yield_now();
            }
            std::thread::yield_now();
            assert_eq!(run.wait().unwrap().1.outcome, RunOutcome::Stopped);
        }
    })
    .unwrap();
}

#[test]
fn of_several_failures_the_one_a_single_thread_would_meet_is_reported() {
    within(LONG, || {
        // The upstream stage fails at its number 7, the downstream one at its number 50, which came from number 5
        // upstream.
        for upstream_first in [false, true] {
            let ((upstream, upstream_done), (downstream, downstream_done)) = (channel::<()>(), channel::<()>());
            let (upstream_done, downstream_done) = (Mutex::new(upstream_done), Mutex::new(downstream_done));
            let (upstream, downstream) = (Mutex::new(Some(upstream)), Mutex::new(Some(downstream)));
            let p = pipeline::<u64>()
                .map_blocking(move |x| {
                    if *x == 7 {
                        drop(upstream.lock().unwrap().take());
                        let _ = downstream_done.lock().unwrap().recv();
                        if !upstream_first {
                            std::thread::sleep(Duration::from_millis(20));
                        }
                        resume_unwind(Box::new("upstream"));
                    }
                    *x
                })
                .flat_map(|x| (0..10).map(|i| x * 10 + i).collect::<Vec<_>>())
                .map_blocking(move |x| {
                    if *x == 50 {
                        drop(downstream.lock().unwrap().take());
                        let _ = upstream_done.lock().unwrap().recv();
                        if upstream_first {
                            std::thread::sleep(Duration::from_millis(20));
                        }
                        resume_unwind(Box::new("downstream"));
                    }
                    *x
                });
            let error = Rings::new().workers(1).collect((&p).from(0..100)).unwrap_err();
            assert_eq!(error.to_string(), r#"stage "map_blocking-2", number 50: panicked: downstream"#);
        }
    })
    .unwrap();
}
