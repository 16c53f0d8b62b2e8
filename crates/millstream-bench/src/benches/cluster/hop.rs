//! One hop between machines: batches of 32 KiB of u64 from one edge to another, through a map, and the same in a bare
//! loop with the same window (`loop`). Then 1,000 batches a second: the time from the append of a batch until a reader
//! has it (`hop`), and until a reader after the replica has its output (`through`).

use super::{INPUT, OUTPUT, Server, bare, failed, fill};
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::cluster::{Batch, Edges, JetStream, Log, OnRings, Options, Replica, Step, cut};
use millstream::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The numbers of a batch.
const NUMBERS: u64 = 4096;
/// The number of appends in flight.
const WINDOW: usize = 64;
/// The bound of one hop at 1,000 batches a second, in nanoseconds.
const BOUND: f64 = 1e6;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let batches = setting.items(2000, 500).max(1) as usize;
    let n = batches as u64 * NUMBERS;
    let server = Server::start()?;
    let expected = (1..=n).fold(0, u64::wrapping_add);
    let entries = cut(0..n, NUMBERS as usize).map_err(failed)?;
    let raw: Vec<Vec<u8>> =
        (0..batches as u64).map(|k| (k * NUMBERS..(k + 1) * NUMBERS).flat_map(u64::to_le_bytes).collect()).collect();
    let rings = setting.rings(1);
    let contestants = vec![
        Contestant::away("ours", expected, || ours(&server.app()?, &entries, &rings)),
        Contestant::away("loop", expected, || {
            fill(&server.app()?, INPUT, &raw)?;
            bare::run(&server, batches, WINDOW)
        }),
    ];
    let work = Work { case: "speed", unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratio = speeds.ratio("loop", Some(0.8));
    let speed = speeds.results([ratio]);
    let mut waits = Waits::default();
    for _ in 0..setting.turns() {
        waits.measure(&server.app()?, &entries[..batches.min(1000)], &rings)?;
    }
    Ok(Results::joined([speed, waits.results()]))
}

fn replica<P>(log: &JetStream, pipeline: P, rings: &Rings) -> Replica<OnRings<P>, JetStream>
where
    OnRings<P>: millstream::cluster::Segment,
{
    let edges = Edges { input: INPUT.to_owned(), output: OUTPUT.to_owned() };
    let options = Options { snapshot_every: u64::MAX, window: WINDOW, trims: false, ..Options::default() };
    Replica::new(OnRings::new(pipeline, rings.clone()), log.clone(), edges, options)
}

fn ours(log: &JetStream, entries: &[Vec<u8>], rings: &Rings) -> Result<(u64, Duration), Failure> {
    fill(log, INPUT, entries)?;
    let begun = Instant::now();
    let mut replica = replica(log, pipeline::<u64>().map(|x| x.wrapping_add(1)), rings);
    loop {
        match replica.step().map_err(failed)? {
            Step::Worked => {}
            Step::Idle => replica.wait(Duration::from_millis(5)),
            Step::Ended => break,
        }
    }
    let took = begun.elapsed();
    let (mut sum, mut next) = (0_u64, 1);
    while next <= entries.len() as u64 {
        let come = log.read_from(OUTPUT, next, 64).map_err(failed)?;
        if come.is_empty() {
            log.wait(Duration::from_millis(50));
        }
        for entry in come {
            let batch = Batch::<u64>::from_bytes(&entry.bytes).map_err(failed)?;
            sum = batch.values.iter().fold(sum, |sum, (_, x)| sum.wrapping_add(*x));
            next = entry.number + 1;
        }
    }
    Ok((sum, took))
}

/// Nanoseconds, by turn.
#[derive(Default)]
struct Waits {
    hop: Vec<f64>,
    through: Vec<f64>,
}

impl Waits {
    fn measure(&mut self, log: &JetStream, entries: &[Vec<u8>], rings: &Rings) -> Result<(), Failure> {
        let (ends, begun, count) = (AtomicBool::new(false), Instant::now(), entries.len());
        let (appended, hop, through) = thread::scope(|scope| {
            let (at_input, at_output) = (log.clone(), log.clone());
            let hop = scope.spawn(|| arrivals(at_input, INPUT, count, begun));
            let through = scope.spawn(|| arrivals(at_output, OUTPUT, count, begun));
            let working = scope.spawn(|| {
                let mut replica = replica(log, pipeline::<u64>().map(|x| x.wrapping_add(1)), rings);
                while !ends.load(Ordering::Relaxed) {
                    match replica.step() {
                        Ok(Step::Worked) => {}
                        Ok(_) => replica.wait(Duration::from_millis(5)),
                        Err(error) => return Err(failed(error)),
                    }
                }
                Ok(())
            });
            let appended = paced(log, entries, begun);
            let arrived = (hop.join(), through.join());
            ends.store(true, Ordering::Relaxed);
            let worked = working.join().unwrap_or_else(|_| Err(Failure::Threads("a replica panicked")));
            let panicked = || Err(Failure::Threads("a reader panicked"));
            worked.and_then(|()| {
                Ok((appended?, arrived.0.unwrap_or_else(|_| panicked())?, arrived.1.unwrap_or_else(|_| panicked())?))
            })
        })?;
        let median = |arrived: &[Duration]| {
            // The first batches are not measured, since they open consumers.
            let waits = arrived.iter().zip(&appended).skip(count / 5);
            let mut waits: Vec<u128> = waits.map(|(then, first)| then.saturating_sub(*first).as_nanos()).collect();
            waits.sort_unstable();
            waits.get(waits.len() / 2).map_or(0.0, |median| *median as f64)
        };
        self.hop.push(median(&hop));
        self.through.push(median(&through));
        Ok(())
    }

    fn results(self) -> Results {
        let under = Ratio::new("hop-p50", "1ms", self.hop.iter().map(|wait| BOUND / wait).collect(), Some(1.0));
        let figures = vec![
            Figure::new("hop-p50", "ours", self.hop, Unit::Nanoseconds),
            Figure::new("through-p50", "ours", self.through, Unit::Nanoseconds),
        ];
        Results { figures, ratios: vec![under], ..Results::default() }
    }
}

/// Sends a batch each millisecond, and returns when each was sent.
fn paced(log: &JetStream, entries: &[Vec<u8>], begun: Instant) -> Result<Vec<Duration>, Failure> {
    thread::sleep(Duration::from_millis(300));
    let (first, mut appended, mut under_way) = (begun.elapsed(), Vec::new(), Vec::new());
    for (last, bytes) in (0_u64..).zip(entries) {
        let due = first + Duration::from_millis(last);
        thread::sleep(due.saturating_sub(begun.elapsed()));
        appended.push(begun.elapsed());
        under_way.push(log.send_if(INPUT, last, bytes.clone().into()));
    }
    for mut sent in under_way {
        super::wait(log, || sent.answer()).map_err(failed)?;
    }
    Ok(appended)
}

/// The time at which a reader had each entry.
fn arrivals(log: JetStream, edge: &str, count: usize, begun: Instant) -> Result<Vec<Duration>, Failure> {
    let mut arrived = Vec::new();
    while arrived.len() < count {
        let entries = log.read_from(edge, arrived.len() as u64 + 1, 64).map_err(failed)?;
        if entries.is_empty() {
            log.wait(Duration::from_millis(50));
        }
        arrived.extend(entries.iter().map(|_| begun.elapsed()));
        if begun.elapsed() > Duration::from_secs(60) {
            return Err(Failure::Threads("the batches do not come"));
        }
    }
    Ok(arrived)
}
