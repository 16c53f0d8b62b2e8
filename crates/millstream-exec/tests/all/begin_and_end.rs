//! User code while a run begins, and while one of its closures ends it.

use crate::handed_in::handed_in;
use millstream_core::failure::into_message;
use millstream_core::{Arrow, pipeline};
use millstream_exec::{Handle, JobExt, Rings, Runner, source};
use millstream_testkit::within;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_sink_that_stops_its_run_and_waits_is_told_that_this_waits_for_itself() {
    within(LONG, || {
        let kept: Arc<Mutex<Option<Handle<()>>>> = Arc::default();
        let (said, says) = channel();
        let inside = kept.clone();
        let stops = move |_, x: &u64| {
            if *x == 5 {
                let stopped = catch_unwind(AssertUnwindSafe(|| handed_in(&inside).stop_now().map(drop)));
                said.send(stopped.map_err(into_message)).unwrap();
            }
        };
        let run = Rings::new().workers(1).start(pipeline::<u64>().map(|x| *x).from(0..).to_each(stops)).unwrap();
        *kept.lock().unwrap() = Some(run);
        let said = says.recv().unwrap().unwrap_err();
        assert!(
            said.contains("a closure of a run waits for the end of that run, which waits for the closure"),
            "{said}"
        );
    })
    .unwrap();
}

/// A state that no stage gets.
struct Breaks;

impl Clone for Breaks {
    fn clone(&self) -> Self {
        resume_unwind(Box::new("no state"))
    }
}

#[test]
fn a_sender_gets_its_value_back_from_a_run_whose_start_has_panicked() {
    within(LONG, || {
        let (sender, receiver) = source::channel(2);
        let p = pipeline::<u64>().scan(Breaks, |_, x| *x);
        let start = move || Rings::new().start(p.from(receiver).to_each(|_, _| ()));
        assert!(catch_unwind(AssertUnwindSafe(start)).is_err());
        assert!(sender.send_all(0..10).is_err());
    })
    .unwrap();
}
