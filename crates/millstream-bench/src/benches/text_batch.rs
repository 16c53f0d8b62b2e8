//! Lines of text through a map, for several sizes of a read and of a step: the bytes a second, and the time that a line
//! waits if lines arrive at a fixed rate.
//!
//! Case `step` is what a batch saves: ours with the library's sizes, beside steps of one line each, in turn.

use crate::failure::Failure;
use crate::figure::{Point, Results, Unit};
use crate::latency::{Quantile, Waiter, compare};
use crate::setting::{Effort, Setting};
use crate::text::{SENTENCE, Text};
use crate::turns::{Contestant, Work, take_turns};
use millstream::core::TextExt;
use millstream::core::text::{Block, Piece};
use millstream::io::WholeBlocks;
use millstream::prelude::*;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// A trial: the names of its two cases, the bytes of a read, the lines of a step.
struct Trial {
    speed: &'static str,
    wait: &'static str,
    block: usize,
    batch: usize,
}

/// The library's defaults.
const BLOCK: usize = 64 * 1024;
const BATCH: usize = 2048;

const fn block(speed: &'static str, wait: &'static str, block: usize) -> Trial {
    Trial { speed, wait, block, batch: BATCH }
}

const fn batch(speed: &'static str, wait: &'static str, batch: usize) -> Trial {
    Trial { speed, wait, block: BLOCK, batch }
}

const BLOCKS: [Trial; 6] = [
    block("block-1K", "block-1K-p99", 1 << 10),
    block("block-4K", "block-4K-p99", 1 << 12),
    block("block-16K", "block-16K-p99", 1 << 14),
    block("block-64K", "block-64K-p99", 1 << 16),
    block("block-256K", "block-256K-p99", 1 << 18),
    block("block-1M", "block-1M-p99", 1 << 20),
];

const BATCHES: [Trial; 4] = [
    batch("batch-1", "batch-1-p99", 1),
    batch("batch-16", "batch-16-p99", 16),
    batch("batch-128", "batch-128-p99", 128),
    batch("batch-1024", "batch-1024-p99", 1024),
];

/// How many times as fast as steps of one line each the library's sizes must be.
const STEP: f64 = 3.0;

/// The rate of lines where waits are measured. It is well below the speed of any trial.
const BYTES_PER_SECOND: f64 = 50e6;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let text = Text::sentences(setting.items(1_000_000, 200_000));
    let file = text.file()?;
    let mut results = steps(setting, &file, text.bytes())?;
    for trial in &BLOCKS {
        let tried = tried(setting, trial, &file, text.bytes())?;
        let [speed, wait] = [0, 1].map(|i| tried.figures[i].value);
        results = Results::joined([results, tried]);
        results.curve.push(Point { size: trial.block as u64, speed, wait });
    }
    for trial in &BATCHES {
        results = Results::joined([results, tried(setting, trial, &file, text.bytes())?]);
    }
    Ok(results)
}

/// The library's sizes, and steps of one line each.
fn steps(setting: &Setting, file: &Path, bytes: u64) -> Result<Results, Failure> {
    let of = |batch| move || whole(setting, file, BLOCK, batch);
    let contestants = vec![Contestant::new("ours", bytes, of(BATCH)), Contestant::new("batch-1", bytes, of(1))];
    let work = Work { case: "step", unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratio = speeds.ratio("batch-1", Some(STEP));
    Ok(speeds.results([ratio]))
}

/// The whole file through the map. Returns the sum of the lengths of the lines whose second letter is a capital.
fn whole(setting: &Setting, file: &Path, block: usize, batch: usize) -> Result<u64, Failure> {
    let input = File::open(file).map_err(Failure::io(file.display().to_string()))?;
    let blocks = source::few::<4, _>(source::ready(WholeBlocks::lines(input).size(block)));
    let length = |sum: &mut u64, _, line: Piece<'_>| {
        let is_mapped = line.get(1).is_some_and(u8::is_ascii_uppercase);
        *sum += if is_mapped { line.len() as u64 } else { 0 };
    };
    Ok(setting.rings(1).batch(batch).run(capitals().from(blocks).to_fold(0, length))?.0)
}

/// One figure of speed, and one of waits.
fn tried(setting: &Setting, trial: &Trial, file: &Path, bytes: u64) -> Result<Results, Failure> {
    let rings = setting.rings(1).batch(trial.batch);
    let work = Work { case: trial.speed, unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    let ours = || whole(setting, file, trial.block, trial.batch);
    let speed = take_turns(setting, work, vec![Contestant::new("ours", bytes, ours)])?.results([]);
    let lasting = Duration::from_millis(if setting.effort == Effort::Quick { 200 } else { 1000 });
    let lines = (lasting.as_secs_f64() * BYTES_PER_SECOND / SENTENCE.len() as f64) as u64;
    let lines = setting.items.unwrap_or(lines);
    let waits = || {
        let input = Paced { began: Instant::now(), sent: 0, bytes: lines * SENTENCE.len() as u64 };
        let began = input.began;
        let blocks = source::few::<4, _>(WholeBlocks::lines(input).size(trial.block));
        let waited = move |waits: &mut Vec<u64>, number: SequenceNumber, _: Piece<'_>| {
            let due = due((number.0 + 1) * SENTENCE.len() as u64);
            waits.push(began.elapsed().saturating_sub(due).as_nanos() as u64);
        };
        let (waits, _) = rings.run(capitals().from(blocks).to_fold(Vec::with_capacity(lines as usize), waited))?;
        if waits.len() as u64 == lines { Ok(waits) } else { Err(Failure::Answer("ours", waits.len())) }
    };
    let waits = compare(setting, &[Quantile { case: trial.wait, of: 0.99 }], vec![Waiter::new("ours", waits)])?;
    Ok(Results::joined([speed, waits]))
}

/// Replaces a to z by A to Z.
fn capitals() -> impl Deployable<In = Val<Block>, Out = millstream::core::Text> {
    pipeline::<Block>()
        .lines_with_ends()
        .map_bytes(|line, out| out.extend_with(line.iter().map(u8::to_ascii_uppercase)))
        .named("capitals")
}

/// The time at which this many bytes have arrived.
fn due(bytes: u64) -> Duration {
    Duration::from_secs_f64(bytes as f64 / BYTES_PER_SECOND)
}

/// Sentences that arrive at a fixed rate, read or not.
struct Paced {
    began: Instant,
    sent: u64,
    bytes: u64,
}

impl Read for Paced {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.sent == self.bytes {
            return Ok(0);
        }
        let mut come = 0;
        while come <= self.sent {
            come = ((self.began.elapsed().as_secs_f64() * BYTES_PER_SECOND) as u64).min(self.bytes);
            if come <= self.sent {
                thread::sleep(due(self.sent + SENTENCE.len() as u64).saturating_sub(self.began.elapsed()));
            }
        }
        let length = buffer.len().min((come - self.sent) as usize);
        let from = (self.sent % SENTENCE.len() as u64) as usize;
        let text = SENTENCE.as_bytes().iter().cycle().skip(from);
        buffer[..length].iter_mut().zip(text).for_each(|(to, byte)| *to = *byte);
        self.sent += length as u64;
        Ok(length)
    }
}
