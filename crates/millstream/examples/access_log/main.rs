//! A report of an access log: for each minute of event time the lines, the bytes, the 95th percentile of the response
//! time, and the five most frequent paths. Lines may come up to twenty seconds late. Malformed lines go to a file of
//! their own, with their numbers.
//!
//! ```console
//! $ cargo build --release -p millstream --example access_log
//! $ target/release/examples/access_log generate 300000000 > LOG
//! $ target/release/examples/access_log blocks WORKERS DEAD-LETTERS < LOG > REPORT
//! ```
//!
//! There are two ways. By `lines`, each line has its number and its slot, a malformed one becomes a dead letter, and
//! `fold_windows` has the windows: the shorter program. By `blocks`, a stage parses a whole block of lines in one call,
//! and a number stands for some hundred lines: the faster one, since only what a report needs goes on. Its windows are
//! a stage of its own, because `fold_windows` takes one value with one time at each number.

mod entry;
mod generated;
mod report;

use entry::{Entry, Malformed};
use millstream::io::{Block, WholeBlocks, stdio};
use millstream::prelude::*;
use millstream::text::{OwnedPiece, Piece};
use report::{Counts, LATENESS, WINDOW, Windows};
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The slots of rings whose values are blocks of text.
const BLOCKS: usize = 32;

/// A block of whole lines, parsed.
struct Parsed {
    block: Block,
    /// Where each line begins, and what it says.
    entries: Vec<(usize, Entry)>,
    malformed: Vec<Rejected>,
    lines: u64,
}

/// A malformed line of a block.
struct Rejected {
    /// The lines before it in its block.
    before: u64,
    bytes: Range<usize>,
    why: Malformed,
}

impl Parsed {
    fn new(block: &Block) -> Self {
        let entries = Vec::with_capacity(block.len() / 80);
        let mut parsed = Parsed { block: block.clone(), entries, malformed: Vec::new(), lines: 0 };
        for line in block.lines() {
            match Entry::parse(&line) {
                Ok(entry) => parsed.entries.push((line.start(), entry)),
                Err(why) => {
                    let bytes = line.start()..line.start() + line.len();
                    parsed.malformed.push(Rejected { before: parsed.lines, bytes, why });
                }
            }
            parsed.lines += 1;
        }
        parsed
    }

    /// Each line, with its rest of the block.
    fn entries(&self) -> impl Iterator<Item = (&[u8], &Entry)> {
        self.entries.iter().map(|(start, entry)| (&self.block[*start..], entry))
    }
}

/// The function that takes a malformed line, with its number, from 1.
trait Dead: Fn(u64, Malformed, &[u8]) + Clone + Send + Sync + 'static {}
impl<F: Fn(u64, Malformed, &[u8]) + Clone + Send + Sync + 'static> Dead for F {}

/// From blocks of whole lines to the rows of the report.
fn by_blocks(shards: usize, dead: impl Dead) -> impl Pipeline<Block, String> {
    let letters = sink::again(move || {
        let (dead, mut lines) = (dead.clone(), 0);
        Ok::<_, Infallible>(sink::each(move |_, parsed: &Parsed| {
            for Rejected { before, bytes, why } in &parsed.malformed {
                dead(lines + before + 1, *why, &parsed.block[bytes.clone()]);
            }
            lines += parsed.lines;
        }))
    });
    pipeline::<Block>().shard(shards, |p| p.map(Parsed::new)).tee_to("dead-letters", letters).expand_with(OfBlocks)
}

/// As [`by_blocks`], line by line.
fn by_lines(shards: usize, dead: impl Dead) -> impl Pipeline<Block, String> {
    let letter = move |letter: DeadLetter<'_, OwnedPiece, Malformed>| match letter.fault {
        Fault::Error(why) => dead(letter.number.0 + 1, *why, letter.input),
        fault => panic!("line {}: {fault}", letter.number.0 + 1),
    };
    pipeline::<Block>()
        .lines()
        .shard(shards, |p| {
            p.fanout(|line| line, |line| line.try_map_or_dead_letter("parse", |line| Entry::parse(&line), letter))
        })
        .fold_windows(
            Window::tumbling(WINDOW).lateness(LATENESS),
            |(_, entry): (Piece<'_>, &Entry)| entry.time,
            Counts::default(),
            |counts, (line, entry): (Piece<'_>, &Entry)| counts.add(entry, &line[entry.path()]),
        )
        .flat_map(|closed: &Vec<FoldedWindow<Counts>>| {
            closed.iter().map(|window| window.state.row(window.start, window.dropped)).collect::<Vec<_>>()
        })
}

/// The report, from parsed blocks.
struct OfBlocks;

impl ExpandKernel for OfBlocks {
    type In = Val<Parsed>;
    type Item = String;
    type Values = std::vec::IntoIter<String>;
    type State = Windows;
    const NAME: &'static str = "report";

    fn start(&self) -> Windows {
        Windows::default()
    }
    fn expand(&self, windows: &mut Windows, parsed: &Parsed) -> Self::Values {
        let mut rows = Vec::new();
        for (line, entry) in parsed.entries() {
            rows.extend(windows.add(entry, &line[entry.path()]));
        }
        rows.into_iter()
    }
    fn finish(&self, windows: Windows) -> Option<Self::Values> {
        Some(windows.finish().into_iter())
    }
    fn model(&self, blocks: Vec<&Parsed>, ended: bool) -> Vec<String> {
        report::meaning(&blocks.into_iter().flat_map(Parsed::entries).collect::<Vec<_>>(), ended)
    }
}

/// Runs a pipeline from standard input to standard output.
fn run(rings: &Rings, rows: impl Pipeline<Block, String>) -> Result<(), Box<dyn std::error::Error>> {
    let log = WholeBlocks::lines(stdio::input()?);
    let failure = log.failure();
    let out = BufWriter::new(io::stdout());
    let job = rows.from(log).to_fold(out, |out, _, row: &String| {
        out.write_all(row.as_bytes()).expect("standard output takes the report");
    });
    let (mut out, _) = rings.run(job)?;
    out.flush()?;
    failure.take().map_or(Ok(()), |error| Err(error.into()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (way, workers, letters) = match args[..] {
        ["generate", bytes] => {
            generated::write_log(bytes.parse()?, &mut BufWriter::new(io::stdout()))?;
            return Ok(());
        }
        [way @ ("blocks" | "lines"), workers, letters] => (way, workers.parse::<usize>()?, letters),
        _ => return Err("access_log generate BYTES | blocks WORKERS DEAD-LETTERS | lines WORKERS DEAD-LETTERS".into()),
    };
    let file = std::sync::Arc::new(Mutex::new(BufWriter::with_capacity(1 << 16, File::create(letters)?)));
    let letters = file.clone();
    let dead = move |number: u64, why: Malformed, line: &[u8]| {
        let mut file = letters.lock().unwrap_or_else(PoisonError::into_inner);
        let written = write!(file, "{number}: {why}: ").and_then(|()| file.write_all(line));
        written.and_then(|()| file.write_all(b"\n")).expect("the file takes dead letters");
    };
    // 0 workers: as many as improve throughput.
    let (rings, shards) = match workers {
        0 => (Rings::new(), std::thread::available_parallelism()?.get()),
        _ => (Rings::new().workers(workers), workers),
    };
    match way {
        "blocks" => run(&rings.ring(BLOCKS), by_blocks(shards, dead))?,
        _ => run(&rings, by_lines(shards, dead))?,
    }
    file.lock().unwrap_or_else(PoisonError::into_inner).flush()?;
    Ok(())
}

#[cfg(test)]
mod tests;
