//! The model against lists written by hand.

use millstream_core::{Arrow, AsyncExt, Density, Deploy, KeepsClock, Model, ModelExt, Shardable, Val, id, pipeline};

fn evens() -> impl Deploy<Model, In = Val<u64>, Out = Val<bool>> + Shardable {
    pipeline::<u64>().map(|x| x % 2 == 0)
}

fn increment<D: Density>() -> impl Deploy<Model, In = Val<u64, D>, Out = Val<u64, D>> + KeepsClock {
    id::<Val<u64, D>>().map(|x| x + 1)
}

#[test]
fn the_seed_example() {
    let p = pipeline::<u64>().fanout(|p| p, |p| p.map(|x| x % 2 == 0));
    assert_eq!(p.model(1..=5), [(1, false), (2, true), (3, false), (4, true), (5, false)]);
}

#[test]
fn a_running_sum() {
    let p = pipeline::<u64>().scan(0, |sum, x| {
        *sum += x;
        *sum
    });
    assert_eq!(p.model(1..=5), [1, 3, 6, 10, 15]);
}

#[test]
fn a_filter_leaves_slots_empty_and_moves_nothing() {
    let p = pipeline::<u64>().filter(|x| x % 2 == 0).map(|x| x * 10);
    assert_eq!(p.model_slots(0..4), [Some(0), None, Some(20), None, None]);
}

#[test]
fn a_fold_yields_at_end_and_folds_the_value_of_end() {
    let count = |p: millstream_core::pipe::Id<Val<u64>>| p.fold(0, |n, _| *n += 1, |n| n);
    let p = pipeline::<u64>().fanout(count, |p| p.fold(0, |s, x| *s += x, |s| s)).map(|(n, s)| (*n, *s));
    assert_eq!(p.model_slots([5, 6]), [None, None, Some((2, 11))]);
    let twice = count(pipeline::<u64>()).fold(100, |s, n| *s += n, |s| s);
    assert_eq!(twice.model_slots([5, 6]), [None, None, Some(102)]);
}

#[test]
fn both_sees_only_joined_pairs_and_reads_tuples_and_pairs_alike() {
    let pairs = pipeline::<u64>()
        .fanout(|p| p.filter(|x| x % 2 == 0), |p| p.map(|x| x * 10))
        .both(|p| p.scan(0, |n, x| (std::mem::replace(n, *n + 1), *x)), |p| p.map(|x| x + 1));
    assert_eq!(pairs.model_slots(0..3), [Some(((0, 0), 1)), None, Some(((1, 2), 21)), None]);
    let tuples = pipeline::<u64>().map(|x| (*x, x.to_string())).both(|p| p.map(|x| x + 1), |p| p.map(|s| s.len()));
    assert_eq!(tuples.model([9, 10]), [(10, 1), (11, 2)]);
    let nested = pipeline::<u64>()
        .fanout(|p| p, |p| p.map(|x| (*x, !x)))
        .both(|p| p, |p| p.both(|p| p.map(|x| x + 1), |p| p.map(|y| !y)))
        .map(|(x, (y, z))| (*x, *y, *z));
    assert_eq!(nested.model([7]), [(7, 8, 7)]);
}

#[test]
fn a_delay_counts_values_and_not_numbers() {
    let p = pipeline::<u64>().filter_map(|x| (x % 2 == 0).then_some(*x)).delay(99);
    assert_eq!(p.model_slots(0..5), [Some(99), None, Some(0), None, Some(2), None]);
}

#[test]
fn functions_return_pipelines_and_one_value_runs_many_times() {
    let p = increment().then(increment()).shard(3, |p| p.then(evens()));
    assert_eq!(p.model([1, 2]), [false, true]);
    assert_eq!(p.model([2, 1]), [true, false]);
}

#[test]
#[should_panic(expected = "at least one tasklet")]
fn shard_0_is_refused_when_it_is_built() {
    let _ = pipeline::<u64>().shard(0, |p| p);
}

/// A future that yields `times` times.
async fn yielding(times: u64) {
    for _ in 0..times {
        let mut yielded = false;
        std::future::poll_fn(|cx| {
            cx.waker().wake_by_ref();
            if std::mem::replace(&mut yielded, true) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }
}

#[test]
fn a_future_at_every_value_and_none_at_an_empty_slot() {
    let slow = |x: &u64| {
        let x = *x;
        async move {
            yielding(5 - x).await;
            if x == 3 { Err("three") } else { Ok(x * 10) }
        }
    };
    let p = pipeline::<u64>().filter(|x| *x != 1).try_map_async_or_empty(2, slow);
    assert_eq!(p.model_slots(0..5), [Some(0), None, Some(20), None, Some(40), None]);
    let at_end = pipeline::<u64>().fold(0, |s, x| *s += x, |s| s).map_async(1, |s| std::future::ready(s + 1));
    assert_eq!(at_end.model_slots(0..3), [None, None, None, Some(4)]);
}

#[test]
#[should_panic(expected = "at least one future")]
fn no_futures_at_a_time_are_refused_when_it_is_built() {
    let _ = pipeline::<u64>().map_async(0, |x| std::future::ready(*x));
}
