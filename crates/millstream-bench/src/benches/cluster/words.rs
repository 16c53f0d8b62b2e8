//! Words counted by key through a server, with two replicas, and the same pipeline on one machine (`one-machine`), over
//! the same text. Two replicas compute everything twice, on the same cores as the server.

use super::{INPUT, OUTPUT, Server, failed, fill};
use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::cluster::{Batch, Edges, JetStream, Log, OnRings, Options, Replica, Step, cut};
use millstream::prelude::*;
use std::thread;
use std::time::{Duration, Instant};

/// The lines of a batch.
const LINES: usize = 512;

fn words() -> impl Pipeline<String, u64> + Lasting {
    pipeline::<String>()
        .flat_map(|line: &String| line.split(' ').map(str::to_owned).collect::<Vec<_>>())
        .named("words")
        .shard_by(
            |word: &String| word.clone(),
            2,
            |p| {
                p.scan(0_u64, |count, _: &String| {
                    *count += 1;
                    *count
                })
                .named("count")
            },
        )
        .named("by-word")
}

fn lines(count: u64) -> Vec<String> {
    let word = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    let line = |n: u64| (0..10).map(|k| format!("w{}", word(n * 10 + k))).collect::<Vec<_>>().join(" ");
    (0..count).map(line).collect()
}

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let lines = lines(setting.items(100_000, 20_000));
    let bytes: u64 = lines.iter().map(|line| line.len() as u64 + 1).sum();
    let server = Server::start()?;
    let entries = cut(lines.iter().cloned(), LINES).map_err(failed)?;
    let rings = setting.rings(1);
    let expected = alone(&lines, &rings)?.0;
    let contestants = vec![
        Contestant::away("ours", expected, || ours(&server.app()?, &entries, &rings)),
        Contestant::away("one-machine", expected, || alone(&lines, &rings)),
    ];
    let work = Work { case: "speed", unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratio = speeds.ratio("one-machine", None);
    Ok(speeds.results([ratio]))
}

fn alone(lines: &[String], rings: &Rings) -> Result<(u64, Duration), Failure> {
    let lines = lines.to_vec();
    let begun = Instant::now();
    let add = |sum: &mut u64, number: SequenceNumber, count: &u64| *sum = mixed(*sum, number.0, *count);
    let (sum, _) = rings.run(words().from(lines).to_fold(0, add))?;
    Ok((sum, begun.elapsed()))
}

fn mixed(sum: u64, number: u64, count: u64) -> u64 {
    sum.wrapping_add((number ^ count.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn work(log: &JetStream, rank: u32, rings: &Rings) -> Result<(), Failure> {
    let log = log.clone();
    let edges = Edges { input: INPUT.to_owned(), output: OUTPUT.to_owned() };
    let options = Options { rank, pace: Duration::from_millis(10), snapshot_every: 64, ..Options::default() };
    let mut replica = Replica::new(OnRings::new(words(), rings.clone()), log.clone(), edges, options);
    loop {
        match replica.step().map_err(failed)? {
            Step::Worked => {}
            Step::Idle => log.wait(Duration::from_millis(5)),
            Step::Ended => return Ok(()),
        }
    }
}

fn ours(log: &JetStream, entries: &[Vec<u8>], rings: &Rings) -> Result<(u64, Duration), Failure> {
    fill(log, INPUT, entries)?;
    let begun = Instant::now();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|rank| scope.spawn(move || work(log, rank, rings))).collect();
        let (mut next, mut sum) = (1, 0);
        while next <= entries.len() as u64 {
            let read = log.read_from(OUTPUT, next, 64).map_err(failed)?;
            if read.is_empty() {
                log.wait(Duration::from_millis(5));
            }
            for entry in read {
                next = entry.number + 1;
                let batch = Batch::<u64>::from_bytes(&entry.bytes).map_err(failed)?;
                sum = batch.values.iter().fold(sum, |sum, (number, count)| mixed(sum, *number, *count));
            }
        }
        let took = begun.elapsed();
        for worker in workers {
            worker.join().map_err(|_| Failure::Threads("a replica panicked"))??;
        }
        Ok((sum, took))
    })
}
