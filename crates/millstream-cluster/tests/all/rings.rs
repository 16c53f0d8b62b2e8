//! Pipelines on rings as segments, against their model.

use crate::schedules::schedule;
use crate::words::words;
use millstream::prelude::*;
use millstream_cluster::{OnRings, Segment, SegmentRun, cut};

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
