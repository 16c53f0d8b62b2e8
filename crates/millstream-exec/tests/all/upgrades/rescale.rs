//! The number of shards changes while a run goes on.

use super::number;
use crate::handed_in::handed_in;
use millstream_core::{Arrow, Bound, FeedbackExt, KeysExt, ModelExt, pipeline};
use millstream_exec::{Elastic, ElasticRun, JobExt, Pipeline, Rings, Runner, sink, source};
use millstream_testkit::within;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Running sums of 106 keys, of which 90 are remembered at once; the loop keeps a state of each key as well. The keys
/// come forwards and then backwards, so that a key comes again both before and after it is forgotten.
fn sums(k: usize) -> impl Pipeline<u64, (u64, u64)> {
    pipeline::<u64>()
        .shard(k, |p| p.map(|x| x * 7).named("times"))
        .shard_by_within(
            Bound::forget(90),
            |x| x * x % 211,
            k,
            |p| {
                p.fanout(
                    |p| {
                        p.scan(Vec::new(), |all: &mut Vec<u64>, x| {
                            all.push(*x);
                            all.iter().sum::<u64>()
                        })
                        .named("all")
                    },
                    |p| p.feedback(1, |p| p.map(|(x, s)| (x + s, s + 1))).named("loop"),
                )
                .map(|(sum, looped)| (*sum, *looped))
            },
        )
        .named("keys")
}

#[test]
fn keys_go_to_other_lanes_with_their_states() {
    let model = sums(1).model(0..3000);
    let begun = |range: std::ops::Range<usize>| range.filter(|x| model[*x].0 == 7 * *x as u64).count();
    assert!((1..900).contains(&begun(1000..2000)), "keys are remembered, and keys are forgotten");
    for ks in [[1, 4, 2], [3, 1, 5], [2, 2, 8]] {
        let rings = Rings::new().batch(16).upgrade_at(number(1000), sums(ks[1])).upgrade_at(number(1001), sums(ks[2]));
        let (all, report) = rings.run(sums(ks[0]).from(source::ready(0..3000)).to(sink::collect())).unwrap();
        assert_eq!(all, model, "{ks:?}");
        assert_eq!(report.changes.len(), 2);
    }
}

/// The number of workers follows the tasklets of each version, up to the one that was asked for.
#[test]
fn a_wider_version_has_more_workers() {
    let wide = |k: usize| pipeline::<u64>().shard(k, |p| p.map(|x| x * 7).named("times"));
    let (sender, receiver) = source::channel(64);
    // The stages with threads count for the most workers that the run can have, and are not shared.
    let first = wide(1).map_blocking(|x| *x).map_blocking(|x| *x).map_blocking(|x| *x);
    let run = Rings::new().workers(4).start(first.from(receiver).to(sink::collect())).unwrap();
    let mut sent = 0;
    let mut send = || {
        sender.send_all(sent..sent + 100).unwrap();
        sent += 100;
    };
    assert_eq!(run.workers(), 2);
    send();
    run.upgrade(wide(4)).unwrap();
    assert_eq!(run.workers(), 4);
    send();
    run.upgrade(wide(2)).unwrap();
    assert_eq!(run.workers(), 3);
    send();
    run.set_workers(1).unwrap();
    run.upgrade(wide(4)).unwrap();
    assert_eq!(run.workers(), 1, "as set");
    send();
    drop(sender);
    assert!(run.wait().unwrap().0.into_iter().eq((0..400).map(|x| x * 7)));
}

/// A stage whose shards wait, on threads of their own.
fn naps(k: usize) -> impl Pipeline<u64, u64> {
    let nap = |x: &u64| {
        std::thread::sleep(Duration::from_micros(500));
        *x
    };
    pipeline::<u64>().shard(k, |p| p.map_blocking(nap).named("work"))
}

/// Shards that wait need no core each.
#[test]
fn more_shards_than_cores_wait_at_once() {
    let wanted = std::thread::available_parallelism().unwrap().get() + 1;
    let (sender, receiver) = source::channel(64);
    let run = Rings::new().ring(64).start(naps(1).from(receiver).to(sink::last())).unwrap();
    let elastic = Elastic::of("work", 1..=wanted).window(Duration::from_millis(20));
    let elastic = run.elastic(elastic, naps).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let shards = || run.observer().plan().stages[0].tasklets;
    for n in 0.. {
        if shards() == wanted {
            break;
        }
        assert!(Instant::now() < until, "{} shards: {:?}", shards(), run.changes());
        sender.send(n).unwrap();
    }
    elastic.finish().unwrap();
    drop(sender);
    run.wait().unwrap();
}

/// More shards than workers would only take turns.
#[test]
fn a_stage_gets_no_more_shards_than_there_are_workers() {
    let version = |k: usize| {
        let work = |x: &u64| {
            std::thread::sleep(Duration::from_millis(1));
            *x
        };
        pipeline::<u64>().shard(k, |p| p.map(work).named("work"))
    };
    let (sender, receiver) = source::channel(64);
    let run = Rings::new().workers(1).ring(64).start(version(1).from(receiver).to(sink::last())).unwrap();
    let elastic = run.elastic(Elastic::of("work", 1..=4).window(Duration::from_millis(10)), version).unwrap();
    (0..400).for_each(|x| sender.send(x).unwrap());
    elastic.finish().unwrap();
    drop(sender);
    let (last, report) = run.wait().unwrap();
    assert_eq!((last, report.changes.len()), (Some(399), 0), "{:?}", report.decisions);
}

/// The source is no stage.
#[test]
fn the_load_of_a_stage_with_the_name_of_the_source_is_its_own() {
    let version = |k: usize| pipeline::<u64>().shard(k, |p| p.map(|x| x + 1).named("source"));
    let (sender, receiver) = source::channel(64);
    let run = Rings::new().start(version(1).from(receiver).to(sink::last())).unwrap();
    let elastic = Elastic::of("source", 2..=2).window(Duration::from_millis(10));
    let elastic = run.elastic(elastic, version).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while run.changes().is_empty() {
        assert!(Instant::now() < until);
        std::thread::yield_now();
    }
    elastic.finish().unwrap();
    drop(sender);
    let (_, report) = run.wait().unwrap();
    let reason = report.changes[0].reason.as_deref().unwrap();
    assert!(reason.starts_with("`source` gets 2 shards instead of 1: "), "{reason}");
}

/// The change waits for the closure, which does not wait for the change.
#[test]
fn the_changes_may_be_ended_in_a_closure_of_the_run() {
    within(Duration::from_secs(60), || {
        let (made, has_made) = channel();
        let changes: Arc<Mutex<Option<ElasticRun>>> = Arc::default();
        let (inside, has_made) = (changes.clone(), Arc::new(Mutex::new(has_made)));
        let version = move |k: usize| {
            let (inside, has_made) = (inside.clone(), has_made.clone());
            let work = move |x: &u64| {
                if *x == 5 {
                    let elastic = handed_in(&inside);
                    has_made.lock().unwrap().recv().unwrap();
                    drop(elastic);
                }
                *x
            };
            pipeline::<u64>().shard(k, |p| p.map(work.clone()).named("work"))
        };
        let run = Rings::new().start(version(1).from(0..10).to(sink::last())).unwrap();
        // It has fewer shards than it gets at least.
        let elastic = Elastic::of("work", 2..=2).window(Duration::from_millis(10));
        let asked = move |k| {
            made.send(()).unwrap();
            version(k)
        };
        *changes.lock().unwrap() = Some(run.elastic(elastic, asked).unwrap());
        assert_eq!(run.wait().unwrap().0, Some(9));
    })
    .unwrap();
}

/// A stage that is busy gets more shards, and fewer once it has less to do. Then nothing changes: no decision is taken
/// back while its load stays the same.
#[test]
fn an_elastic_run_follows_its_load() {
    let (sender, receiver) = source::channel(64);
    let run = Rings::new().ring(64).start(naps(1).from(receiver).to(sink::last())).unwrap();
    let elastic = Elastic::of("work", 1..=2).window(Duration::from_millis(40));
    let elastic = run.elastic(elastic, naps).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let sent = std::cell::Cell::new(0);
    let send = |pause| {
        sender.send(sent.replace(sent.get() + 1)).unwrap();
        std::thread::sleep(pause);
    };
    let wait = |wanted: usize, pause: Duration| {
        while run.changes().len() < wanted {
            assert!(Instant::now() < until, "{:?}", run.changes());
            send(pause);
        }
    };
    wait(1, Duration::ZERO);
    // It is busy all the time, for some thirty windows.
    (0..4000).for_each(|_| send(Duration::ZERO));
    wait(2, Duration::from_millis(20));
    (0..60).for_each(|_| send(Duration::from_millis(20)));
    elastic.finish().unwrap();
    drop(sender);
    let (last, report) = run.wait().unwrap();
    assert_eq!(last, Some(sent.get() - 1));
    assert_eq!(report.changes.len(), 2, "{:?}", report.decisions);
    let reasons: Vec<_> = report.changes.iter().filter_map(|change| change.reason.as_deref()).collect();
    assert!(reasons[0].starts_with("`work` gets 2 shards instead of 1: its input is full for"), "{reasons:?}");
    assert!(reasons[1].starts_with("`work` gets 1 shard instead of 2: "), "{reasons:?}");
    for reason in reasons {
        assert!(report.decisions.iter().any(|decision| decision.starts_with(reason)), "{:?}", report.decisions);
    }
    // What each of them has cost is beside what it was for.
    assert!(report.changes.iter().all(|change| change.pauses.iter().any(|pause| pause.stage == "work")));
}
