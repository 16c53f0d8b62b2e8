//! Futures that need a tokio runtime, wherever their run is started.

use millstream_core::{Arrow, AsyncExt, Deploy, ModelExt, SequenceNumber, Val, pipeline};
use millstream_exec::{Inline, JobExt, JobRefExt, RingBackend, Rings, Runner, Stepped, source};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Barrier;

/// Sleeps by tokio's clock, the first of eight the longest, and spawns.
fn sleeping() -> impl Deploy<RingBackend, In = Val<u64>, Out = Val<u64>> {
    let sleepy = |x: &u64| {
        let x = *x;
        async move {
            tokio::time::sleep(Duration::from_millis(8 - x % 8)).await;
            tokio::task::yield_now().await;
            tokio::spawn(async move { x + 1 }).await.expect("it is not aborted")
        }
    };
    pipeline::<u64>().shard(2, |p| p.map_async(8, sleepy)).map_async(3, |x| std::future::ready(*x))
}

fn multi_thread(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

/// A caller that waits inside a runtime blocks one of its threads, which may be the only one.
#[test]
fn a_run_finds_a_runtime_wherever_it_is_started() {
    let expected: Vec<u64> = (1..=32).collect();
    let run = || Rings::new().workers(2).collect(sleeping().from(0..32)).unwrap();
    assert_eq!(run(), expected);
    for runtime in [Builder::new_current_thread().enable_all().build().unwrap(), multi_thread(1), multi_thread(2)] {
        let all = runtime.block_on(async { tokio::spawn(async move { run() }).await });
        assert_eq!(all.unwrap(), expected);
    }
}

#[test]
fn a_run_in_a_runtime_with_threads_enough_uses_that() {
    let runtime = multi_thread(2);
    let id = runtime.handle().id();
    let ids = pipeline::<u64>().map_async(2, |_| async { Handle::current().id() });
    let push = |all: &mut Vec<tokio::runtime::Id>, _: SequenceNumber, id: &tokio::runtime::Id| all.push(*id);
    let found = runtime.block_on(async { Rings::new().run((&ids).from(0..3).to_fold(Vec::new(), push)).unwrap().0 });
    assert_eq!(found, [id; 3]);
    let found = Rings::new().run((&ids).from(0..3).to_fold(Vec::new(), push)).unwrap().0;
    assert!(found[0] != id && found == [found[0]; 3]);
}

/// No future goes on before all five have begun.
#[test]
fn futures_meet_each_other() {
    let barrier = Arc::new(Barrier::new(5));
    let p = pipeline::<u64>().map_async(5, move |x| {
        let (x, barrier) = (*x, barrier.clone());
        async move {
            barrier.wait().await;
            x
        }
    });
    for slots in [1, 8] {
        let rings = Rings::new().ring(slots).workers(1);
        assert_eq!(rings.collect((&p).from(source::ready(0..50))).unwrap(), (0..50).collect::<Vec<_>>());
    }
}

#[test]
fn a_run_on_the_calling_thread_has_timers_too() {
    let push = |all: &mut Vec<u64>, _: SequenceNumber, x: &u64| all.push(*x);
    let (all, _) = Inline::new(Rings::new()).run(sleeping().from(0..8).to_fold(Vec::new(), push)).unwrap();
    assert_eq!(all, (1..=8).collect::<Vec<_>>());
    let (all, _) = Stepped::new(Rings::new().ring(1), 3)
        .run(sleeping().from(source::ready(0..8)).to_fold(Vec::new(), push))
        .unwrap();
    assert_eq!(all, (1..=8).collect::<Vec<_>>());
}

/// A task of tokio has 128 polls until its timers and sockets ask it to let others have their turn.
#[test]
fn more_futures_than_a_task_may_poll_complete_in_it() {
    let p = || {
        pipeline::<u64>().map_async(8, |x| {
            let x = *x;
            async move {
                tokio::time::sleep(Duration::from_micros(10)).await;
                x
            }
        })
    };
    let expected: Vec<u64> = (0..300).collect();
    let runtime = multi_thread(2);
    let of_model = runtime.block_on(async { tokio::spawn(async move { p().model(0..300) }).await });
    assert_eq!(of_model.unwrap(), expected);
    let inline = move || Inline::default().collect(p().from(0..300)).unwrap();
    assert_eq!(runtime.block_on(async { tokio::spawn(async move { inline() }).await }).unwrap(), expected);
    let stepped = move || Stepped::new(Rings::new(), 3).collect(p().from(source::ready(0..300))).unwrap();
    assert_eq!(runtime.block_on(async { tokio::spawn(async move { stepped() }).await }).unwrap(), expected);
    let rings = move || Rings::new().workers(1).collect(p().from(0..300)).unwrap();
    assert_eq!(runtime.block_on(async { tokio::spawn(async move { rings() }).await }).unwrap(), expected);
}

/// The values a future drops may need the runtime as well.
#[test]
fn futures_that_are_stopped_are_dropped_inside_the_runtime() {
    struct Spawns(Arc<AtomicUsize>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
            drop(tokio::spawn(async {}));
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let (counter, (started, starts)) = (dropped.clone(), std::sync::mpsc::channel());
    let started = std::sync::Mutex::new(started);
    let p = pipeline::<u64>().map_async(4, move |_| {
        let spawns = Spawns(counter.clone());
        started.lock().unwrap().send(()).unwrap();
        async move {
            let _spawns = spawns;
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
    });
    let run = Rings::new().start((&p).from(0..).to_each(|_, ()| ())).unwrap();
    starts.iter().take(4).for_each(drop);
    run.stop_now().unwrap();
    assert_eq!(dropped.load(Ordering::SeqCst), 4);
}
