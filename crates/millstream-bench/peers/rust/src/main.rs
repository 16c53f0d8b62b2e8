//! The work of Millstream's benches in other libraries, each with the best settings that are known.
//!
//! A line `WORKLOAD WHO ITEMS SIZE` on standard input is one go. The answer is a line of numbers. For most workloads
//! these are the nanoseconds it took, with the start of threads and queues, and the checksum.

mod cores;
mod crossbeam;
mod disruptor_ring;
mod futures_streams;
mod kanal_channel;
mod latency;
mod many;
mod pariter_chunks;
mod rayon_chunks;
mod rtrb_chunks;
mod std_channel;
mod timely_dataflow;
mod tokio_channel;
mod trains;
mod work;

use std::io::{BufRead, Write, stdin, stdout};
use std::process::ExitCode;
use std::time::Instant;

struct Request<'a> {
    workload: &'a str,
    who: &'a str,
    items: u64,
    /// The slots of a ring or a channel. A rival without one ignores it.
    size: usize,
}

/// The threads of a library that would take every core: ours has two workers, as the others have two threads.
const THREADS: usize = 2;

fn main() -> ExitCode {
    if let Err(error) = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global() {
        eprintln!("millstream-peers: {error}");
        return ExitCode::FAILURE;
    }
    for line in stdin().lock().lines().map_while(Result::ok) {
        let Some(answer) = parsed(&line).and_then(|request| answer(&request)) else {
            eprintln!("millstream-peers: no rival has the task `{line}`");
            return ExitCode::from(2);
        };
        let words: Vec<_> = answer.iter().map(u64::to_string).collect();
        let mut out = stdout().lock();
        if writeln!(out, "{}", words.join(" ")).and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn parsed(line: &str) -> Option<Request<'_>> {
    let mut words = line.split(' ');
    let (workload, who) = (words.next()?, words.next()?);
    let (items, size) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(Request { workload, who, items, size })
}

fn answer(request: &Request<'_>) -> Option<Vec<u64>> {
    let Request { workload, who, items, size } = *request;
    let producers = workload.strip_prefix("producers-").and_then(|producers| producers.parse().ok());
    if let Some(producers) = producers.filter(|producers| (1..=items).contains(producers)) {
        return many_producers(who, producers, items, size);
    }
    let checksum: Box<dyn FnOnce() -> u64> = match (workload, who) {
        ("hop", "crossbeam-vec") => Box::new(move || crossbeam::vecs::hop(items, size)),
        ("hop", "crossbeam") => Box::new(move || crossbeam::items::hop(items, size)),
        ("hop", "rtrb-chunk") => Box::new(move || rtrb_chunks::hop(items, size)),
        ("hop", "disruptor") => Box::new(move || disruptor_ring::hop(items, size)),
        ("hop", "std-vec") => Box::new(move || std_channel::hop(items, size)),
        ("hop", "kanal-vec") => Box::new(move || kanal_channel::hop(items, size)),
        ("hop", "tokio-vec") => Box::new(move || tokio_channel::hop(items, size)),
        ("hop", "timely") => Box::new(move || timely_dataflow::hop(items)),
        ("chain3", "std-vec") => Box::new(move || std_channel::chain3(items, size)),
        ("chain3", "kanal-vec") => Box::new(move || kanal_channel::chain3(items, size)),
        ("chain3", "tokio-vec") => Box::new(move || tokio_channel::chain3(items, size)),
        ("chain3", "timely") => Box::new(move || timely_dataflow::chain3(items)),
        ("chain3", "futures") => Box::new(move || futures_streams::chain3(items)),
        ("shard2-ordered", "futures-buffered") => Box::new(move || futures_streams::ordered(items, size)),
        ("shard2-ordered", "pariter") => Box::new(move || pariter_chunks::ordered(items)),
        ("chain3", "crossbeam-vec") => Box::new(move || crossbeam::vecs::chain3(items, size)),
        ("chain7", "crossbeam") => Box::new(move || crossbeam::items::chain7(items, size)),
        ("chain7", "crossbeam-vec") => Box::new(move || crossbeam::vecs::chain7(items, size)),
        ("zip2", "crossbeam-vec") => Box::new(move || crossbeam::zips::zip2(items, size)),
        ("zip2", "disruptor") => Box::new(move || disruptor_ring::zip2(items, size)),
        ("zip10", "crossbeam-vec") => Box::new(move || crossbeam::zips::zip10(items, size)),
        ("zip10", "disruptor") => Box::new(move || disruptor_ring::zip10(items, size)),
        ("zip10-write", "crossbeam-vec") => Box::new(move || crossbeam::zips::zip10_write(items, size)),
        ("zip10-write", "disruptor") => Box::new(move || disruptor_ring::zip10_write(items, size)),
        ("shard2-ordered", "rayon") => Box::new(move || rayon_chunks::ordered(items, size)),
        ("wake", "crossbeam") => return Some(latency::wakes(items)),
        ("wake", "condvar") => return Some(latency::round_trips(items)),
        _ => return None,
    };
    timed(checksum)
}

fn many_producers(who: &str, producers: u64, items: u64, size: usize) -> Option<Vec<u64>> {
    match who {
        "crossbeam" => timed(|| many::crossbeam(producers, items, size)),
        "crossbeam-vec" => timed(|| many::crossbeam_vecs(producers, items, size)),
        "array-queue" => timed(|| many::array_queue(producers, items, size)),
        "disruptor" => timed(|| many::disruptor(producers, items, size)),
        "train" => timed(|| trains::railways(producers, items, size)),
        _ => None,
    }
}

fn timed(work: impl FnOnce() -> u64) -> Option<Vec<u64>> {
    let started = Instant::now();
    let checksum = work();
    Some(vec![started.elapsed().as_nanos() as u64, checksum])
}
