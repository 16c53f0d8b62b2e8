//! The bottleneck of runs in which it is known, and whether forecasts come true.
//!
//! Slow stages sleep, at a pace that outweighs the noise of a busy machine. Alone in its test binary, since the
//! threads of other tests would add to that noise.
#![cfg(not(loom))]

use millstream_core::{Arrow, Deploy, KeysExt, ToOwnedItem, Val, pipeline};
use millstream_exec::{Bottleneck, JobRefExt, Limit, Report, RingBackend, RingShape, Rings, Runner, source};
use millstream_testkit::at_some_pace;
use std::thread::sleep;
use std::time::Duration;

const NUMBERS: u64 = 120;

/// Sleeps for `ms` milliseconds at pace 1.
fn nap(pace: u32, ms: u64) {
    sleep(Duration::from_millis(ms) * pace);
}

fn run<P: Deploy<RingBackend, In = Val<u64>, Out: RingShape + ToOwnedItem>>(p: &P, workers: usize) -> Report {
    Rings::new().workers(workers).for_each(p.from(source::ready(0..NUMBERS)), |_, _| ()).expect("nothing panics")
}

fn found(report: &Report) -> Bottleneck {
    let found = report.bottleneck().expect("something was done");
    eprintln!("{}", found.sentence);
    found
}

/// By which factor the second run was faster.
fn faster(before: &Report, after: &Report) -> f64 {
    before.elapsed.as_secs_f64() / after.elapsed.as_secs_f64()
}

fn slow_middle(pace: u32, shards: usize) -> impl Deploy<RingBackend, In = Val<u64>, Out = Val<u64>> {
    pipeline::<u64>()
        .map(|x| x + 1)
        .named("front")
        .shard(shards, |p| {
            p.map_blocking(move |x: &u64| {
                nap(pace, 6);
                *x
            })
            .named("slow")
        })
        .map_blocking(move |x: &u64| {
            nap(pace, 2);
            *x
        })
        .named("next")
}

#[test]
fn a_slow_stage_in_the_middle_and_the_gain_of_a_shard() {
    at_some_pace(|pace| {
        let one = run(&slow_middle(pace, 1), 1);
        let blamed = found(&one);
        assert_eq!((&*blamed.stage, blamed.limit), ("slow", Limit::Tasklets));
        assert!(blamed.utilisation > 0.9 && blamed.service_ns.unwrap() >= 6e6, "{blamed:?}");
        let gain = &blamed.gains[0];
        assert_eq!((gain.workers, gain.shards, &*gain.next), (0, 1, "slow"));
        let truth = faster(&one, &run(&slow_middle(pace, 2), 1));
        assert!((gain.factor / truth - 1.0).abs() < 0.2, "forecast {}, and {truth} came", gain.factor);

        // With four shards the next stage is as slow: a gain of a fifth is impossible.
        let four = found(&run(&slow_middle(pace, 4), 1));
        assert_eq!(&*four.stage, "next");
        let three = found(&run(&slow_middle(pace, 2), 1));
        assert_eq!((&*three.stage, three.gains[0].shards), ("slow", 1));
    });
}

/// Four shards after one stage: a number takes them longer than that stage, and still they wait for it.
fn starving(pace: u32, shards: usize) -> impl Deploy<RingBackend, In = Val<u64>, Out = Val<u64>> {
    let taking = move |ms| {
        move |x: &u64| {
            nap(pace, ms);
            *x
        }
    };
    pipeline::<u64>()
        .shard(shards, move |p| p.map_blocking(taking(6)).named("feeds"))
        .shard(4, move |p| p.map_blocking(taking(8)).named("starves"))
}

#[test]
fn shards_that_starve_are_not_the_bottleneck_and_their_upstream_is() {
    at_some_pace(|pace| {
        let one = run(&starving(pace, 1), 1);
        let blamed = found(&one);
        assert_eq!((&*blamed.stage, blamed.limit), ("feeds", Limit::Tasklets));
        let gain = &blamed.gains[0];
        assert_eq!((gain.workers, gain.shards, &*gain.next), (0, 1, "feeds"));
        let truth = faster(&one, &run(&starving(pace, 2), 1));
        assert!((gain.factor / truth - 1.0).abs() < 0.2, "forecast {}, and {truth} came", gain.factor);
        // With four shards before them they have enough to do.
        assert_eq!(&*found(&run(&starving(pace, 4), 1)).stage, "starves");
    });
}

#[test]
fn a_slow_sink() {
    at_some_pace(|pace| {
        let p = pipeline::<u64>().map(|x| x + 1).map(|x| x * 2);
        let report =
            Rings::new().workers(1).for_each((&p).from(source::ready(0..NUMBERS)), move |_, _| nap(pace, 3)).unwrap();
        let blamed = found(&report);
        assert_eq!((&*blamed.stage, blamed.limit), ("sink", Limit::Tasklets));
        assert!(blamed.gains.is_empty(), "{}", blamed.sentence);
        // If the system reports that the sink waits rather than computes, it is not advised to do less.
        let why = if blamed.waits { "The consumer of its output is slow" } else { "an end of the pipeline" };
        assert!(blamed.sentence.contains(why), "{}", blamed.sentence);
    });
}

#[test]
fn a_slow_source() {
    at_some_pace(|pace| {
        let p = pipeline::<u64>().map(|x| x + 1).map_blocking(move |x: &u64| {
            nap(pace, 1);
            *x
        });
        let slow = (0..NUMBERS).inspect(move |_| nap(pace, 6));
        let report = Rings::new().workers(1).for_each((&p).from(slow), |_, _| ()).unwrap();
        let blamed = found(&report);
        assert_eq!((&*blamed.stage, blamed.limit), ("source", Limit::Source));
        assert!(blamed.gains.is_empty());
    });
}

#[test]
fn a_source_that_a_worker_runs() {
    at_some_pace(|pace| {
        let p = pipeline::<u64>().map(|x| x + 1);
        let slow = (0..NUMBERS).inspect(move |_| nap(pace, 3));
        let report = Rings::new().workers(1).for_each((&p).from(source::ready(slow)), |_, _| ()).unwrap();
        assert_eq!(&*found(&report).stage, "source");
    });
}

#[test]
fn skewed_keys_and_even_keys() {
    at_some_pace(|pace| {
        let keyed = |key: fn(&u64) -> u64| {
            pipeline::<u64>().shard_by(key, 4, |p| {
                p.scan(0, move |sum: &mut u64, x: &u64| {
                    nap(pace, 2);
                    *sum += x;
                    *sum
                })
                .named("sums")
            })
        };
        // One of these keys has nine numbers in ten.
        let skewed = found(&run(&keyed(|x| if x % 10 == 0 { *x } else { 0 }), 4));
        assert_eq!((&*skewed.stage, skewed.limit), ("sums", Limit::Skew));
        assert!(skewed.gains.is_empty() && skewed.sentence.contains("unevenly"), "{}", skewed.sentence);
        // The lanes of forty keys are never quite even, but none has half of the numbers.
        let even = found(&run(&keyed(|x| x % 40), 4));
        assert_eq!(&*even.stage, "sums");
    });
}

#[test]
fn one_worker_for_two_stages_and_the_gain_of_a_second_one() {
    at_some_pace(|pace| {
        let p = pipeline::<u64>()
            .map(move |x| {
                nap(pace, 2);
                *x
            })
            .named("first")
            .map(move |x| {
                nap(pace, 3);
                *x
            })
            .named("second");
        let one = run(&p, 1);
        let blamed = found(&one);
        assert_eq!((&*blamed.stage, blamed.limit), ("second", Limit::Workers));
        if one.cores.usable == 1 {
            assert!(blamed.gains.is_empty(), "no core is left");
            return;
        }
        let gain = &blamed.gains[0];
        assert_eq!((gain.workers, gain.shards, &*gain.next), (1, 0, "second"));
        // A batch of 2048 would pass through one stage after the other.
        let two = |workers| {
            Rings::new().workers(workers).batch(4).for_each((&p).from(source::ready(0..NUMBERS)), |_, _| ()).unwrap()
        };
        // Dear numbers go through the slots also on one worker, so it is known how they share its time.
        let truth = faster(&two(1), &two(2));
        assert!(!gain.at_most && (1.3..2.1).contains(&gain.factor), "{gain:?}");
        assert!((1.3..gain.factor * 1.25).contains(&truth), "forecast {}, and {truth} came", gain.factor);
    });
}

#[test]
fn the_report_has_the_counters_of_the_rings() {
    let report = run(&pipeline::<u64>().map(|x| x + 1), 1);
    assert!(report.rings.iter().all(|ring| ring.produced == NUMBERS + 1 && ring.consumed == [NUMBERS + 1]));
    assert_eq!(report.rings.len(), 2);
}
