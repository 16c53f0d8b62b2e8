//! Futures on queues, whose threads wait for one after another.

use futures_util::future::pending;
use millstream_core::{Arrow, AsyncExt, pipeline};
use millstream_exec::{JobExt, Queues, QueuesHandle, RunOutcome, Runner};
use millstream_testkit::within;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A run on queues in which the future of 1 never completes, in one of the three stages of futures, and a receiver that
/// reports that it waits. With `fails`, the next stage takes that report, and panics.
fn stuck_on_queues(stage: usize, fails: bool, alive: &Arc<()>) -> (QueuesHandle<()>, Arc<Mutex<Receiver<()>>>) {
    let (started, starts) = channel();
    let (kept, starts) = (alive.clone(), Arc::new(Mutex::new(starts)));
    let future = move |x: &u64| {
        let (x, one, started) = (*x, kept.clone(), started.clone());
        async move {
            if x == 1 {
                started.send(()).unwrap();
                pending::<()>().await;
            }
            drop(one);
            x
        }
    };
    let reports = starts.clone();
    let next = move |x: &u64| {
        if fails {
            reports.lock().unwrap().recv().unwrap();
            std::panic::resume_unwind(Box::new("meant to panic"));
        }
        *x
    };
    let first = pipeline::<u64>();
    let run = match stage {
        0 => Queues::new().start(first.map_async(1, future).map(next).from(0..).to_each(|_, _| ())),
        1 => Queues::new().start(first.unordered(1, future).map(next).from(0..).to_each(|_, _| ())),
        _ => {
            let judge = move |x: &u64| {
                let future = future(x);
                async move { Ok::<_, String>(future.await) }
            };
            let judged = first.try_map_async_or_dead_letter(1, "dead", judge, |_| ());
            Queues::new().start(judged.map(next).from(0..).to_each(|_, _| ()))
        }
    };
    (run.unwrap(), starts)
}

#[test]
fn queues_drop_a_future_that_never_completes() {
    for stage in 0..3 {
        within(Duration::from_secs(60), move || {
            let alive = Arc::new(());
            for way in 0..4 {
                let (run, starts) = stuck_on_queues(stage, way == 3, &alive);
                if way < 3 {
                    starts.lock().unwrap().recv().unwrap();
                }
                match way {
                    0 => assert_eq!(run.stop_now().unwrap().1.outcome, RunOutcome::Stopped),
                    1 => assert_eq!(run.drain_join(Duration::ZERO).report.outcome, RunOutcome::Stopped),
                    2 => drop(run),
                    _ => assert!(run.wait().unwrap_err().to_string().contains("meant to panic")),
                }
                assert_eq!(Arc::strong_count(&alive), 1, "way {way}");
            }
        })
        .unwrap();
    }
}
