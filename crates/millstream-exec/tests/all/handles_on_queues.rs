//! Control of runs on queues.

use crate::handed_in::handed_in;
use millstream_core::failure::into_message;
use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobExt, JobRefExt, Queues, QueuesHandle, Report, RunError, RunOutcome, Runner, Source, source};
use millstream_testkit::within;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_drain_of_queues_that_times_out_reports_how_much_was_left() {
    let (put, has_put) = channel();
    let (keep, waits) = channel::<u64>();
    let values = (0..5).chain(std::iter::from_fn(move || {
        put.send(()).unwrap();
        waits.recv().ok()
    }));
    let (go, stuck) = channel::<u64>();
    let stuck = Mutex::new(stuck);
    let p = pipeline::<u64>().map(move |x| stuck.lock().unwrap().recv().unwrap_or(*x));
    let handle = Queues::new().start((&p).from(values).to_fold(0, |n, _, _| *n += 1)).unwrap();
    has_put.recv().unwrap();
    assert!(!handle.stopper().drain_within(Duration::ZERO));
    drop(go);
    let ended = handle.join();
    let Some(RunError::DrainTimeout { left }) = ended.failure else { panic!("{:?}", ended.failure) };
    // The value in progress may have come out.
    assert!(left >= 4 && left + ended.report.numbers.0 == 5, "{left} left: {:?}", ended.report);
    assert_eq!((ended.output, ended.report.outcome), (Some(ended.report.values), RunOutcome::Stopped));
    drop(keep);
}

/// A run on queues with a closure that gets its handle while the stage after it waits for a value, and the source for
/// room. Returns what the closure panicked with.
fn ended_on_queues(
    source: impl Source<u64> + Send + 'static,
    with: impl Fn(QueuesHandle<()>) + Send + Sync + 'static,
) -> Result<(), String> {
    within(LONG, move || {
        let kept: Arc<Mutex<Option<QueuesHandle<()>>>> = Arc::default();
        let (inside, (said, says)) = (kept.clone(), channel());
        let p = pipeline::<u64>().map(move |x| {
            if *x == 5 {
                let handle = handed_in(&inside);
                let ended = catch_unwind(AssertUnwindSafe(|| with(handle)));
                said.send(ended.map_err(into_message)).unwrap();
            }
            *x
        });
        let run = Queues::new().capacity(1).start(p.from(source).to_each(|_, _| ())).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        *kept.lock().unwrap() = Some(run);
        says.recv().unwrap()
    })
    .unwrap()
}

#[test]
fn a_handle_on_queues_may_be_dropped_in_a_closure_of_its_run() {
    ended_on_queues(source::ready(0..), drop).unwrap();
    ended_on_queues(0.., drop).unwrap();
}

#[test]
fn a_closure_of_a_run_on_queues_cannot_wait_for_its_end() {
    let waits: [fn(QueuesHandle<()>); 4] = [
        |handle| drop(handle.wait()),
        |handle| drop(handle.stop_now()),
        |handle| drop(handle.drain(Duration::MAX)),
        |handle| _ = handle.stopper().drain_within(Duration::MAX),
    ];
    for waits in waits {
        let refused = ended_on_queues(0.., waits).unwrap_err();
        assert!(refused.contains("a closure of a run waits for the end of that run"), "{refused}");
    }
}

/// A run on queues whose source gets its handle before it yields its sixth value.
fn asked_in_source<R: Send + 'static>(with: impl Fn(QueuesHandle<()>) -> R + Send + 'static) -> Result<R, String> {
    within(LONG, move || {
        let kept: Arc<Mutex<Option<QueuesHandle<()>>>> = Arc::default();
        let (inside, (says, said)) = (kept.clone(), channel());
        let values = (0..).inspect(move |x: &u64| {
            if *x == 5 {
                let asked = catch_unwind(AssertUnwindSafe(|| with(handed_in(&inside))));
                says.send(asked.map_err(into_message)).unwrap();
            }
        });
        let p = pipeline::<u64>().map(|x| x + 1);
        *kept.lock().unwrap() = Some(Queues::new().start(p.from(values).to_each(|_, _| ())).unwrap());
        said.recv().unwrap()
    })
    .unwrap()
}

/// The run would wait for the source, and the source for the run. What does not wait for the source is done.
#[test]
fn a_source_on_queues_that_waits_for_its_run_panics() {
    let waited = asked_in_source(|handle| drop(handle.wait())).unwrap_err();
    assert!(waited.contains("a closure of a run waits for the end of that run"), "{waited}");
    let outcome = |(_, report): ((), Report)| report.outcome;
    assert_eq!(asked_in_source(move |handle| outcome(handle.drain(LONG).unwrap())), Ok(RunOutcome::Drained));
    assert_eq!(asked_in_source(move |handle| outcome(handle.stop_now().unwrap())), Ok(RunOutcome::Stopped));
    asked_in_source(drop).unwrap();
}
