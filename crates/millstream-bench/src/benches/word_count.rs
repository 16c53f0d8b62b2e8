//! How often each word of a text occurs: keys that are borrowed from the text, keys that are made for every word, and
//! the same in one loop.
//!
//! `plain` looks each word up in hashbrown's map with its own hash, and copies it where it is new. `plain-std` does so
//! in the map of the standard library, and `plain-owned` makes a key of every word for that map. In case `strings`
//! lines and words are `String`s in the pipeline, and the loop is `plain-owned`.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::text::line_of_words;
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use millstream::prelude::*;
use millstream::text::Block;
use std::collections::HashMap;
use std::hint::black_box;

/// The bytes of a block, about as many as a source of files reads at once.
const BLOCK: usize = 1 << 16;

type Counts<K> = Vec<(K, u64)>;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let (text, rings) = (text(setting.items(400_000, 100_000)), setting.rings(1));
    let size = text.iter().map(|block| block.len() as u64).sum();
    let expected = plain_std(&text);

    let words = || pipeline::<Block>().words();
    let (ours, made) = (words().count_by_ref(|word| word.text()), words().count_by(|word| word.to_vec()));
    let of_lines = pipeline::<Block>().lines().words().count_by_ref(|word| word.text());
    let contestants = vec![
        Contestant::new("ours", expected, || of_blocks(&rings, &ours, &text)),
        Contestant::new("of-lines", expected, || of_blocks(&rings, &of_lines, &text)),
        Contestant::new("count_by", expected, || of_blocks(&rings, &made, &text)),
        Contestant::new("plain", expected, || Ok(plain(black_box(&text)))),
        Contestant::new("plain-std", expected, || Ok(plain_std(black_box(&text)))),
        Contestant::new("plain-owned", expected, || Ok(plain_owned(black_box(&text)))),
    ];
    let speeds = take_turns(setting, Work { case: "text", unit: Unit::BytesPerSecond, size, goes: 1 }, contestants)?;
    let of_text = ["of-lines", "count_by", "plain", "plain-std", "plain-owned"].map(|who| speeds.ratio(who, None));
    let of_text = speeds.results(of_text);

    let lines = |block: &Block| -> Vec<String> { block.lines().map(|line| string(&line)).collect() };
    let lines: Vec<String> = text.iter().flat_map(lines).collect();
    let words = || pipeline::<String>().flat_map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    let (ours, made) = (words().count_by_ref(String::as_str), words().count_by(String::clone));
    let contestants = vec![
        Contestant::new("ours", expected, || of_strings(&rings, &ours, &lines)),
        Contestant::new("count_by", expected, || of_strings(&rings, &made, &lines)),
        Contestant::new("plain-owned", expected, || Ok(plain_strings(black_box(&lines)))),
    ];
    let speeds = take_turns(setting, Work { case: "strings", unit: Unit::BytesPerSecond, size, goes: 1 }, contestants)?;
    let ratios = ["count_by", "plain-owned"].map(|who| speeds.ratio(who, None));
    Ok(Results::joined([of_text, speeds.results(ratios)]))
}

/// Lines of words, in blocks.
fn text(lines: u64) -> Vec<Block> {
    let (mut text, mut blocks) = (String::new(), Vec::new());
    for n in 0..lines {
        text.push_str(&line_of_words(n));
        text.push('\n');
        if text.len() >= BLOCK || n + 1 == lines {
            blocks.push(Block::from(std::mem::take(&mut text).into_bytes()));
        }
    }
    blocks
}

fn string(line: &[u8]) -> String {
    String::from_utf8_lossy(line.trim_ascii_end()).into_owned()
}

fn of_blocks<P>(rings: &Rings, pipeline: &P, text: &[Block]) -> Result<u64, Failure>
where
    P: Deployable<In = Val<Block>, Out = Val<Counts<Vec<u8>>, AtEnd>>,
{
    let blocks = source::ready(text.to_vec());
    Ok(rings.run(pipeline.from(blocks).to_fold(0, |all: &mut u64, _, counts| *all = summed(counts)))?.0)
}

fn of_strings<P>(rings: &Rings, pipeline: &P, lines: &[String]) -> Result<u64, Failure>
where
    P: Deployable<In = Val<String>, Out = Val<Counts<String>, AtEnd>>,
{
    let lines = source::ready(lines.to_vec());
    Ok(rings.run(pipeline.from(lines).to_fold(0, |all: &mut u64, _, counts| *all = summed(counts)))?.0)
}

fn words(text: &[Block]) -> impl Iterator<Item = &[u8]> {
    text.iter().flat_map(|block| block.split(u8::is_ascii_whitespace)).filter(|word| !word.is_empty())
}

#[inline(never)]
fn plain(text: &[Block]) -> u64 {
    let mut counts = hashbrown::HashMap::<Vec<u8>, u64>::new();
    words(text).for_each(|word| *counts.entry_ref(word).or_insert(0) += 1);
    sorted(counts)
}

#[inline(never)]
fn plain_std(text: &[Block]) -> u64 {
    let mut counts = HashMap::<Vec<u8>, u64>::new();
    for word in words(text) {
        match counts.get_mut(word) {
            Some(count) => *count += 1,
            None => drop(counts.insert(word.to_vec(), 1)),
        }
    }
    sorted(counts)
}

#[inline(never)]
fn plain_owned(text: &[Block]) -> u64 {
    let mut counts = HashMap::<Vec<u8>, u64>::new();
    words(text).for_each(|word| *counts.entry(word.to_vec()).or_insert(0) += 1);
    sorted(counts)
}

#[inline(never)]
fn plain_strings(lines: &[String]) -> u64 {
    let mut counts = HashMap::<String, u64>::new();
    // The pipeline owns its lines, too.
    let lines = lines.to_vec();
    for line in &lines {
        line.split(' ').for_each(|word| *counts.entry(word.to_owned()).or_insert(0) += 1);
    }
    sorted(counts)
}

fn sorted<K: Ord + AsRef<[u8]>>(counts: impl IntoIterator<Item = (K, u64)>) -> u64 {
    let mut counts: Counts<K> = counts.into_iter().collect();
    counts.sort_unstable();
    summed(&counts)
}

/// Depends on every word, on every count, and on their order.
fn summed<K: AsRef<[u8]>>(counts: &Counts<K>) -> u64 {
    let word = |word: &K| word.as_ref().iter().fold(0, |all, byte| work::joined(all, u64::from(*byte)));
    counts.iter().fold(0, |all, (key, count)| work::joined(all, word(key) ^ *count))
}
