//! The arithmetic, on invented loads: the exact forecasts.

use super::{Bottleneck, Gain, Limit, Load, Loads, Scales, ThreadTimes};
use crate::Rate;

fn stage(name: &str, busy: &[f64], scales: Scales) -> Load {
    Load { stage: name.to_owned(), busy: busy.to_vec(), numbers: 1000, scales, ..Load::default() }
}

fn threads(name: &str, busy: &[f64], scales: Scales) -> Load {
    Load { own_thread: true, ..stage(name, busy, scales) }
}

fn loads(stages: Vec<Load>, workers: usize, seconds: f64) -> Loads {
    Loads { stages, workers, cores: 4, seconds, ..Loads::default() }
}

fn found(stages: Vec<Load>, workers: usize, seconds: f64) -> Bottleneck {
    loads(stages, workers, seconds).bottleneck().expect("something was done")
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
    // With four shards of 1.5 s each, the next stage takes longest.
    let four = run(4);
    assert_eq!((&*four.stage, gains(&four)), ("next", vec![(0, 1, 1.75 / 1.5, "slow")]));
}

#[test]
fn another_worker_takes_the_share_that_balances_both() {
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
    let crowded = Loads { cores: 1, ..loads(stages(), 1, 5.0) }.bottleneck().unwrap();
    assert!(crowded.gains.is_empty() && crowded.sentence.ends_with("No core is left for another worker."));
}

#[test]
fn ends_states_and_skewed_keys_gain_nothing() {
    let source = || stage("source", &[0.1], Scales::End);
    let cases = [
        (Scales::End, "an end of the pipeline"),
        (Scales::State, "`shard_by` would if it has one state a key"),
        (Scales::Sequence, "in a loop, renumbers"),
    ];
    for (scales, why) in cases {
        let slow = found(vec![source(), threads("slow", &[3.0], scales)], 1, 3.0);
        assert_eq!((&*slow.stage, gains(&slow)), ("slow", vec![]));
        assert!(slow.sentence.contains(why), "{}", slow.sentence);
        assert_eq!(slow.sentence.contains("shard_by"), scales == Scales::State, "{}", slow.sentence);
    }
    let keyed = |busy: &[f64]| found(vec![source(), threads("keyed", busy, Scales::Keys)], 1, busy[0]);
    let skewed = keyed(&[8.0, 1.0, 1.0]);
    assert_eq!((skewed.limit, gains(&skewed)), (Limit::Skew, vec![]));
    let even = keyed(&[4.0, 3.0, 3.0]);
    assert_eq!((even.limit, gains(&even)), (Limit::Tasklets, vec![(0, 1, 4.0 / 3.0, "keyed")]));
}

#[test]
fn a_shard_with_too_little_input_does_not_limit() {
    // A free tasklet takes the next numbers; the load of the shards is therefore shared evenly.
    let starved =
        found(vec![stage("source", &[5.0], Scales::End), threads("shards", &[4.0, 0.0, 0.0], Scales::Shard)], 1, 5.0);
    assert_eq!((&*starved.stage, gains(&starved)), ("source", vec![]));
}

#[test]
fn if_nothing_is_busy_the_source_is_slow() {
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
fn a_run_without_work_has_no_bottleneck() {
    assert_eq!(Loads::default().bottleneck(), None);
    let idle = loads(vec![stage("source", &[0.0], Scales::End)], 1, 1.0);
    assert_eq!(idle.bottleneck(), None);
}

/// The stages of `wc` on two workers that hand four blocks over at a time.
fn two_stages_that_wait_for_each_other(busy: [f64; 2]) -> Loads {
    loads(vec![stage("source", &[busy[0]], Scales::End), stage("counts", &[busy[1]], Scales::State)], 2, 10.0)
}

#[test]
fn a_stage_that_is_mostly_idle_is_not_the_bottleneck() {
    for (busy, share) in [([2.2, 0.8], "22%"), ([0.8, 0.7], "8%")] {
        let found = two_stages_that_wait_for_each_other(busy).bottleneck().unwrap();
        assert_eq!((&*found.stage, found.limit, gains(&found)), ("source", Limit::Handover, vec![]));
        let said = &found.sentence;
        assert!(said.starts_with("No stage holds the run back: the busiest is `source`, for "), "{said}");
        assert!(said.contains(share) && said.contains("wait for each other") && !said.contains("less"), "{said}");
    }
    // Half of the time counts as busy.
    assert_eq!(two_stages_that_wait_for_each_other([5.1, 1.0]).bottleneck().unwrap().limit, Limit::Tasklets);
}

#[test]
fn if_others_have_the_cores_they_are_the_bottleneck() {
    let with = |loads: Loads, ran: f64, waited: f64| {
        Loads { threads: Some(ThreadTimes { ran, waited }), ..loads }.bottleneck().unwrap()
    };
    let found = with(two_stages_that_wait_for_each_other([2.2, 0.8]), 3.0, 12.6);
    assert_eq!((found.limit, found.delayed, gains(&found)), (Limit::Cores, Some(0.63), vec![]));
    assert!(found.sentence.contains("the workers waited 63% of their time for a core"), "{}", found.sentence);
    // A step takes longer for it: of nine busy tenths of the time, half was waiting for a core.
    let one = || loads(vec![stage("source", &[4.0], Scales::End), stage("counts", &[5.0], Scales::State)], 1, 10.0);
    assert_eq!(with(one(), 4.5, 4.5).limit, Limit::Cores);
    // A fifth of the time: the worker is the busy part, but no core is left for a second one.
    let some = with(one(), 7.0, 2.0);
    assert_eq!((some.limit, gains(&some)), (Limit::Workers, vec![]));
    let said = &some.sentence;
    assert!(said.contains(" The workers waited 20% of their time") && said.ends_with("another worker."), "{said}");
    // Too little to mention.
    let quiet = with(one(), 8.9, 0.1);
    assert_eq!(gains(&quiet).len(), 1);
    assert!(!quiet.sentence.contains("others"), "{}", quiet.sentence);
    // A stage with threads of its own does not depend on the workers.
    let apart = loads(vec![stage("source", &[0.1], Scales::End), threads("slow", &[9.0], Scales::Shard)], 1, 10.0);
    assert_eq!(with(apart, 0.1, 9.0).limit, Limit::Tasklets);
}

#[test]
fn an_end_that_waits_is_not_advised_to_do_less() {
    let slow = |name: &str, scales: Scales, ran: f64| {
        let stages = vec![stage("more", &[0.1], Scales::Shard), stage(name, &[8.7], scales)];
        let threads = Some(ThreadTimes { ran, waited: 0.0 });
        Loads { threads, ..loads(stages, 1, 10.0) }.bottleneck().unwrap()
    };
    for (name, scales, why) in [
        ("sink", Scales::End, "The consumer of its output is slow"),
        ("source", Scales::End, "Its input is slow"),
        ("ask", Scales::State, "`map_blocking` would"),
    ] {
        let waiting = slow(name, scales, 0.4);
        assert!(waiting.waits && waiting.sentence.contains(why), "{}", waiting.sentence);
        assert!(!waiting.sentence.contains("keep it busy"), "{}", waiting.sentence);
        let computing = slow(name, scales, 8.8);
        assert!(!computing.waits && !computing.sentence.contains(why), "{}", computing.sentence);
    }
}

#[test]
fn a_stage_that_sleeps_is_not_advised_to_be_sharded_on_the_workers() {
    let with = |ran: f64| {
        let threads = Some(ThreadTimes { ran, waited: 0.0 });
        let stages = vec![stage("source", &[0.1], Scales::End), stage("sleeps", &[9.5], Scales::Shard)];
        Loads { threads, ..loads(stages, 1, 10.0) }.bottleneck().unwrap()
    };
    let sleeps = with(0.2);
    assert!(sleeps.waits && sleeps.sentence.contains("Its function waits rather than computes: `map_blocking`"));
    assert!(!sleeps.sentence.contains("One more"), "{}", sleeps.sentence);
    let computes = with(9.6);
    assert!(!computes.waits && !computes.sentence.contains("map_blocking"), "{}", computes.sentence);
    assert!(computes.sentence.contains("One more worker and one more shard"), "{}", computes.sentence);
}

#[test]
fn a_measured_gain_replaces_a_modelled_one() {
    let with = |rates: &[(usize, f64)]| {
        let rates = rates.iter().map(|&(workers, numbers_per_second)| Rate { workers, numbers_per_second }).collect();
        let stages = vec![stage("source", &[5.0], Scales::End), stage("counts", &[5.0], Scales::State)];
        Loads { rates, ..loads(stages, 1, 10.0) }.bottleneck().unwrap()
    };
    let Gain { factor, at_most, .. } = with(&[]).gains[0];
    assert_eq!((factor, at_most), (2.0, true));
    assert!(with(&[]).sentence.contains("One more worker would make it at most 2.00 times as fast"));
    assert_eq!(with(&[(1, 19.9e6)]).gains, with(&[]).gains, "one rate alone allows no comparison");
    let slower = with(&[(1, 19.9e6), (2, 15.5e6)]);
    assert_eq!(gains(&slower), []);
    let tried =
        "By trial, in numbers of all stages a second: 1 worker moves 19.9 million, 2 workers move 15.5 million.";
    assert!(slower.sentence.ends_with(tried), "{}", slower.sentence);
    let faster = with(&[(1, 10e6), (2, 13e6)]);
    assert_eq!(gains(&faster), [(1, 0, 1.3, "counts")]);
    assert!(faster.sentence.contains("would make it 1.30 times as fast"), "{}", faster.sentence);
}

#[test]
fn the_gain_of_more_waiting_tasklets_is_exact() {
    let found = found(vec![stage("source", &[0.1], Scales::End), threads("pipe", &[9.0, 9.0], Scales::Shard)], 1, 9.0);
    assert_eq!(gains(&found), [(0, 1, 1.5, "pipe")]);
    assert!(found.sentence.ends_with("One more shard would make it 1.50 times as fast; then `pipe` would limit."));
}

#[test]
fn the_stages_of_a_loop_share_its_time_evenly_at_best() {
    let stages = |fused| {
        let looped = Load { fused, ..stage("last", &[6.0], Scales::Shard) };
        vec![stage("source", &[0.0], Scales::End), looped]
    };
    let one = found(stages(2), 1, 6.0);
    assert_eq!((&*one.stage, one.limit, one.utilisation), ("last", Limit::Workers, 1.0));
    let gain = &one.gains[0];
    assert_eq!((one.gains.len(), gain.workers, gain.shards, &*gain.next), (1, 1, 0, "last"));
    assert!((gain.factor - 1.5).abs() < 1e-6 && gain.at_most);
    assert!(one.sentence.contains("`last` and the 2 stages that are fused into it"), "{}", one.sentence);
    assert_eq!(found(stages(0), 1, 6.0).limit, Limit::Tasklets);
}
