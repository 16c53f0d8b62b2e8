use crate::deploy::Hashed;
use millstream_core::{Arrow, AtEnd, KeepsClock, Val, pipeline};
use millstream_exec::Everywhere;
use millstream_io::Block;
use millstream_io::text::{Words, line_ends};
use std::borrow::Cow;
use std::ops::AddAssign;

/// What `wc` prints of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) lines: u64,
    pub(crate) words: u64,
    pub(crate) bytes: u64,
}

/// Three folds over the same blocks. None of them copies a byte.
pub(crate) fn whole() -> impl Everywhere<In = Val<Block>, Out = Val<Counts, AtEnd>> {
    pipeline::<Block>()
        .fanout(|p| p.then(lines()), |p| p.fanout(|p| p.then(words()), |p| p.then(bytes())))
        .map(|(&lines, (&words, &bytes))| Counts { lines, words, bytes })
        .named("counts")
}

pub(crate) fn lines() -> impl Everywhere<In = Val<Block>, Out = Val<u64, AtEnd>> + KeepsClock {
    pipeline::<Block>().fold(0, |lines, block: &Block| *lines += line_ends(block), |lines| lines).named("lines")
}

pub(crate) fn words() -> impl Everywhere<In = Val<Block>, Out = Val<u64, AtEnd>> + KeepsClock {
    pipeline::<Block>().fold(Words::default(), |w, block: &Block| w.read(block), |w| w.count()).named("words")
}

pub(crate) fn bytes() -> impl Everywhere<In = Val<Block>, Out = Val<u64, AtEnd>> + KeepsClock {
    pipeline::<Block>().fold(0, |bytes, block: &Block| *bytes += block.len() as u64, |bytes| bytes).named("bytes")
}

/// The same, with the bytes read by `shards` tasklets at once: the folds see only what each block holds.
pub(crate) fn sharded(shards: usize) -> impl Everywhere<In = Val<Block>, Out = Val<Counts, AtEnd>> {
    parts(shards)
        .fanout(|p| p.then(lines_of_parts()), |p| p.fanout(|p| p.then(words_of_parts()), |p| p.then(bytes_of_parts())))
        .map(|(&lines, (&words, &bytes))| Counts { lines, words, bytes })
        .named("counts")
}

pub(crate) fn parts(shards: usize) -> impl Everywhere<In = Val<Block>, Out = Val<Part>> {
    pipeline::<Block>().shard(shards, |p| p.map(|block: &Block| Part::of(block)).named("parts"))
}

pub(crate) fn lines_of_parts() -> impl Everywhere<In = Val<Part>, Out = Val<u64, AtEnd>> + KeepsClock {
    pipeline::<Part>().fold(0, |lines, part: &Part| *lines += part.lines, |lines| lines).named("lines")
}

pub(crate) fn words_of_parts() -> impl Everywhere<In = Val<Part>, Out = Val<u64, AtEnd>> + KeepsClock {
    let append = |w: &mut Words, part: &Part| w.append(&part.words);
    pipeline::<Part>().fold(Words::default(), append, |w| w.count()).named("words")
}

pub(crate) fn bytes_of_parts() -> impl Everywhere<In = Val<Part>, Out = Val<u64, AtEnd>> + KeepsClock {
    pipeline::<Part>().fold(0, |bytes, part: &Part| *bytes += part.bytes, |bytes| bytes).named("bytes")
}

/// What a block holds, whatever stands before and behind it.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    lines: u64,
    words: Words,
    bytes: u64,
}

impl Part {
    fn of(block: &Block) -> Self {
        let mut words = Words::default();
        words.read(block);
        Part { lines: line_ends(block), words, bytes: block.len() as u64 }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.lines += other.lines;
        self.words += other.words;
        self.bytes += other.bytes;
    }
}

impl Hashed for Counts {
    fn bytes(&self) -> Cow<'_, [u8]> {
        [self.lines, self.words, self.bytes].map(u64::to_le_bytes).concat().into()
    }
}

impl Hashed for Part {
    fn bytes(&self) -> Cow<'_, [u8]> {
        format!("{self:?}").into_bytes().into()
    }
}
