//! Several producers, one stream.

mod ends;
mod mismatch;
mod rules;
mod user_code;

use millstream_core::{Arrow, pipeline};
use millstream_exec::{FanIn, ItemFormat, JobExt, Rings, RunOutcome, Runner, Sender};
use std::thread::{spawn, yield_now};

/// Producer `p` sends (p, 0), (p, 1), ...
fn numbered(p: u32, count: u64) -> impl Iterator<Item = (u32, u64)> {
    (0..count).map(move |n| (p, n))
}

/// Sends in pieces, as a thread whose speed varies.
fn send_unevenly(sender: Sender<(u32, u64)>, count: u64) {
    let (p, mut values) = (sender.producer(), numbered(sender.producer(), count).peekable());
    for piece in (1..).map(|n| n * (u64::from(p) % 7 + 3) % 17) {
        if values.peek().is_none() {
            return;
        }
        if piece == 0 {
            yield_now();
        } else if piece < 3 {
            sender.send(values.next().unwrap()).unwrap();
        } else if piece % 2 == 0 {
            sender.send_all(values.by_ref().take(piece as usize)).unwrap();
        } else {
            let piece: Vec<_> = values.by_ref().take(piece as usize).collect();
            sender.send_slice(&piece).unwrap();
        }
    }
}

fn collect<O>(rings: &Rings, fan_in: FanIn<(u32, u64), O>, counts: &[u64]) -> Vec<O::Item>
where
    O: ItemFormat<(u32, u64)>,
    O::Item: Clone,
{
    let p = pipeline::<O::Item>().map(O::Item::clone);
    let (senders, poller) = fan_in.open(rings).unwrap();
    let run = rings.start(p.from(poller).to_fold(Vec::new(), |all, _, x: &O::Item| all.push(x.clone()))).unwrap();
    let threads: Vec<_> =
        senders.into_iter().zip(counts.to_vec()).map(|(s, count)| spawn(move || send_unevenly(s, count))).collect();
    let (all, report) = run.wait().unwrap();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(
        (report.outcome, report.numbers.0, report.values),
        (RunOutcome::End, all.len() as u64, all.len() as u64)
    );
    all
}

/// None lost, none twice, each producer's in order.
fn assert_complete(all: &[(u32, u64)], counts: &[u64]) {
    for (p, count) in (0..).zip(counts) {
        let of_it: Vec<_> = all.iter().copied().filter(|(producer, _)| *producer == p).collect();
        assert_eq!(of_it, numbered(p, *count).collect::<Vec<_>>());
    }
    assert_eq!(all.len() as u64, counts.iter().sum::<u64>());
}
