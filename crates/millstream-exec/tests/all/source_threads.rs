//! User code on the thread of a source: it may ask for its run, and what it does there ends with the run.

use crate::handed_in::handed_in;
use millstream_core::failure::into_message;
use millstream_core::{Arrow, pipeline};
use millstream_exec::{Handle, JobExt, Rings, RunOutcome, Runner, StagesOn, source};
use millstream_testkit::within;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{current, yield_now};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(1);

type Values = Box<dyn Iterator<Item = u64> + Send>;

/// Runs what `start` makes of values of which the sixth is followed by `with`, on the handle of the run. Returns the
/// result of `with`.
fn asked_in_source<R: Send + 'static>(
    start: impl FnOnce(Values) -> Handle<()>,
    with: impl Fn(Handle<()>) -> R + Send + 'static,
) -> Result<R, String> {
    let kept: Arc<Mutex<Option<Handle<()>>>> = Arc::default();
    let (inside, (says, said)) = (kept.clone(), channel());
    let values = (0..).inspect(move |x| {
        if *x == 5 {
            let asked = catch_unwind(AssertUnwindSafe(|| with(handed_in(&inside))));
            says.send(asked.map_err(into_message)).unwrap();
        }
    });
    let run = start(Box::new(values));
    *kept.lock().unwrap() = Some(run);
    said.recv().unwrap()
}

fn started(rings: &Rings, values: impl source::Source<u64>) -> Handle<()> {
    rings.start(pipeline::<u64>().map(|x| x + 1).from(values).to_each(|_, _| ())).unwrap()
}

/// The run would wait for the source, and the source for the run.
#[test]
fn a_source_that_waits_for_its_run_panics() {
    let starts: [fn(Values) -> Handle<()>; 6] = [
        |values| started(&Rings::new(), values),
        |values| started(&Rings::new().stages_on(StagesOn::Source), values),
        |values| started(&Rings::new().stages_on(StagesOn::Workers), values),
        |values| Rings::new().start(pipeline::<u64>().map_blocking(|x| x + 1).from(values).to_each(|_, _| ())).unwrap(),
        // The values come from a thread ahead of the source's.
        |values| started(&Rings::new(), source::debounce(values, SHORT)),
        |values| started(&Rings::new(), source::debounce(source::debounce(values, SHORT), SHORT)),
    ];
    for (at, start) in starts.into_iter().enumerate() {
        within(LONG, move || {
            let waited = asked_in_source(start, |handle| drop(handle.wait())).unwrap_err();
            assert!(waited.contains("a closure of a run waits for the end of that run"), "{at}: {waited}");
            // What does not wait for the source is done.
            let stopped = asked_in_source(start, |handle| handle.stop_now().unwrap().1.outcome).unwrap();
            assert_eq!(stopped, RunOutcome::Stopped, "{at}");
            let drained = asked_in_source(start, |handle| handle.drain(LONG).unwrap().1.outcome).unwrap();
            assert_eq!(drained, RunOutcome::Drained, "{at}");
            asked_in_source(start, drop).unwrap();
        })
        .unwrap_or_else(|error| panic!("{at}: {error:?}"));
    }
}

/// The stages are dropped when the source's thread leaves them, although the program keeps a stopper.
#[test]
fn stages_on_the_sources_thread_end_with_the_run() {
    within(LONG, || {
        let kept: Arc<Mutex<Option<Handle<()>>>> = Arc::default();
        let (inside, alive) = (kept.clone(), Arc::new(()));
        let held = alive.clone();
        let p = pipeline::<u64>()
            .map(move |x| {
                let _held = &held;
                if *x == 5000 {
                    let run = handed_in(&inside);
                    let stopper = run.stopper();
                    drop(run);
                    // The workers leave meanwhile, and drop all but this stage; one of them may be this thread.
                    let others = || stopper.unfinished().iter().any(|stage| stage.stage != "held");
                    while current().name() == Some("millstream-source") && others() {
                        yield_now();
                    }
                }
                *x
            })
            .named("held");
        let rings = Rings::new().stages_on(StagesOn::Source);
        let run = rings.start(p.from((0..).map(|x: u64| x)).to_each(|_, _| ())).unwrap();
        let stopper = run.stopper();
        *kept.lock().unwrap() = Some(run);
        while Arc::strong_count(&alive) > 1 {
            yield_now();
        }
        // The thread that drops the stage may still be in its step.
        while !stopper.unfinished().is_empty() {
            yield_now();
        }
    })
    .unwrap();
}
