//! A pipeline whose stages a JSON file lists. It reads lines `station value`, and writes what is left of them.
//!
//! ```console
//! $ cargo build --release -p millstream --features page --example configured
//! $ P=target/release/examples/configured C=crates/millstream/examples/configured/warm.json
//! $ $P $C generate 100000 > READINGS
//! $ $P $C plan                                # the stages and their rings
//! $ $P $C graph > graph.svg                   # a picture of them
//! $ $P $C run < READINGS                      # what the stages make of the readings
//! $ $P $C page 127.0.0.1:8080 < READINGS      # the same, and the run in a browser
//! ```
//!
//! Which stages there are is known only when the program runs, so the pipeline is built in boxes. A box names the items
//! at its ends: one that ends with a filter is of the same type as one that ends with a map. A reading here is not
//! `Clone`, so the compiler checks that no box copies one.

mod steps;

use millstream::core::SplitMix64;
use millstream::observe::{Graph, Page, Watch};
use millstream::prelude::*;
use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::sync::Arc;
use steps::{Configuration, Reading};

/// From lines to lines, by these steps.
fn built(configuration: &Configuration) -> BoxPipeline<String, String> {
    pipeline::<String>()
        .try_map(|line: &String| Reading::parse(line))
        .named("parse")
        .any_edge()
        .then(configuration.stages())
        .map(Reading::to_string)
        .named("format")
        .boxed()
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.station, self.value)
    }
}

/// Runs a pipeline from standard input to standard output, on a page if there is an address for one.
fn run(lines: &BoxPipeline<String, String>, address: Option<&str>) -> Result<(), Box<dyn Error>> {
    // The first line that cannot be read ends the input, and the program then fails with its error.
    let (failed, failure) = std::sync::mpsc::channel();
    let input = BufReader::new(io::stdin()).lines();
    let input = input.map_while(move |line| line.map_err(|error| failed.send(error)).ok());
    let out = BufWriter::new(io::stdout());
    let job = lines.from(input).to_fold(out, |out, _, line: &String| writeln!(out, "{line}"));
    let run = Rings::new().start(job)?;
    let page = address.map(Page::open).transpose()?;
    if let Some(page) = &page {
        page.name("configured");
        page.show(Arc::new(Watch::attach(run.observer())?));
        eprintln!("http://{}/", page.address());
    }
    let (mut out, _) = run.wait()?;
    out.flush()?;
    failure.try_recv().map_or(Ok(()), |error| Err(error.into()))
}

/// Writes readings of three stations.
fn generate(readings: u64, out: &mut impl Write) -> io::Result<()> {
    let mut random = SplitMix64::new(7);
    for _ in 0..readings {
        let station = ["north", "south", "west"][random.below(3) as usize];
        writeln!(out, "{station} {}", random.below(400) as i64 - 50)?;
    }
    out.flush()
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let [file, command, ref rest @ ..] = args[..] else {
        return Err("configured FILE plan | graph | generate READINGS | run | page ADDRESS".into());
    };
    let configuration = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let configuration = Configuration::parse(&configuration).map_err(|error| format!("{file}: {error}"))?;
    let lines = built(&configuration);
    let mut out = BufWriter::new(io::stdout());
    match (command, rest) {
        ("plan", []) => write!(out, "{}", lines.plan())?,
        ("graph", []) => {
            let graph = Graph::of(&lines.plan());
            out.write_all(graph.svg(&graph.layout(), None).as_bytes())?;
        }
        ("generate", [readings]) => generate(readings.parse()?, &mut out)?,
        ("run", []) => run(&lines, None)?,
        ("page", [address]) => run(&lines, Some(address))?,
        _ => return Err("configured FILE plan | graph | generate READINGS | run | page ADDRESS".into()),
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests;
