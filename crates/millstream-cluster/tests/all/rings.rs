//! Pipelines on rings as segments, against their model.

use crate::schedules::{Random, edges, schedule};
use crate::words::words;
use millstream::prelude::*;
use millstream_cluster::{Ingress, Log, MemoryLog, OnRings, Options, Replica, Segment, SegmentRun, Step, cut};

fn lines() -> Vec<String> {
    (0..40_u64).map(|n| format!("w{} w{} w{}", n % 7, n * n % 5, n % 3)).collect()
}

#[test]
fn words_counted_by_key_are_the_models_under_every_schedule() {
    let batches = cut(lines(), 5).unwrap();
    let model = words().model(lines());
    assert_eq!(model.len(), 120);
    let segment = OnRings::new(words(), Rings::new().ring(64).workers(1));
    for seed in 0..40 {
        let (values, _) = schedule(&segment, &batches, seed);
        let values: Vec<_> = values.into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, model, "seed {seed}");
    }
}

#[test]
fn a_batch_does_not_depend_on_workers_rings_or_restarts() {
    let input: Vec<Vec<String>> = lines().chunks(6).map(<[String]>::to_vec).collect();
    let run = |rings: Rings, restarts: bool| {
        let segment = OnRings::new(words(), rings);
        let mut run = segment.start(None).unwrap();
        let mut batches = Vec::new();
        for (number, batch) in (1..).zip(&input) {
            batches.push(run.batch(batch.clone(), number == input.len()).unwrap().to_bytes().unwrap());
            if restarts && number < input.len() {
                run = segment.start(run.state().unwrap().as_deref()).unwrap();
            }
        }
        batches
    };
    let once = run(Rings::new().workers(1), false);
    assert_eq!(run(Rings::new().workers(3).ring(16), false), once);
    assert_eq!(run(Rings::new().workers(2), true), once);
}

#[test]
fn the_value_of_end_is_in_the_last_batch() {
    let segment = OnRings::new(pipeline::<u64>().fold(0, |sum, x| *sum += x, |sum| sum).named("sum"), Rings::new());
    let mut run = segment.start(None).unwrap();
    assert_eq!(run.batch(vec![1, 2], false).unwrap().values, []);
    let last = run.batch(vec![3], true).unwrap();
    assert_eq!((last.values, last.next, last.end), (vec![(3, 6)], 3, true));
    assert!(run.batch(vec![4], false).is_err());
}

#[test]
fn a_failure_and_an_early_end_are_errors() {
    let divided = pipeline::<u64>().map(|x| 100 / x).named("divide");
    let mut run = OnRings::new(divided, Rings::new()).start(None).unwrap();
    let error = run.batch(vec![5, 0, 1], false).unwrap_err().to_string();
    assert!(error.starts_with("stage \"divide\", number 1: "), "{error}");
}

#[test]
fn batches_under_way_at_once_are_those_of_one_after_the_other() {
    for seed in 0..30 {
        let mut random = Random(seed);
        let rings = Rings::new().workers(1 + random.below(2) as usize).ring(16 << random.below(5));
        let segment = OnRings::new(words(), rings);
        let (mut one, mut several) = (segment.start(None).unwrap(), segment.start(None).unwrap());
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        for number in 0..60 {
            // Some batches are empty.
            let lines: Vec<String> = lines().into_iter().take(random.below(9).saturating_sub(2) as usize).collect();
            let numbered = lines.iter().map(|line| (0, line.clone())).collect();
            expected.push(one.batch(lines, number == 59).unwrap());
            found.extend(several.begin_batch(numbered, number == 59).unwrap());
            while found.len() < expected.len() && random.below(4) == 0 {
                found.extend(several.finish_batch().unwrap());
            }
            if number < 59 && random.below(8) == 0 {
                while found.len() < expected.len() {
                    assert!(several.state().is_err(), "an output was not taken");
                    found.extend(several.finish_batch().unwrap());
                }
                let state = several.state().unwrap();
                assert_eq!(state, one.state().unwrap(), "seed {seed}");
                several = segment.start(state.as_deref()).unwrap();
            }
        }
        while let Some(batch) = several.finish_batch().unwrap() {
            found.push(batch);
        }
        assert_eq!(found, expected, "seed {seed}");
    }
}

#[test]
fn what_comes_before_a_failure_is_in_the_edge() {
    for (fails_in, snapshot_every) in [(0, 9), (1, 9), (2, 1), (7, 9), (10, 2)] {
        let log = MemoryLog::default();
        let input = (0..33).map(|n| u64::from(n != fails_in * 3 + 1));
        let mut ingress = Ingress::new(log.clone(), "in", cut(input, 3).unwrap());
        while ingress.step().unwrap() != Step::Ended {}
        let options = Options { snapshot_every, ..Options::default() };
        let divided = pipeline::<u64>().map(|x| 100 / x).named("divide");
        let segment = OnRings::new(divided, Rings::new().workers(1));
        let mut replica = Replica::new(segment, log.clone(), edges(), options);
        let error = (0..1000).find_map(|_| replica.step().err()).expect("it fails").to_string();
        assert!(error.starts_with("stage \"divide\", number "), "{error}");
        assert_eq!(log.last("out").unwrap(), fails_in, "{error}");
    }
}

/// Compares the batches of a pipeline that gets one after the other with those of one that gets several at once.
macro_rules! same {
    ($pipeline:expr) => {
        for seed in 0..12 {
            let mut random = Random(seed);
            let rings = Rings::new().workers(1 + random.below(2) as usize).ring(16 << random.below(5)).batch(7);
            let segment = OnRings::without_snapshots($pipeline, rings);
            let (mut one, mut several) = (segment.start(None).unwrap(), segment.start(None).unwrap());
            let (mut expected, mut found, mut next) = (Vec::new(), Vec::new(), 0_u64);
            for number in 0..40 {
                let values: Vec<u64> = (next..next + [0, 1, 2, 9, 40][random.below(5) as usize]).collect();
                next += values.len() as u64;
                found.extend(several.begin_batch(values.iter().map(|x| (*x, *x)).collect(), number == 39).unwrap());
                expected.push(one.batch(values, number == 39).unwrap());
            }
            while let Some(batch) = several.finish_batch().unwrap() {
                found.push(batch);
            }
            assert_eq!(found, expected, "{}, seed {seed}", stringify!($pipeline));
        }
    };
}

#[test]
fn stages_of_every_kind_work_at_several_batches_at_once() {
    same!(pipeline::<u64>().filter(|x| x % 3 == 1).shard(3, |p| p.map(|x| x * 2)).scan(0, |sum, x| {
        *sum += x;
        *sum
    }));
    same!(pipeline::<u64>().fanout(|p| p.map(|x| x + 1), |p| p.map(|x| x * x)).map(|(a, b)| a ^ b).dedup());
    same!(
        pipeline::<u64>()
            .feedback(1_u64, |p| p.map(|(x, last): (&u64, &u64)| (x ^ last, x.wrapping_add(*last))))
            .map(|x| *x)
    );
    same!(pipeline::<u64>().chunks(4).map(|chunk| chunk.iter().sum::<u64>()).filter(|sum| sum % 2 == 0));
    same!(pipeline::<u64>().map_blocking(|x| x + 7).fold(0, |sum, x| *sum += x, |sum| sum));
    same!(pipeline::<u64>().map_async(4, |x| std::future::ready(x + 3)));
    same!(
        pipeline::<u64>()
            .windows_by(Window::tumbling(10), |x| *x)
            .map(|window| window.values.iter().sum::<u64>())
            .shard_by(
                |sum| sum % 5,
                2,
                |p| {
                    p.scan(0, |last, sum| {
                        *last += sum;
                        *last
                    })
                }
            )
    );
}
