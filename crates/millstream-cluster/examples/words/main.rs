//! Words counted by key on a cluster: `cargo xtask chaos cluster` kills these programs while they work.
//!
//! `words feed URL SEED BATCHES` brings lines in, `words work URL RANK` is a replica, and
//! `words check URL SEED BATCHES` compares the output with the model's: it exits with 4 if they differ.
#![allow(clippy::print_stdout, reason = "a program: its results go to standard output")]

mod counted;

use counted::words;
use millstream::cluster::{
    Access, Batch, Edges, Ingress, JetStream, Log, OnRings, Options, Replica, Step, Streams, cut,
};
use millstream::prelude::*;
use std::error::Error;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

/// The lines of a batch.
const LINES: usize = 10;

fn lines(seed: u64, batches: usize) -> Vec<String> {
    let word = |n: u64| (n ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55;
    (0..(batches * LINES) as u64).map(|n| format!("w{} w{} w{}", word(n), word(n * n), word(n / 3))).collect()
}

fn connect(url: &str) -> Result<JetStream, Box<dyn Error>> {
    let access = Access { url: url.to_owned(), app: "words".to_owned(), ..Access::default() };
    let edges = vec!["lines".to_owned(), "counts".to_owned()];
    let streams = Streams { edges, replicas: 1, capacity: 1_000_000 };
    Ok(JetStream::create(&access, &streams, Duration::from_secs(30))?)
}

fn feed(url: &str, seed: u64, batches: usize) -> Result<(), Box<dyn Error>> {
    let mut ingress = Ingress::new(connect(url)?, "lines", cut(lines(seed, batches), LINES)?);
    while ingress.step()? != Step::Ended {
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn work(url: &str, rank: u32) -> Result<(), Box<dyn Error>> {
    let segment = OnRings::new(words(), Rings::new().workers(1));
    let edges = Edges { input: "lines".to_owned(), output: "counts".to_owned() };
    let options = Options { rank, patience: 20, snapshot_every: 16, window: 16, ..Options::default() };
    let mut replica = Replica::new(segment, connect(url)?, edges, options);
    loop {
        match replica.step()? {
            Step::Worked => {}
            Step::Idle => sleep(Duration::from_millis(5)),
            Step::Ended => return Ok(()),
        }
    }
}

/// The values of the output edge, up to its end.
fn counts(url: &str) -> Result<Vec<(String, u64)>, Box<dyn Error>> {
    let log = connect(url)?;
    let (mut next, mut values) = (1, Vec::new());
    loop {
        for entry in log.read_from("counts", next, 64)? {
            let batch = Batch::<(String, u64)>::from_bytes(&entry.bytes)?;
            values.extend(batch.values.into_iter().map(|(_, value)| value));
            next = entry.number + 1;
            if batch.end {
                return Ok(values);
            }
        }
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["feed", url, seed, batches] => feed(url, seed.parse()?, batches.parse()?)?,
        ["work", url, rank] => work(url, rank.parse()?)?,
        ["check", url, seed, batches] => {
            let (model, counts) = (words().model(lines(seed.parse()?, batches.parse()?)), counts(url)?);
            let all = 0..model.len().max(counts.len());
            if let Some(place) = all.into_iter().find(|place| model.get(*place) != counts.get(*place)) {
                eprintln!("value {place}: {:?} instead of {:?}", counts.get(place), model.get(place));
                return Ok(ExitCode::from(4));
            }
            println!("{} values are the model's", counts.len());
        }
        _ => return Err("use: words feed URL SEED BATCHES | work URL RANK | check URL SEED BATCHES".into()),
    }
    Ok(ExitCode::SUCCESS)
}
