//! The six stages of `millstream serve` over loopback, and the same handler in plain axum with a `Mutex`: requests a
//! second on 64 connections, and the wait of one in a hundred; with `--state`, beside the same handler that waits for a
//! journal of its own, with as many syncs. Further cases are lines in large bodies, idle connections, and more requests
//! than the server can answer.

mod client;
mod idle;
mod ingest;
mod overload;
mod server;

pub(crate) use server::asked;

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::peers;
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use client::Client;
use server::Server;
use std::cell::RefCell;

const CONNECTIONS: usize = 64;

/// The number of accounts that get deposits.
const ACCOUNTS: u64 = 1000;

/// The goes of one turn.
const GOES: u32 = 3;

/// The names of a case, and its bound.
struct Case {
    case: &'static str,
    p99: &'static str,
    bound: f64,
}

const VOLATILE: Case = Case { case: "requests", p99: "requests-p99", bound: 0.8 };
const DURABLE: Case = Case { case: "durable", p99: "durable-p99", bound: 0.6 };

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let millstream = peers::millstream(&setting.progress)?;
    setting.progress.say("building the rivals of axum");
    let axum = peers::built("axum", "millstream-axum-peers")?;
    let dir = tempfile::tempdir().map_err(Failure::io("a directory"))?;
    let n = setting.items(60_000, 15_000);
    let started = Started {
        ours: Server::millstream(&millstream, &["--accounts", "100000"], None)?,
        axum: Server::axum(&axum, &["ledger".as_ref()])?,
    };
    let requests = speed(setting, &VOLATILE, n, started)?;
    let started = Started {
        ours: Server::millstream(&millstream, &[], Some(&dir.path().join("state")))?,
        axum: Server::axum(&axum, &["journal".as_ref(), dir.path().join("journal").as_ref()])?,
    };
    let durable = speed(setting, &DURABLE, n / 3, started)?;
    let lines = ingest::run(setting, &axum)?;
    let idle = idle::run(setting, &millstream)?;
    let overload = overload::run(setting, &millstream)?;
    Ok(Results::joined([requests, durable, lines, idle, overload]))
}

struct Started {
    ours: Server,
    axum: Server,
}

/// A deposit of 1.
fn deposit(number: u64, request: &mut Vec<u8>) {
    use std::io::Write;
    let body = format!("{{\"to\":\"account-{}\",\"amount\":1}}", number % ACCOUNTS);
    let head = "POST /deposit HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ";
    write!(request, "{head}{}\r\n\r\n{body}", body.len()).expect("memory takes everything");
}

/// The sum of all deposits until now.
fn paid_in(client: &mut Client) -> Result<u64, Failure> {
    let audit = |_: u64, request: &mut Vec<u8>| request.extend(b"GET /audit HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let said: serde_json::Value = serde_json::from_slice(&client.ask(&audit)?).unwrap_or_default();
    said["paid_in"].as_u64().ok_or(Failure::Threads("the audit has no sum"))
}

/// Requests a second, and the wait that one in a hundred exceeds.
fn speed(setting: &Setting, names: &Case, n: u64, started: Started) -> Result<Results, Failure> {
    let Case { case, p99, bound, .. } = *names;
    let (ours, axum) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let (mut to_ours, mut to_axum) =
        (Client::connect(started.ours.at, CONNECTIONS)?, Client::connect(started.axum.at, CONNECTIONS)?);
    let contestants = vec![
        Contestant::away("ours", n, || go(&mut to_ours, n, &ours)),
        Contestant::away("axum", n, || go(&mut to_axum, n, &axum)),
    ];
    let speeds = take_turns(setting, Work { case, unit: Unit::ItemsPerSecond, size: n, goes: GOES }, contestants)?;
    let ratio = speeds.ratio("axum", Some(bound));
    let mut results = speeds.results([ratio]);
    // The waits of the first turn do not count, which has one go.
    let [ours, axum] = [ours, axum].map(|waits| waits.into_inner().split_off(1));
    // Half as fast is at most twice the wait.
    let ratios = axum.iter().zip(&ours).map(|(axum, ours)| axum / ours).collect();
    results.ratios.push(Ratio::new(p99, "axum", ratios, Some(0.5)));
    results.figures.push(Figure::new(p99, "ours", ours, Unit::Nanoseconds));
    results.figures.push(Figure::new(p99, "axum", axum, Unit::Nanoseconds));
    Ok(results)
}

/// Sends the requests. Returns how many were done by the ledger's own account, and the time.
fn go(client: &mut Client, n: u64, waits: &RefCell<Vec<f64>>) -> Result<(u64, std::time::Duration), Failure> {
    let before = paid_in(client)?;
    let mut answered = client.closed(n, &deposit)?;
    waits.borrow_mut().push(quantile(&mut answered.waits, 0.99));
    Ok((paid_in(client)? - before, answered.took))
}

fn quantile(waits: &mut [u64], of: f64) -> f64 {
    waits.sort_unstable();
    let last = waits.len().saturating_sub(1) as f64;
    waits.get((last * of).round() as usize).map_or(0.0, |wait| *wait as f64)
}

/// A figure that must not exceed a limit.
fn limited(results: &mut Results, case: &'static str, value: f64, limit: f64) {
    results.figures.push(Figure::new(case, "ours", vec![value], Unit::Bytes));
    results.figures.push(Figure::new(case, "limit", vec![limit], Unit::Bytes));
    results.ratios.push(Ratio::new(case, "limit", vec![limit / value], Some(1.0)));
}
