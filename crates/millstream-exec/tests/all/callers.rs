//! The thread of a caller runs the stages of a service, and nothing else changes.

use millstream_core::{Arrow, AsyncExt, pipeline};
use millstream_exec::{
    CallError, Client, Counters, Handle, JobExt, Rings, Runner, Source, StagesOn, Stopper, TaskletCounters, requests,
    service, source,
};
use millstream_testkit::within;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{ThreadId, current, sleep, spawn};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(120);

fn stage_thread() -> (Client<u64, ThreadId>, Handle<()>) {
    service(requests::<u64>().map(|_| current().id())).start().unwrap()
}

/// Calls until a call runs the stages on this thread. Returns how many it took. Beside many busy processes every step
/// looks long, so the workers go on: none, after some time.
fn until_here(call: impl Fn() -> ThreadId) -> Option<u64> {
    let until = Instant::now() + LONG / 4;
    let mut calls = 1;
    while call() != current().id() {
        if Instant::now() > until {
            return None;
        }
        std::thread::yield_now();
        calls += 1;
    }
    Some(calls)
}

#[test]
fn a_call_of_a_service_that_takes_little_runs_the_stages() {
    within(LONG, || {
        let (client, run) = stage_thread();
        if until_here(|| client.call_blocking(1).unwrap()).is_none() {
            let cost = cost(&run);
            assert!(cost > LITTLE / 2, "the workers run them, although a request takes {cost:?}");
        }
    })
    .unwrap();
}

/// A request that is measured to take longer runs on the workers.
const LITTLE: Duration = Duration::from_micros(20);

/// What a request was measured to take in all stages.
fn cost(run: &Handle<()>) -> Duration {
    let mut counters = Counters::default();
    run.observer().read(&mut counters);
    let ns: f64 = counters.tasklets.iter().filter_map(TaskletCounters::ns_per_number).sum();
    Duration::from_nanos(ns as u64)
}

#[test]
fn a_request_that_is_only_sent_runs_on_the_workers() {
    within(LONG, || {
        let (client, _run) = stage_thread();
        let Some(_) = until_here(|| client.call_blocking(1).unwrap()) else { return };
        for _ in 0..100 {
            assert_ne!(client.send(1).unwrap().wait().unwrap(), current().id());
            assert_ne!(client.try_send(1).unwrap().wait().unwrap(), current().id());
        }
    })
    .unwrap();
}

#[test]
fn the_stages_stay_on_the_workers_if_that_is_set() {
    within(LONG, || {
        let rings = Rings::new().stages_on(StagesOn::Workers);
        let (client, _run) = service(requests::<u64>().map(|_| current().id())).start_on(&rings).unwrap();
        for _ in 0..500 {
            assert_ne!(client.call_blocking(1).unwrap(), current().id());
        }
    })
    .unwrap();
}

#[test]
fn stages_that_take_long_run_on_the_workers() {
    let slow = service(requests::<u64>().map(|_| {
        sleep(Duration::from_millis(1));
        current().id()
    }));
    let (client, _run) = slow.start().unwrap();
    for _ in 0..50 {
        assert_ne!(client.call_blocking(1).unwrap(), current().id());
    }
}

/// A source inside a stage ends with its own run, and not with the one whose source calls the service.
#[test]
fn a_caller_in_a_source_does_not_end_the_sources_of_the_stages() {
    within(LONG, || {
        let of_caller: Arc<OnceLock<Stopper>> = Arc::default();
        let stopper = of_caller.clone();
        let (client, _service) = service(requests::<bool>().map(move |drains| {
            let drain = |_: &u64| stopper.get().expect("it has begun").drain();
            let inner = || source::throttle(0..3_u64, Duration::from_micros(100)).into_values();
            (current().id(), if *drains { inner().inspect(drain).count() } else { 0 })
        }))
        .start()
        .unwrap();
        let (begins, begun) = channel();
        let (says, said) = channel();
        let values = std::iter::once_with(move || {
            begun.recv().unwrap();
            let here = |drains| client.call_blocking(drains).unwrap();
            // What takes long runs on a worker from time to time.
            let seen = loop {
                if until_here(|| here(false).0).is_none() {
                    break 3;
                }
                let (thread, values) = here(true);
                if thread == current().id() {
                    break values;
                }
            };
            says.send(seen).unwrap();
            0
        });
        let caller = Rings::new().start(pipeline::<u64>().map(|x| x + 1).from(values).to_each(|_, _| ())).unwrap();
        assert!(of_caller.set(caller.stopper()).is_ok());
        begins.send(()).unwrap();
        assert_eq!(said.recv().unwrap(), 3);
    })
    .unwrap();
}

#[test]
fn a_stage_that_waits_keeps_all_of_them_on_their_own_threads() {
    within(LONG, || {
        let blocking = service(requests::<u64>().map_blocking(|x| *x).map(|_| current().id()));
        let (client, _run) = blocking.start().unwrap();
        for _ in 0..500 {
            assert_ne!(client.call_blocking(1).unwrap(), current().id());
        }
        // Its future is woken by another thread.
        let (wakes, woken) = std::sync::mpsc::channel::<Waker>();
        spawn(move || woken.iter().for_each(Waker::wake));
        let asynchronous = service(requests::<u64>().map_async(4, move |x: &u64| {
            let (x, wakes, mut first) = (*x, wakes.clone(), true);
            std::future::poll_fn(move |cx| {
                if std::mem::take(&mut first) {
                    wakes.send(cx.waker().clone()).unwrap();
                    return Poll::Pending;
                }
                Poll::Ready(x)
            })
        }));
        let (client, _run) = asynchronous.start().unwrap();
        for x in 0..500 {
            assert_eq!(client.call_blocking(x), Ok(x));
        }
    })
    .unwrap();
}

/// Polls until the future is ready, as an executor without sleep does.
fn polled<F: Future>(future: F) -> F::Output {
    let mut future: Pin<&mut F> = pin!(future);
    loop {
        if let Some(output) = poll_once(future.as_mut()) {
            return output;
        }
        std::thread::yield_now();
    }
}

#[test]
fn callers_of_every_kind_get_the_answers_of_one_stream() {
    const CALLS: u64 = 3000;
    within(LONG, || {
        for ring in [1, 4, 4096] {
            let count = requests::<u64>().filter(|x| *x < 10).scan(0, |n: &mut u64, _: &u64| {
                *n += 1;
                *n
            });
            let (client, run) = service(count).ring(ring).start().unwrap();
            let caller = |kind: u64| {
                let client = client.clone();
                spawn(move || {
                    let one = |n: u64| match (kind + n / 100) % 4 {
                        0 => client.call_blocking(1),
                        1 => polled(client.call(1)),
                        2 => client.send(1).unwrap().wait(),
                        _ => polled(client.try_call(1)).unwrap_or_else(|_| client.call_blocking(1)),
                    };
                    let answers: Vec<_> = (0..CALLS).map(|n| one(n).unwrap()).collect();
                    assert_eq!(client.call_blocking(10), Err(CallError::NoAnswer));
                    assert!(answers.is_sorted());
                    answers
                })
            };
            let callers: Vec<_> = (0..4).map(caller).collect();
            let mut answers: Vec<_> = callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
            answers.sort_unstable();
            assert!(answers.into_iter().eq(1..=4 * CALLS), "each number once");
            drop(client);
            assert_eq!(run.wait().unwrap().1.numbers.0, 4 * (CALLS + 1));
        }
    })
    .unwrap();
}

#[test]
fn a_failure_on_a_callers_thread_is_that_of_the_run() {
    within(LONG, || {
        let divide = service(requests::<u64>().map(|x| (12 / *x, current().id())).named("divide"));
        let (client, run) = divide.start().unwrap();
        let Some(_) = until_here(|| client.call_blocking(4).unwrap().1) else { return };
        let failed = client.call_blocking(0).unwrap_err();
        let CallError::Failed(error) = &failed else { panic!("{failed}") };
        assert!(error.to_string().contains("\"divide\""), "{error}");
        assert_eq!(run.wait().unwrap_err(), **error);
        assert!(matches!(client.call_blocking(4), Err(CallError::Failed(_))));
    })
    .unwrap();
}

#[test]
fn a_stage_may_call_another_service() {
    within(LONG, || {
        let (inner, _inner_run) = service(requests::<u64>().map(|x| x + 1)).start().unwrap();
        let (client, _run) = service(requests::<u64>().map(move |x| inner.call_blocking(*x).unwrap())).start().unwrap();
        for x in 0..2000 {
            assert_eq!(client.call_blocking(x), Ok(x + 1));
        }
    })
    .unwrap();
}

#[test]
fn a_stage_on_a_callers_thread_may_drop_the_run() {
    within(LONG, || {
        let place: Arc<Mutex<Option<Handle<()>>>> = Arc::default();
        let handle = place.clone();
        let stages = requests::<u64>().map(move |x| {
            let run = (*x == 0).then(|| handle.lock().unwrap_or_else(PoisonError::into_inner).take());
            drop(run);
            current().id()
        });
        let (client, run) = service(stages).start().unwrap();
        *place.lock().unwrap() = Some(run);
        let Some(_) = until_here(|| client.call_blocking(1).unwrap()) else { return };
        // The run is stopped in the middle of this call, which ends one way or the other.
        let last = client.call_blocking(0);
        assert!(matches!(last, Err(CallError::Ended) | Ok(_)), "{last:?}");
        assert_eq!(client.call_blocking(1), Err(CallError::Ended));
    })
    .unwrap();
}

#[test]
fn a_drain_ends_a_run_whose_callers_run_the_stages() {
    within(LONG, || {
        let (client, run) = stage_thread();
        let Some(_) = until_here(|| client.call_blocking(1).unwrap()) else { return };
        let last = client.clone();
        drop(client);
        run.drain(LONG).unwrap();
        assert_eq!(last.call_blocking(1), Err(CallError::Ended));
    })
    .unwrap();
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

#[test]
fn async_calls_of_one_executor_are_done_in_one_turn() {
    within(LONG, || {
        let (client, _run) = stage_thread();
        let here = Some(Ok(current().id()));
        let mut together = false;
        while !together {
            client.call_blocking(1).unwrap();
            let mut calls: Vec<_> = (0..8).map(|_| Box::pin(client.call(1))).collect();
            // Each sends its request, and lets the others go first. An answer is there already if a worker ran the
            // stages meanwhile: then the callers try again.
            let all_sent = calls.iter_mut().all(|call| poll_once(call.as_mut()).is_none());
            together = all_sent && calls.iter_mut().all(|call| poll_once(call.as_mut()) == here);
        }
    })
    .unwrap();
}

#[test]
fn a_call_that_is_dropped_while_it_lets_others_go_first_is_worked_on() {
    within(LONG, || {
        let done = Arc::new(AtomicU64::new(0));
        let counter = done.clone();
        let stages = requests::<u64>().map(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
            current().id()
        });
        let (client, _run) = service(stages).start().unwrap();
        let (mut sent, mut dropped) = (0, false);
        while !dropped {
            let Some(calls) = until_here(|| client.call_blocking(1).unwrap()) else { return };
            sent += calls + 1;
            // The answer is there already if a worker ran the stages meanwhile.
            dropped = poll_once(pin!(client.call(1))).is_none();
        }
        while done.load(Ordering::SeqCst) < sent {
            std::thread::yield_now();
        }
    })
    .unwrap();
}
