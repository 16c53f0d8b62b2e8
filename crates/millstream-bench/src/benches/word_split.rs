//! Guy Steele's word split, as in the example: a text in pieces of 4 KiB, split by four tasklets that do not wait for
//! each other, and joined in order; beside one loop over the whole text.
//!
//! `brute` borrows every word. `brute-owned` makes a `String` of each, as the pipeline does; the bound says how far
//! behind it the pipeline may be.

#[path = "../../../millstream/examples/word_split.rs"]
#[allow(dead_code, reason = "the example is a program, too")]
mod example;

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::text::SENTENCE;
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use millstream::prelude::*;
use std::hint::black_box;
use std::sync::Arc;

const PIECE: usize = 4096;
const TASKLETS: usize = 4;

/// The share of the speed of `brute-owned`.
const OWNED: f64 = 0.07;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let bytes = setting.items(50_000_000, 10_000_000) as usize;
    // All letters are ASCII, so a piece may end anywhere.
    let text: Arc<str> = SENTENCE.repeat(bytes.div_ceil(SENTENCE.len())).into();
    let (expected, one) = (brute(&text), setting.rings(1));
    let contestants = vec![
        Contestant::new("ours", expected, || ours(&setting.rings, &text)),
        Contestant::new("one-worker", expected, || ours(&one, &text)),
        Contestant::new("brute", expected, || Ok(brute(black_box(&text)))),
        Contestant::new("brute-owned", expected, || Ok(owned(black_box(&text)))),
    ];
    let work = Work { case: "speed", unit: Unit::BytesPerSecond, size: text.len() as u64, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratios = [("one-worker", None), ("brute", None), ("brute-owned", Some(OWNED))];
    let ratios = ratios.map(|(who, bound)| speeds.ratio(who, bound));
    Ok(speeds.results(ratios))
}

fn ours(rings: &Rings, text: &Arc<str>) -> Result<u64, Failure> {
    let (all, pieces) = (text.clone(), (0..text.len()).step_by(PIECE));
    let pieces = pieces.map(move |from| all[from..all.len().min(from + PIECE)].to_owned());
    let join = |all: &mut u64, _, word: &String| *all = joined(*all, word);
    Ok(rings.run(example::words(TASKLETS).from(source::ready(pieces)).to_fold(0, join))?.0)
}

#[inline(never)]
fn brute(text: &str) -> u64 {
    text.split_whitespace().fold(0, joined)
}

#[inline(never)]
fn owned(text: &str) -> u64 {
    text.split_whitespace().map(|word| black_box(word.to_owned())).fold(0, |all, word| joined(all, &word))
}

/// Joins one more word to the words so far. The result depends on their order.
fn joined(all: u64, word: &str) -> u64 {
    let ends = word.as_bytes().first().zip(word.as_bytes().last()).map_or(0, |(first, last)| first ^ last);
    work::joined(all, word.len() as u64 * 256 + u64::from(ends))
}
