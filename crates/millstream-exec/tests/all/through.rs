//! Reading a run's output value by value: as an iterator or as a stream.

use millstream_core::{Arrow, AsyncExt, ClockExt, Deploy, StreamsExt, ToOwnedItem, Val, pipeline};
use millstream_exec::{JobExt, RingBackend, RingShape, Rings, Through, ThroughExt, source};
use millstream_testkit::within;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(120);

/// All values up to the end or the failure.
pub(crate) fn taken<A: RingShape + ToOwnedItem<Owned = u64>>(mut values: Through<A>) -> (Vec<u64>, Option<String>) {
    let mut all = Vec::new();
    loop {
        match values.try_next() {
            Ok(Some(value)) => all.push(value),
            Ok(None) => return (all, None),
            Err(error) => {
                assert!(values.try_next().unwrap().is_none(), "an error comes once, and last");
                return (all, Some(error.to_string()));
            }
        }
    }
}

/// The same for a stream.
#[cfg(feature = "stream")]
fn streamed<A: RingShape + ToOwnedItem<Owned = u64>>(values: Through<A>) -> (Vec<u64>, Option<String>) {
    use futures_util::StreamExt;
    futures_executor::block_on(async {
        let (mut all, mut stream) = (Vec::new(), values.stream());
        while let Some(value) = stream.next().await {
            match value {
                Ok(value) => all.push(value),
                Err(error) => {
                    assert!(stream.next().await.is_none());
                    return (all, Some(error.to_string()));
                }
            }
        }
        (all, None)
    })
}

/// Panics at this number.
pub(crate) fn fails_at(at: u64) -> impl Fn(&u64) -> u64 + Send + Sync + Clone + 'static {
    move |x| if *x == at { resume_unwind(Box::new("broken")) } else { *x }
}

/// Every way of running a pipeline with a failure at 7 yields these values, and then the error.
pub(crate) fn come_first<P>(how: &str, pipeline: impl Fn() -> P + Send + 'static, expected: Vec<u64>)
where
    P: Deploy<RingBackend> + Arrow<In = Val<u64>, Out: RingShape + ToOwnedItem<Owned = u64>>,
{
    let named = how.to_owned();
    within(LONG, move || {
        for (slots, batch) in [(1, 1), (4, 4), (4, 1), (64, 64), (4096, 256)] {
            for workers in 1..4 {
                let rings = Rings::new().ring(slots).batch(batch).workers(workers);
                let check = |(all, error): (Vec<u64>, Option<String>)| {
                    assert_eq!(
                        all, expected,
                        "{named}: {slots} slots, batches of {batch}, {workers} workers, {error:?}"
                    );
                    let error = error.expect("it fails");
                    assert!(error.contains("number 7: panicked: broken"), "{named}: {error}");
                };
                check(taken((0..100).through_on(rings.clone(), pipeline())));
                #[cfg(feature = "stream")]
                check(streamed((0..100).through_on(rings.clone(), pipeline())));
            }
        }
    })
    .unwrap_or_else(|hung| panic!("{how}: {hung}"));
}

#[test]
fn values_come_before_a_later_failure() {
    let first = || (0..7).collect::<Vec<u64>>();
    come_first("alone", || pipeline().map(fails_at(7)), first());
    come_first("in between", || pipeline().map(|x| *x).map(fails_at(7)).map(|x| *x).map(|x| *x), first());
    come_first("blocking", || pipeline().map(|x| *x).map_blocking(fails_at(7)).map(|x| *x), first());
    come_first("after", || pipeline().map(fails_at(7)).map_blocking(|x| *x).scan(0, |n, x| (*n, *n = *x).0), {
        [0].into_iter().chain(0..6).collect()
    });
}

#[test]
fn futures_that_were_started_before_a_failure_are_waited_for() {
    let yields = |x: &u64| {
        let x = *x;
        let mut left = x % 5;
        std::future::poll_fn(move |cx| {
            cx.waker().wake_by_ref();
            if left == 0 {
                return std::task::Poll::Ready(x);
            }
            left -= 1;
            std::task::Poll::Pending
        })
    };
    let first = || (0..7).collect::<Vec<u64>>();
    come_first("after", move || pipeline().map(fails_at(7)).map_async(3, yields), first());
    let later = |x: &u64| {
        let x = *x;
        async move { fails_at(7)(&x) }
    };
    come_first("in one", move || pipeline().map_async(3, later).map(|x| *x), first());
}

#[test]
fn branches_and_clocks_yield_the_values_before_a_failure() {
    let sum = |(a, b): (&u64, &u64)| a + b;
    let sums = || (0..7).map(|x| 2 * x).collect::<Vec<u64>>();
    come_first(
        "left",
        move || pipeline().fanout(|p| p.map(fails_at(7)), |p| p.map(|x| *x).map(|x| *x)).map(sum),
        sums(),
    );
    come_first(
        "right",
        move || pipeline().fanout(|p| p.map(|x| *x).map(|x| *x), |p| p.map(fails_at(7))).map(sum),
        sums(),
    );
    let twice = |x: &u64| [*x, *x];
    come_first("after a clock", move || pipeline().map(fails_at(7)).flat_map(twice).map(|x| *x), {
        (0..7).flat_map(|x| [x, x]).collect()
    });
    let fails_twice = |x: &u64| {
        let x = fails_at(7)(x);
        [x, x]
    };
    come_first("a clock", move || pipeline().map(|x| *x).flat_map(fails_twice), (0..7).flat_map(|x| [x, x]).collect());
    // The value that only END brings does not come.
    come_first("a fold", || pipeline().map(fails_at(7)).fold(0, |n, x| *n += x, |n| n), vec![]);
    come_first("chunks", || pipeline().map(fails_at(7)).chunks(2).map(|chunk| chunk.len() as u64), vec![2; 3]);
}

#[test]
fn a_failing_sources_values_come_before_its_failure() {
    within(LONG, || {
        for slots in [1, 8, 4096] {
            let rings = || Rings::new().ring(slots).workers(2);
            let values = || (0..100).map(|x| fails_at(7)(&x));
            let p = || pipeline::<u64>().map(|x| *x).map(|x| *x);
            let (all, error) = taken(values().through_on(rings(), p()));
            assert_eq!(all, (0..7).collect::<Vec<_>>());
            assert_eq!(error.unwrap(), r#"stage "source", number 7: panicked: broken"#);
            // Also from a source that a worker runs.
            for workers in [1, 2] {
                for batch in [1, 3, 64] {
                    let rings = Rings::new().ring(slots).workers(workers).batch(batch);
                    let (all, error) = taken(rings.iter(p().from(source::ready(values()))).unwrap());
                    assert_eq!(all, (0..7).collect::<Vec<_>>(), "{slots} {workers} {batch}");
                    assert_eq!(error.unwrap(), r#"stage "source", number 7: panicked: broken"#);
                }
            }
        }
    })
    .unwrap();
}

#[test]
fn before_a_failure_in_a_shard_come_its_finished_values() {
    within(LONG, || {
        for workers in 1..4 {
            let p = pipeline::<u64>().shard(3, |p| p.map(fails_at(70))).map(|x| *x);
            let (all, error) = taken((0..100).through_on(Rings::new().ring(16).workers(workers), p));
            assert!((0..70).take(all.len()).eq(all.iter().copied()), "{all:?}");
            assert!(error.unwrap().contains("number 70: panicked: broken"));
        }
    })
    .unwrap();
}

#[test]
fn dropping_the_output_after_a_failure_does_not_wait() {
    within(LONG, || {
        for taken in 0..4 {
            let p = pipeline::<u64>().map(fails_at(70)).map(|x| *x);
            let mut values = (0..100).through_on(Rings::new().ring(4).workers(2), p);
            for n in 0..taken {
                assert_eq!(values.try_next().unwrap(), Some(n));
            }
            drop(values);
        }
    })
    .unwrap();
}

/// Panics once, when the third value is cloned.
struct Third(u64, Arc<AtomicBool>);

impl Clone for Third {
    fn clone(&self) -> Self {
        if self.0 == 3 && self.1.swap(false, Ordering::SeqCst) {
            resume_unwind(Box::new("out of something"));
        }
        Third(self.0, self.1.clone())
    }
}

#[test]
fn a_value_that_cannot_be_cloned_is_a_failure_after_the_earlier_values() {
    within(LONG, || {
        let once = Arc::new(AtomicBool::new(true));
        let mut values = (0..100).map(move |n| Third(n, once.clone())).through(pipeline::<Third>());
        let all: Vec<u64> = (0..3).map(|_| values.try_next().unwrap().unwrap().0).collect();
        assert_eq!(all, [0, 1, 2]);
        let Err(error) = values.try_next() else { panic!("no error") };
        assert_eq!(error.to_string(), r#"stage "sink", number 3: panicked: out of something"#);
        assert!(values.try_next().unwrap().is_none());
    })
    .unwrap();
}

#[cfg(feature = "stream")]
#[test]
fn a_stream_that_is_dropped_waits_for_no_closure_and_one_that_is_closed_does() {
    use futures_util::StreamExt;
    use std::future::Future;
    within(LONG, || {
        for closes in [false, true] {
            let ((go, went), (entered, enters), (ended, ends)) = (channel::<()>(), channel(), channel());
            let went = Mutex::new(went);
            let p = pipeline::<u64>().map_blocking(move |x| {
                if *x == 1 {
                    entered.send(()).unwrap();
                    let _ = went.lock().unwrap().recv();
                    ended.send(()).unwrap();
                }
                *x
            });
            let mut stream = (0..).through(p).stream();
            assert_eq!(futures_executor::block_on(stream.next()), Some(Ok(0)));
            enters.recv().unwrap();
            if closes {
                let mut close = Box::pin(stream.close());
                assert!(close.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
                drop(go);
                futures_executor::block_on(close).unwrap();
                // It has waited.
                ends.try_recv().unwrap();
            } else {
                // This would wait for the closure, which waits for the code after it.
                drop(stream);
                drop(go);
                ends.recv().unwrap();
            }
            // The last thread to exit drops the pipeline's closures.
            assert!(ends.recv().is_err());
        }
    })
    .unwrap();
}
