//! The experiment "standard input, transform, standard output" as others write it, the counts of `wc`, and the report of
//! an access log: `WHO < IN > OUT`.
//!
//! In the experiment every line gets a header with its number of spaces, up to 6, and keeps all its bytes: a carriage
//! return stays, a missing last line end is added. Each program implements one usual approach, with the best sizes of
//! buffers, queues and batches that were found for it. `std-baseline` and the queues of `tokio-pipeline` are those of
//! the experiment; `std-64k` and `tokio-threads` are the best versions of these two.

mod buffers;
mod futures_streams;
mod header;
mod log;
mod std_baseline;
mod tokio_baseline;
mod tokio_pipeline;
mod wc_pass;

use std::io;
use std::process::ExitCode;

type Program = fn() -> io::Result<()>;

const PROGRAMS: [(&str, Program); 9] = [
    ("std-baseline", std_baseline::run),
    ("std-64k", std_baseline::run_with_large_buffers),
    ("tokio-baseline", tokio_baseline::run),
    ("tokio-pipeline", tokio_pipeline::run),
    ("tokio-threads", tokio_pipeline::run_on_threads),
    ("futures-streams", futures_streams::run),
    ("wc-pass", wc_pass::run),
    ("log-plain", log::run_plain),
    ("log-rayon", log::run_rayon),
];

fn main() -> ExitCode {
    let who = std::env::args().nth(1).unwrap_or_default();
    let Some((_, run)) = PROGRAMS.iter().find(|(name, _)| *name == who) else {
        let names: Vec<_> = PROGRAMS.iter().map(|(name, _)| *name).collect();
        eprintln!("millstream-text-peers: choose one of {}", names.join(", "));
        return ExitCode::from(2);
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that has gone is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("millstream-text-peers: {who}: {error}");
            ExitCode::FAILURE
        }
    }
}
