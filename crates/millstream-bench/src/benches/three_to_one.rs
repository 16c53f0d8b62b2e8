//! Three producers, entries of three `u64`, one consumer: the test by which the LMAX article measures a ring for each
//! producer; and the same with one to sixteen producers.
//!
//! An item is an entry. The article counts longs: the figures of case `longs` are three times those of case `speed`,
//! and the figures of `published-longs` are three times those of `published`. Case `published` is the article's test:
//! entries are sent one by one, into rings of 65,536 slots, and with `--full` there are 180 million of them. In the
//! other cases producers send in batches. Each ring or channel takes part with two sizes, and each rival with batches
//! takes part with several of them; the best of ours is compared with the best of the rivals'. There are more threads
//! than cores, so every contestant yields while it waits. Every contestant takes three goes a turn, in turn with the
//! others, since the time of a cache line between the cores of a virtual machine changes from one second to the next.

mod timeline;

use crate::failure::Failure;
use crate::figure::{Figure, Results, Unit};
use crate::rivals::Task;
use crate::setting::{Effort, Setting};
use crate::turns::{Against, Contestant, Work, take_turns};
use crate::work::entry;
use millstream::prelude::*;

const OURS: [&str; 2] = ["ours-16384", "ours-65536"];
const SHARED: [&str; 2] = ["shared-16384", "shared-65536"];
const SIZES: [usize; 2] = [16_384, 65_536];
/// A full ring of ours is emptied in this number of turns.
const TURNS: usize = 16;
const CROSSBEAM: [&str; 2] = ["crossbeam-16384", "crossbeam-65536"];
const CROSSBEAM_VEC: [&str; 2] = ["crossbeam-vec1024-16384", "crossbeam-vec1024-65536"];
const ARRAY_QUEUE: [&str; 2] = ["array-queue-16384", "array-queue-65536"];
const TRAIN: [&str; 4] = ["train-64", "train-256", "train-1024", "train-4096"];
const DISRUPTOR: [&str; 4] = ["disruptor-1", "disruptor-64", "disruptor-256", "disruptor-1024"];

/// The article's number of entries.
const PUBLISHED: u64 = 180_000_000;
/// The slots of the article's ring.
const PUBLISHED_RING: usize = 65_536;

/// A number of producers, its case, and the rivals' name of the workload.
const CURVE: [(u64, &str, &str); 6] = [
    (1, "producers-1", "producers-1"),
    (2, "producers-2", "producers-2"),
    (3, "producers-3", "producers-3"),
    (4, "producers-4", "producers-4"),
    (8, "producers-8", "producers-8"),
    (16, "producers-16", "producers-16"),
];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(24_000_000, 6_000_000);
    let mut cases = Vec::new();
    let speeds = turns(setting, 3, "speed", "producers-3", n)?;
    cases.push(speeds.best(
        "speed",
        &OURS,
        &[
            Against { who: "disruptor", of: &DISRUPTOR, bound: Some(2.0) },
            Against { who: "crossbeam", of: &CROSSBEAM, bound: Some(5.0) },
            Against { who: "crossbeam-vec1024", of: &CROSSBEAM_VEC, bound: None },
            Against { who: "array-queue", of: &ARRAY_QUEUE, bound: Some(5.0) },
            Against { who: "shared", of: &SHARED, bound: Some(5.0) },
            Against { who: "train", of: &TRAIN, bound: Some(1.0) },
        ],
    ));
    cases.push(in_longs("longs", &cases[0]));
    let published = published(setting)?;
    cases.push(in_longs("published-longs", &published));
    cases.push(published);
    cases.push(through_a_pipeline(setting, n)?);
    cases.push(speeds.without(&OURS));
    for (producers, case, workload) in CURVE {
        let speeds = turns(setting, producers, case, workload, n / 3)?;
        let against = [
            Against { who: "disruptor", of: &DISRUPTOR, bound: None },
            Against { who: "shared", of: &SHARED, bound: (producers < 10).then_some(3.0) },
        ];
        cases.push(speeds.best(case, &OURS, &against));
    }
    if setting.plotted {
        cases.push(Results { timelines: timeline::run(setting)?, ..Results::default() });
    }
    Ok(Results::joined(cases))
}

/// The same speeds in longs.
fn in_longs(case: &'static str, entries: &Results) -> Results {
    let longs = |speed: &Figure| {
        let samples = speed.samples.iter().map(|entries| 3.0 * entries).collect();
        Figure::new(case, speed.who, samples, speed.unit)
    };
    Results { figures: entries.figures.iter().map(longs).collect(), ..Results::default() }
}

/// The published test: entries are sent one by one.
fn published(setting: &Setting) -> Result<Results, Failure> {
    let usual = if setting.effort == Effort::Full { PUBLISHED } else { 12_000_000 };
    let n = setting.items(usual, 6_000_000).div_ceil(3) * 3;
    let expected = sum_of(0..n);
    let rings = setting.rings.clone().wait(Wait::Yielding).ring(setting.ring.unwrap_or(PUBLISHED_RING));
    let ours = |shared: bool| {
        let rings = &rings;
        move || {
            let fan_in = if shared { fan_in(3).shared() } else { fan_in(3) };
            polled(rings, fan_in, 3, n, |sender, numbers| {
                for x in numbers {
                    if sender.send(entry(x)).is_err() {
                        break;
                    }
                }
            })
        }
    };
    let rival = |(name, who, size)| {
        setting.rivals.contestant(name, expected, Task { workload: "producers-3", who, items: n, size })
    };
    let rivals = [
        ("disruptor", "disruptor", 1),
        ("crossbeam", "crossbeam", PUBLISHED_RING),
        ("array-queue", "array-queue", PUBLISHED_RING),
    ];
    let mut contestants =
        vec![Contestant::new("ours", expected, ours(false)), Contestant::new("shared", expected, ours(true))];
    contestants.extend(rivals.into_iter().filter_map(rival));
    let work = Work { case: "published", unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratios = [
        speeds.ratio("disruptor", Some(1.0)),
        speeds.ratio("crossbeam", None),
        speeds.ratio("array-queue", None),
        speeds.ratio("shared", None),
    ];
    Ok(speeds.results(ratios))
}

fn turns(
    setting: &Setting,
    producers: u64,
    case: &'static str,
    workload: &'static str,
    n: u64,
) -> Result<crate::turns::Speeds, Failure> {
    // The same number of entries for each producer.
    let n = n.div_ceil(producers) * producers;
    let expected = sum_of(0..n);
    let rivals = |names: &'static [&'static str], who, sizes: &'static [usize]| {
        let rival = move |(name, size): (&&'static str, &usize)| {
            setting.rivals.contestant(name, expected, Task { workload, who, items: n, size: *size })
        };
        names.iter().zip(sizes).filter_map(rival).collect::<Vec<_>>()
    };
    let mut contestants = Vec::new();
    for (names, shared) in [(OURS, false), (SHARED, true)] {
        for (name, slots) in names.into_iter().zip(SIZES) {
            let slots = setting.ring.unwrap_or(slots);
            let turn = setting.batch.unwrap_or(slots / TURNS).max(1);
            let rings = setting.rings.clone().wait(Wait::Yielding).ring(slots).batch(turn);
            let consume = move || {
                let fan_in = fan_in(producers as usize).turn(turn);
                let fan_in = if shared { fan_in.shared() } else { fan_in };
                polled(&rings, fan_in, producers, n, |sender, numbers| {
                    // An error means that the consumer has gone, and the sum will be wrong.
                    let _ = sender.send_all(numbers.map(entry));
                })
            };
            contestants.push(Contestant::new(name, expected, consume));
        }
    }
    contestants.extend(rivals(&CROSSBEAM, "crossbeam", &SIZES));
    contestants.extend(rivals(&ARRAY_QUEUE, "array-queue", &SIZES));
    // Its ring has 65,536 slots; the sizes are those of batches.
    contestants.extend(rivals(&DISRUPTOR, "disruptor", &[1, 64, 256, 1024]));
    // The article compares the train with three producers.
    if case == "speed" {
        contestants.extend(rivals(&CROSSBEAM_VEC, "crossbeam-vec", &SIZES));
        contestants.extend(rivals(&TRAIN, "train", &[64, 256, 1024, 4096]));
    }
    take_turns(setting, Work { case, unit: Unit::ItemsPerSecond, size: n, goes: 3 }, contestants)
}

fn sum_of(numbers: std::ops::Range<u64>) -> u64 {
    numbers.fold(0, |sum, x| add(sum, entry(x)))
}

#[inline(always)]
fn add(sum: u64, [a, b, c]: [u64; 3]) -> u64 {
    sum.wrapping_add(a).wrapping_add(b).wrapping_add(c)
}

/// Producers on threads of their own, each of which sends its numbers, and the consumer in this thread.
fn polled(
    rings: &Rings,
    fan_in: FanIn<[u64; 3]>,
    producers: u64,
    n: u64,
    send: impl Fn(&Sender<[u64; 3]>, std::ops::Range<u64>) + Sync,
) -> Result<u64, Failure> {
    let (senders, mut poller) = fan_in.open(rings)?;
    std::thread::scope(|scope| {
        for (p, sender) in (0..producers).zip(senders) {
            let (numbers, send) = (n / producers * p..n / producers * (p + 1), &send);
            let producer = move || send(&sender, numbers);
            std::thread::Builder::new().spawn_scoped(scope, producer).map_err(Failure::io("a thread"))?;
        }
        Ok(poller.fold(0, |sum, _, entry| *sum = add(*sum, entry))?)
    })
}

/// The same work through a pipeline's source: a value moves once more.
fn through_a_pipeline(setting: &Setting, n: u64) -> Result<Results, Failure> {
    let (producers, expected) = (3, sum_of(0..n / 3 * 3));
    let ours = |slots: usize| {
        let rings = setting.rings(1).wait(Wait::Yielding).ring(setting.ring.unwrap_or(16_384));
        move || {
            let fan_in = fan_in(producers).ring(slots);
            let (senders, poller) = fan_in.open(&rings)?;
            let run =
                rings.start(pipeline().from(poller).to_fold(0, |sum, _, entry: &[u64; 3]| *sum = add(*sum, *entry)))?;
            for (p, sender) in (0..3).zip(senders) {
                std::thread::spawn(move || sender.send_all((n / 3 * p..n / 3 * (p + 1)).map(entry)));
            }
            Ok(run.wait()?.0)
        }
    };
    let contestants =
        OURS.into_iter().zip(SIZES).map(|(who, slots)| Contestant::new(who, expected, ours(slots))).collect();
    let work = Work { case: "pipeline", unit: Unit::ItemsPerSecond, size: n / 3 * 3, goes: 3 };
    Ok(take_turns(setting, work, contestants)?.best("pipeline", &OURS, &[]))
}
