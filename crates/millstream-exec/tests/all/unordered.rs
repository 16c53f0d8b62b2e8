//! Futures whose results come in the order of completion: the model's values, in any order.

use millstream_core::{Arrow, AsyncExt, ModelExt, pipeline};
use millstream_exec::{Inline, JobRefExt, Rings, RunError, Runner, source};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

/// Yields until `over` returns true.
async fn until(mut over: impl FnMut() -> bool) {
    std::future::poll_fn(move |cx| {
        if over() {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

async fn yielding(mut times: u64) {
    until(move || {
        times = times.saturating_sub(1);
        times == 0
    })
    .await;
}

/// A mix of futures that are ready at once and futures that take time.
fn uneven(x: &u64) -> impl Future<Output = u64> + use<> {
    let x = *x;
    async move {
        yielding(x * 7 % 5).await;
        x * 10
    }
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values
}

#[test]
fn the_values_are_the_models_in_any_order_and_the_slots_are_dense() {
    // With empty slots before it, and a value at END.
    let sparse = pipeline::<u64>().filter(|x| x % 3 != 0).unordered(4, uneven).map(|x| x + 1);
    let at_end = pipeline::<u64>().fold(0, |sum, x| *sum += x, |sum| sum).unordered(1, uneven);
    for ring in [1, 2, 64] {
        for batch in [1, 3, 100] {
            for workers in 1..=3 {
                let rings = Rings::new().ring(ring).batch(batch).workers(workers);
                let mut slots = rings.collect_slots((&sparse).from(source::ready(0..200))).unwrap();
                assert_eq!(slots.pop(), Some(None), "END is empty");
                let values: Option<Vec<u64>> = slots.into_iter().collect();
                assert_eq!(values.map(sorted), Some(sorted(sparse.model(0..200))), "{rings:?}");
                assert_eq!(rings.collect_slots((&at_end).from(0..5)), Ok(vec![Some(100), None]));
            }
        }
    }
}

#[test]
fn on_the_calling_thread_the_order_is_that_of_the_inputs() {
    let p = pipeline::<u64>().unordered(3, uneven);
    let put = |all: &mut Vec<u64>, _, x: &u64| all.push(*x);
    let (all, _) = Inline::new(Rings::new().ring(4)).run((&p).from(0..50).to_fold(Vec::new(), put)).unwrap();
    assert_eq!(all, p.model(0..50));
}

/// The first future waits until the sink has seen the second one's result; in order, it would wait for ever.
#[test]
fn a_future_that_takes_long_does_not_hold_up_others() {
    for workers in 1..=3 {
        let seen = Arc::new(AtomicBool::new(false));
        let sees = seen.clone();
        let p = pipeline::<u64>().unordered(2, move |x| {
            let (x, seen) = (*x, seen.clone());
            async move {
                until(|| x != 0 || seen.load(Ordering::SeqCst)).await;
                x
            }
        });
        let put = move |all: &mut Vec<u64>, _, x: &u64| {
            all.push(*x);
            sees.fetch_or(all.len() == 9, Ordering::SeqCst);
        };
        let (all, _) = Rings::new().workers(workers).run((&p).from(0..10).to_fold(Vec::new(), put)).unwrap();
        assert_eq!(all, [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]);
    }
}

#[test]
fn the_limit_of_futures_is_reached_and_kept() {
    for limit in [1, 3, 8] {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let seen = most.clone();
        let p = pipeline::<u64>().unordered(limit, move |_| {
            let (now, most) = (now.clone(), most.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                yielding(20).await;
                now.fetch_sub(1, Ordering::SeqCst);
            }
        });
        assert_eq!(Rings::new().ring(64).workers(2).collect((&p).from(source::ready(0..100))).unwrap().len(), 100);
        assert_eq!(seen.load(Ordering::SeqCst), limit);
    }
}

#[test]
fn a_panic_names_the_stage_and_the_inputs_number() {
    let p = pipeline::<u64>().filter(|x| x % 2 == 1).unordered(4, |x| {
        let x = *x;
        async move {
            yielding(3).await;
            assert!(x != 7, "no sevens");
            x
        }
    });
    let p = p.named("ask");
    for workers in 1..=3 {
        let error = Rings::new().workers(workers).collect((&p).from(0..20)).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "stage \"ask\", number 7: panicked: no sevens");
    }
}

#[test]
fn results_before_a_failure_come_out() {
    for rings in [Rings::new(), Rings::new().workers(2), Rings::new().batch(2).ring(2)] {
        let p = pipeline::<u64>().unordered(4, |x| {
            let x = *x;
            async move {
                assert!(x != 3, "no threes");
                x
            }
        });
        let mut results = rings.iter(p.from(source::ready(0..9))).unwrap();
        assert_eq!([(); 3].map(|()| results.try_next()), [Ok(Some(0)), Ok(Some(1)), Ok(Some(2))], "{rings:?}");
        let failure = results.try_next().unwrap_err().to_string();
        assert!(failure.contains("number 3: panicked: no threes"), "{failure}");
    }
}

/// Counts those that are dropped.
struct Flying(Arc<AtomicUsize>);

impl Drop for Flying {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_stopped_run_drops_futures_in_flight() -> Result<(), RunError> {
    let (started, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (starts, drops) = (started.clone(), dropped.clone());
    let p = pipeline::<u64>().unordered(5, move |_| {
        starts.fetch_add(1, Ordering::SeqCst);
        let flying = Flying(drops.clone());
        async move {
            std::future::pending::<()>().await;
            drop(flying);
        }
    });
    let handle = Rings::new().workers(1).start((&p).from(0..).to_each(|_, ()| ()))?;
    while started.load(Ordering::SeqCst) < 5 {
        std::thread::sleep(Duration::from_millis(1));
    }
    handle.stop_now()?;
    assert_eq!((started.load(Ordering::SeqCst), dropped.load(Ordering::SeqCst)), (5, 5));
    Ok(())
}

#[test]
#[should_panic(expected = "at least one future")]
fn a_limit_of_zero_is_refused_when_it_is_built() {
    let _ = pipeline::<u64>().unordered(0, uneven);
}

#[test]
fn the_plan_shows_a_new_clock() {
    let plan = pipeline::<u64>().unordered(4, uneven).plan();
    assert_eq!((&*plan.stages[0].kind, plan.rings[1].clock, plan.rings[1].dense), ("unordered", 1, true));
}

#[cfg(feature = "queues")]
#[test]
fn on_queues_the_order_is_that_of_the_inputs() {
    use millstream_exec::Queues;
    let p = pipeline::<u64>().unordered(3, uneven);
    let put = |all: &mut Vec<u64>, _, x: &u64| all.push(*x);
    let (all, _) = Queues::new().start((&p).from(0..50).to_fold(Vec::new(), put)).unwrap().wait().unwrap();
    assert_eq!(all, p.model(0..50));
}
