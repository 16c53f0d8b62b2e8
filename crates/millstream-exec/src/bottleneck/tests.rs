//! The arithmetic, of loads that are made up: what a forecast says exactly.

use super::{Bottleneck, Limit, Load, Loads, Scales};

fn stage(name: &str, busy: &[f64], scales: Scales) -> Load {
    Load { stage: name.to_owned(), busy: busy.to_vec(), numbers: 1000, scales, ..Load::default() }
}

fn threads(name: &str, busy: &[f64], scales: Scales) -> Load {
    Load { own_thread: true, ..stage(name, busy, scales) }
}

fn found(stages: Vec<Load>, workers: usize, seconds: f64) -> Bottleneck {
    Loads { stages, workers, cores: 4, seconds }.bottleneck().expect("something was done")
}

fn gains(found: &Bottleneck) -> Vec<(usize, usize, f64, &str)> {
    found.gains.iter().map(|gain| (gain.workers, gain.shards, gain.factor, &*gain.next)).collect()
}

#[test]
fn a_slow_stage_gains_until_the_next_one_limits() {
    let run = |shards: usize| {
        let of_slow = vec![6.0 / shards as f64; shards];
        let stages = vec![
            stage("source", &[0.25], Scales::End),
            threads("slow", &of_slow, Scales::Shard),
            threads("next", &[1.75], Scales::Shard),
        ];
        found(stages, 1, of_slow[0].max(1.75))
    };
    let one = run(1);
    assert_eq!((&*one.stage, one.limit, one.utilisation), ("slow", Limit::Tasklets, 1.0));
    assert_eq!((one.service_ns, one.rate), (Some(6e6), 1000.0 / 6.0));
    assert_eq!(gains(&one), [(0, 1, 2.0, "slow")]);
    assert_eq!(gains(&run(2)), [(0, 1, 1.5, "slow")]);
    // Four shards take 1.5 s each: now the next one takes longest.
    let four = run(4);
    assert_eq!((&*four.stage, gains(&four)), ("next", vec![(0, 1, 1.75 / 1.5, "slow")]));
}

#[test]
fn a_worker_more_takes_over_what_is_best_for_both() {
    let stages = || {
        vec![
            stage("source", &[0.0], Scales::End),
            stage("first", &[2.0], Scales::State),
            stage("second", &[3.0], Scales::State),
        ]
    };
    let one = found(stages(), 1, 5.0);
    assert_eq!((&*one.stage, one.limit, one.utilisation), ("second", Limit::Workers, 1.0));
    assert_eq!(gains(&one), [(1, 0, 5.0 / 3.0, "second")]);
    let two = found(stages(), 2, 3.0);
    assert_eq!((&*two.stage, two.limit, gains(&two)), ("second", Limit::Tasklets, vec![]));
    let crowded = Loads { stages: stages(), workers: 1, cores: 1, seconds: 5.0 }.bottleneck().unwrap();
    assert!(crowded.gains.is_empty() && crowded.sentence.ends_with("No core is left for another worker."));
}

#[test]
fn ends_states_and_skewed_keys_gain_nothing() {
    let source = || stage("source", &[0.1], Scales::End);
    for (scales, why) in [(Scales::End, "an end of the pipeline"), (Scales::State, "one number after the other")] {
        let slow = found(vec![source(), threads("slow", &[3.0], scales)], 1, 3.0);
        assert_eq!((&*slow.stage, gains(&slow)), ("slow", vec![]));
        assert!(slow.sentence.contains(why), "{}", slow.sentence);
    }
    let keyed = |busy: &[f64]| found(vec![source(), threads("keyed", busy, Scales::Keys)], 1, busy[0]);
    let skewed = keyed(&[8.0, 1.0, 1.0]);
    assert_eq!((skewed.limit, gains(&skewed)), (Limit::Skew, vec![]));
    let even = keyed(&[4.0, 3.0, 3.0]);
    assert_eq!((even.limit, gains(&even)), (Limit::Tasklets, vec![(0, 1, 4.0 / 3.0, "keyed")]));
}

#[test]
fn a_shard_that_gets_too_little_is_not_the_one_that_limits() {
    // Whoever is free takes the next numbers, so what two of them did is one load, evenly shared.
    let starved =
        found(vec![stage("source", &[5.0], Scales::End), threads("shards", &[4.0, 0.0, 0.0], Scales::Shard)], 1, 5.0);
    assert_eq!((&*starved.stage, gains(&starved)), ("source", vec![]));
}

#[test]
fn where_nothing_is_busy_what_is_outside_is_slow() {
    let outside = |open: f64, busy: f64| {
        let source = Load { open: Some(open), ..threads("source", &[], Scales::End) };
        found(vec![source, threads("stage", &[busy], Scales::Shard)], 1, 10.0)
    };
    let slow = outside(9.0, 2.0);
    assert_eq!((&*slow.stage, slow.limit, slow.utilisation, slow.service_ns), ("source", Limit::Source, 0.9, None));
    assert!(slow.gains.is_empty());
    assert_eq!((&*outside(9.0, 8.0).stage, &*outside(1.0, 2.0).stage), ("stage", "stage"));
}

#[test]
fn nothing_done_is_nobodys_fault() {
    assert_eq!(Loads::default().bottleneck(), None);
    let idle = Loads { stages: vec![stage("source", &[0.0], Scales::End)], workers: 1, cores: 1, seconds: 1.0 };
    assert_eq!(idle.bottleneck(), None);
}
