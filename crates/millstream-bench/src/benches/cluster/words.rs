//! Words counted by key through a server, with two replicas, and the same pipeline on one machine (`one-machine`), over
//! the same text. Two replicas compute everything twice, on the same cores as the server.
//!
//! Rivals are a cluster of Flink with two task managers of a slot each, which share the work: `flink` takes
//! exactly-once checkpoints, `flink-no-checkpoints` none, and `flink-files` writes its output to files as well, each of
//! which a checkpoint commits. It makes the lines in its tasks and reads none, and its time begins with the first line:
//! it has neither the start of its JVMs nor that of the job. Ours reads its input from the server, appends its output
//! there, and its time is over when a reader has it all.

use super::{INPUT, OUTPUT, Server, failed, fill};
use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::rivals::{Language, Task};
use crate::setting::Setting;
use crate::text::line_of_words;
use crate::turns::{Contestant, Work, take_turns};
use millstream::cluster::{Batch, Edges, JetStream, Log, OnRings, Options, Replica, Step, cut};
use millstream::prelude::*;
use std::thread;
use std::time::{Duration, Instant};

/// The lines of a batch.
const LINES: usize = 512;
/// The milliseconds between two checkpoints of Flink, about those between two snapshots of ours.
const CHECKPOINTS: usize = 200;
/// The rivals, and their checkpoints.
const FLINK: [(&str, usize); 3] = [("flink", CHECKPOINTS), ("flink-files", CHECKPOINTS), ("flink-no-checkpoints", 0)];

fn words() -> impl Pipeline<String, u64> + Lasting {
    pipeline::<String>()
        .flat_map(|line: &String| line.split(' ').map(str::to_owned).collect::<Vec<_>>())
        .named("words")
        .shard_by_ref(
            |word: &String| word.as_str(),
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
    (0..count).map(line_of_words).collect()
}

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let left_out = setting.rivals.left_out(Language::Flink)?;
    let lines = lines(setting.items(400_000, 100_000));
    let bytes: u64 = lines.iter().map(|line| line.len() as u64 + 1).sum();
    let server = Server::start()?;
    let entries = cut(lines.iter().cloned(), LINES).map_err(failed)?;
    let rings = setting.rings(1);
    let expected = alone(&lines, &rings)?.0;
    let mut contestants = vec![
        Contestant::away("ours", expected, || ours(&server.app()?, &entries, &rings)),
        Contestant::away("one-machine", expected, || alone(&lines, &rings)),
    ];
    if left_out.is_none() {
        let items = lines.len() as u64;
        contestants.extend(FLINK.iter().filter_map(|&(who, size)| {
            let task = Task { workload: "cluster-words", who, items, size };
            setting.rivals.contestant_in(Language::Flink, who, expected, task)
        }));
    }
    let work = Work { case: "speed", unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratios = [
        speeds.ratio("one-machine", None),
        speeds.ratio("flink", Some(5.0)),
        speeds.ratio("flink-files", None),
        speeds.ratio("flink-no-checkpoints", None),
    ];
    let mut results = speeds.results(ratios);
    results.notes.extend(left_out.map(|reason| format!("Flink is left out: {reason}")));
    Ok(results)
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
    let edges = Edges { input: INPUT.to_owned(), output: OUTPUT.to_owned() };
    let options = Options { rank, pace: Duration::from_millis(10), snapshot_every: 64, ..Options::default() };
    let mut replica = Replica::new(OnRings::new(words(), rings.clone()), log.clone(), edges, options);
    loop {
        match replica.step().map_err(failed)? {
            Step::Worked => {}
            Step::Idle => replica.wait(Duration::from_millis(5)),
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
