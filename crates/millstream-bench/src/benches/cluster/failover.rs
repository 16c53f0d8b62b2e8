//! Two replicas, 500 batches a second. The replica that appends stops in the middle of its work, as by `kill -9`: the
//! longest time without a batch. The bound is half a second.

use super::{INPUT, OUTPUT, Server, failed};
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::Setting;
use millstream::cluster::{Edges, JetStream, Log, OnRings, Options, Replica, Step, cut};
use millstream::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The bound, in seconds.
const BOUND: f64 = 0.5;
const BATCHES: u64 = 1000;
/// How often a turn is tried until the replica that stops is the one that appends.
const TRIES: usize = 5;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let server = Server::start()?;
    let gaps: Vec<f64> =
        (0..setting.turns()).map(|_| measured(&server, &setting.rings(1))).collect::<Result<_, Failure>>()?;
    let under = Ratio::new("gap", "half-second", gaps.iter().map(|gap| BOUND / gap).collect(), Some(1.0));
    let figures = vec![Figure::new("gap", "ours", gaps, Unit::Seconds)];
    Ok(Results { figures, ratios: vec![under], ..Results::default() })
}

/// A gap without the replica that had appended. If the machine stood still before, the other one may have taken over
/// already: its batches go on, and nothing was measured.
fn measured(server: &Server, rings: &Rings) -> Result<f64, Failure> {
    for _ in 0..TRIES {
        if let Some(gap) = gap(&server.app()?, rings)? {
            return Ok(gap);
        }
    }
    Err(Failure::Threads("the replica that was stopped did not append"))
}

/// Works until it is stopped, or at the end. Returns whether it was the replica that appends.
fn work(log: &JetStream, rank: u32, rings: &Rings, stops: &AtomicBool) -> Result<bool, Failure> {
    let sums = pipeline::<u64>().scan(0_u64, |sum, x| {
        *sum = sum.wrapping_add(*x);
        *sum
    });
    let edges = Edges { input: INPUT.to_owned(), output: OUTPUT.to_owned() };
    // The same options as those of `millstream worker`.
    let options = Options { rank, patience: 20, pace: Duration::from_millis(10), ..Options::default() };
    let mut replica = Replica::new(OnRings::new(sums.named("sum"), rings.clone()), log.clone(), edges, options);
    while !stops.load(Ordering::Relaxed) {
        match replica.step().map_err(failed)? {
            Step::Worked => {}
            Step::Idle => replica.wait(Duration::from_millis(5)),
            Step::Ended => break,
        }
    }
    Ok(replica.appends())
}

/// The longest time between two batches, in seconds; `None` if the replica that was stopped did not append.
fn gap(log: &JetStream, rings: &Rings) -> Result<Option<f64>, Failure> {
    let entries = cut(0..BATCHES * 16, 16).map_err(failed)?;
    let (killed, never) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let first = scope.spawn(|| work(log, 0, rings, &killed));
        let second = scope.spawn(|| work(log, 1, rings, &never));
        let fed = scope.spawn(|| -> Result<(), Failure> {
            let log = log.clone();
            for (last, bytes) in (0..).zip(&entries) {
                log.append_if(INPUT, last, bytes).map_err(failed)?;
                thread::sleep(Duration::from_millis(2));
            }
            Ok(())
        });
        let reader = log.clone();
        let (mut next, mut longest, mut grown) = (1, Duration::ZERO, Instant::now());
        while next <= BATCHES {
            let entries = reader.read_from(OUTPUT, next, 64).map_err(failed)?;
            if let Some(last) = entries.last() {
                if next > 1 {
                    longest = longest.max(grown.elapsed());
                }
                (next, grown) = (last.number + 1, Instant::now());
            } else {
                reader.wait(Duration::from_millis(5));
            }
            if next > BATCHES / 2 {
                killed.store(true, Ordering::Relaxed);
            }
            if grown.elapsed() > Duration::from_secs(20) {
                never.store(true, Ordering::Relaxed);
                return Err(Failure::Threads("no replica went on"));
            }
        }
        let panicked = |_| Failure::Threads("a thread panicked");
        let appended = first.join().map_err(panicked)??;
        second.join().map_err(panicked)??;
        fed.join().map_err(panicked)??;
        Ok(appended.then_some(longest.as_secs_f64()))
    })
}
