//! Three workloads in every library that can do them: one hop between two threads, two maps in a chain, and a map of
//! 1.2 microseconds on two cores in order. Each library runs with its best settings that we know: batches wherever it
//! moves values between threads, and no hand-over at all where it is faster without.
//!
//! Ours takes part with two or three sizes of rings and, where a hand-over is not the point, with one worker; the best
//! of them in each turn counts. A rival has the one setting that was the fastest when it was chosen, so the noise of a
//! turn is in our favour. A `hop` is between two threads. `tasks` is the same work
//! beside a runtime that moves its tasks between threads, and that runs both ends on one where that is faster. A ring
//! of a hop is the fastest if it is larger than a core's cache, ours as the rivals'. A library whose tools the machine
//! lacks is left out, and a note says so.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::rivals::{Language, Task};
use crate::setting::Setting;
use crate::turns::{Against, Contestant, Work, take_turns};
use crate::work;
use millstream::prelude::*;
use std::hint::black_box;

/// A rival's setting: its language, its name in the results and in its program, and the slots of its rings or channels.
type Rival = (Language, &'static str, &'static str, usize);

const HOP: &[Rival] = &[
    (Language::Rust, "crossbeam-vec1024", "crossbeam-vec", 64),
    (Language::Rust, "std-vec1024", "std-vec", 64),
    (Language::Rust, "kanal-vec1024", "kanal-vec", 64),
    (Language::Rust, "rtrb-chunk", "rtrb-chunk", 524_288),
    (Language::Rust, "disruptor-rs", "disruptor", 524_288),
    (Language::Rust, "timely", "timely", 0),
    (Language::Go, "go-slice1024", "go-slices", 64),
    (Language::Java, "lmax", "lmax", 65_536),
    (Language::Java, "lmax-batch64", "lmax-batch", 65_536),
    (Language::Java, "pekko-array1024", "pekko-arrays", 0),
];

const TASKS: &[Rival] = &[(Language::Rust, "tokio-vec1024", "tokio-vec", 64)];

const CHAIN3: &[Rival] = &[
    (Language::Rust, "crossbeam-vec1024", "crossbeam-vec", 64),
    (Language::Rust, "std-vec1024", "std-vec", 64),
    (Language::Rust, "kanal-vec1024", "kanal-vec", 64),
    (Language::Rust, "tokio-vec1024", "tokio-vec", 64),
    (Language::Rust, "futures", "futures", 0),
    (Language::Rust, "timely", "timely", 0),
    (Language::Go, "go-slice1024", "go-slices", 64),
    (Language::Java, "pekko-array1024", "pekko-arrays", 0),
    (Language::Java, "pekko-fused", "pekko-fused", 0),
    (Language::Java, "java-stream", "java-stream", 0),
];

const ORDERED: &[Rival] = &[
    (Language::Rust, "rayon-chunks64k", "rayon", 65_536),
    (Language::Rust, "pariter", "pariter", 0),
    (Language::Rust, "futures-buffered", "futures-buffered", 8),
    (Language::Go, "go-slice1024", "go-slices", 64),
    (Language::Java, "java-stream", "java-stream", 0),
    (Language::Java, "pekko-array1024", "pekko-arrays", 0),
];

/// A setting of ours: its name, the slots of its rings and its workers.
type Ours = (&'static str, usize, usize);

const SMALL: Ours = ("ours-4096", 4096, 2);
const MEDIUM: Ours = ("ours-65536", 65_536, 2);
const LARGE: Ours = ("ours-524288", 524_288, 2);
const ALONE: Ours = ("ours-one-worker", 4096, 1);

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let (mut notes, mut absent) = (Vec::new(), Vec::new());
    for language in [Language::Go, Language::Java] {
        if let Some(reason) = setting.rivals.left_out(language)? {
            notes.push(format!("rivals in {language:?} are left out: {reason}"));
            absent.push(language);
        }
    }
    let absent = &absent[..];

    let n = setting.items(10_000_000, 5_000_000);
    let identity = pipeline::<u64>();
    let ours = |rings: &Rings| summed(rings, &identity, n);
    let fused = || (0..black_box(n)).map(black_box).fold(0, u64::wrapping_add);
    let hop = Workload { case: "hop", name: "hop", rivals: HOP, absent, of_ours: &[SMALL, MEDIUM, LARGE], goes: 10, n };
    let tasks = Workload { case: "tasks", rivals: TASKS, of_ours: &[SMALL, MEDIUM, LARGE, ALONE], ..hop };
    let (hop, tasks) = (case(setting, hop, ours, fused)?, case(setting, tasks, ours, fused)?);

    let n = setting.items(50_000_000, 10_000_000);
    let chain = pipeline::<u64>().map(|x| work::first(*x)).map(|x| work::second(*x));
    let ours = |rings: &Rings| summed(rings, &chain, n);
    let fused = || (0..black_box(n)).map(work::first).map(work::second).fold(0, u64::wrapping_add);
    let of_ours = &[SMALL, MEDIUM, ALONE];
    let chain3 = Workload { case: "chain3", name: "chain3", rivals: CHAIN3, absent, of_ours, goes: 1, n };
    let chain3 = case(setting, chain3, ours, fused)?;

    let n = setting.items(1_000_000, 100_000);
    let sharded = pipeline::<u64>().shard(2, |p| p.map(|x| work::rounds(*x, work::ROUNDS)));
    let ours = |rings: &Rings| joined(rings, &sharded, n);
    let fused = || (0..black_box(n)).map(|x| work::rounds(x, work::ROUNDS)).fold(0, work::joined);
    let (name, of_ours) = ("shard2-ordered", &[SMALL, MEDIUM]);
    let ordered = Workload { case: "ordered", name, rivals: ORDERED, absent, of_ours, goes: 1, n };
    let ordered = case(setting, ordered, ours, fused)?;

    let mut results = Results::joined([hop, tasks, chain3, ordered]);
    results.notes.extend(notes);
    Ok(results)
}

/// The work of all contestants of a case.
#[derive(Clone, Copy)]
struct Workload<'a> {
    case: &'static str,
    /// Its name in the rivals' programs.
    name: &'static str,
    rivals: &'static [Rival],
    /// The languages whose rivals are left out.
    absent: &'a [Language],
    of_ours: &'static [Ours],
    /// The goes of a turn.
    goes: u32,
    /// The items of a go.
    n: u64,
}

fn case(
    setting: &Setting,
    Workload { case, name: workload, rivals, absent, of_ours, goes, n }: Workload<'_>,
    ours: impl Fn(&Rings) -> Result<u64, Failure>,
    fused: impl Fn() -> u64,
) -> Result<Results, Failure> {
    let expected = fused();
    let ours = &ours;
    let contestant = |(who, slots, workers): &Ours| {
        let rings = setting.rings(*workers).ring(*slots);
        Contestant::new(who, expected, move || ours(&rings))
    };
    let mut contestants: Vec<_> = of_ours.iter().map(contestant).collect();
    contestants.push(Contestant::new("fused", expected, || Ok(fused())));
    let present = rivals.iter().filter(|(language, ..)| !absent.contains(language));
    contestants.extend(present.filter_map(|(language, shown, who, size)| {
        setting.rivals.contestant_in(*language, shown, expected, Task { workload, who, items: n, size: *size })
    }));
    let speeds = take_turns(setting, Work { case, unit: Unit::ItemsPerSecond, size: n, goes }, contestants)?;
    let of_ours: Vec<_> = of_ours.iter().map(|(who, ..)| *who).collect();
    let names: Vec<[&str; 1]> = rivals.iter().map(|(_, shown, ..)| [*shown]).collect();
    let mut against: Vec<_> =
        rivals.iter().zip(&names).map(|((_, who, ..), of)| Against { who, of, bound: Some(1.0) }).collect();
    against.push(Against { who: "fused", of: &["fused"], bound: None });
    let best = speeds.best(case, &of_ours, &against);
    Ok(Results::joined([best, speeds.without(&of_ours)]))
}

fn summed<P>(rings: &Rings, pipeline: &P, n: u64) -> Result<u64, Failure>
where
    P: Arrow<In = Val<u64>, Out: for<'a> Shape<Ref<'a> = &'a u64>> + RunsOn<Rings, Item = u64>,
{
    let add = |sum: &mut u64, _, x: &u64| *sum = sum.wrapping_add(*x);
    Ok(rings.run(pipeline.from(source::ready(0..n)).to_fold(0, add))?.0)
}

fn joined<P>(rings: &Rings, pipeline: &P, n: u64) -> Result<u64, Failure>
where
    P: Arrow<In = Val<u64>, Out: for<'a> Shape<Ref<'a> = &'a u64>> + RunsOn<Rings, Item = u64>,
{
    let join = |sum: &mut u64, _, x: &u64| *sum = work::joined(*sum, *x);
    Ok(rings.run(pipeline.from(source::ready(0..n)).to_fold(0, join))?.0)
}
