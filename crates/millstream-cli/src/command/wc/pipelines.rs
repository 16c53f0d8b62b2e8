use super::kinds::{Counts, Kinds};
use super::tally::{Part, Tally};
use millstream_core::{Arrow, AtEnd, KeepsClock, Val, pipeline};
use millstream_exec::{Everywhere, Lasting};
use millstream_io::Block;
use millstream_io::text::{Words, line_ends};

/// Three folds over the same blocks. None of them copies a byte.
pub(crate) fn whole() -> impl Everywhere<In = Val<Block>, Out = Val<Counts, AtEnd>> + Lasting {
    pipeline::<Block>()
        .fanout(|p| p.then(lines()), |p| p.fanout(|p| p.then(words()), |p| p.then(bytes())))
        .map(|(&lines, (&words, &bytes))| Counts { lines, words, bytes, ..Counts::default() })
        .named("counts")
}

pub(crate) fn lines() -> impl Everywhere<In = Val<Block>, Out = Val<u64, AtEnd>> + KeepsClock + Lasting {
    pipeline::<Block>().fold(0, |lines, block: &Block| *lines += line_ends(block), |lines| lines).named("lines")
}

pub(crate) fn words() -> impl Everywhere<In = Val<Block>, Out = Val<u64, AtEnd>> + KeepsClock + Lasting {
    pipeline::<Block>().fold(Words::default(), |w, block: &Block| w.read(block), |w| w.count()).named("words")
}

pub(crate) fn bytes() -> impl Everywhere<In = Val<Block>, Out = Val<u64, AtEnd>> + KeepsClock + Lasting {
    pipeline::<Block>().fold(0, |bytes, block: &Block| *bytes += block.len() as u64, |bytes| bytes).named("bytes")
}

/// The same, but `shards` tasklets read the bytes at once; the folds add up the counts of the blocks.
pub(crate) fn sharded(shards: usize) -> impl Everywhere<In = Val<Block>, Out = Val<Counts, AtEnd>> + Lasting {
    parts(Kinds::USUAL, shards)
        .fanout(|p| p.then(lines_of_parts()), |p| p.fanout(|p| p.then(words_of_parts()), |p| p.then(bytes_of_parts())))
        .map(|(&lines, (&words, &bytes))| Counts { lines, words, bytes, ..Counts::default() })
        .named("counts")
}

pub(crate) fn parts(kinds: Kinds, shards: usize) -> impl Everywhere<In = Val<Block>, Out = Val<Part>> + Lasting {
    pipeline::<Block>().shard(shards, move |p| p.map(move |block: &Block| Part::of(kinds, block)).named("parts"))
}

/// Other counts than the usual ones: one fold, which computes only these.
pub(crate) fn chosen(kinds: Kinds) -> impl Everywhere<In = Val<Block>, Out = Val<Counts, AtEnd>> + Lasting {
    let append = move |tally: &mut Tally, block: &Block| tally.append(&Part::of(kinds, block));
    pipeline::<Block>().fold(Tally::of(kinds), append, |tally| tally.counts()).named("counts")
}

/// The same, but `shards` tasklets read the bytes at once.
pub(crate) fn chosen_sharded(
    kinds: Kinds,
    shards: usize,
) -> impl Everywhere<In = Val<Block>, Out = Val<Counts, AtEnd>> + Lasting {
    let append = |tally: &mut Tally, part: &Part| tally.append(part);
    parts(kinds, shards).fold(Tally::of(kinds), append, |tally| tally.counts()).named("counts")
}

pub(crate) fn lines_of_parts() -> impl Everywhere<In = Val<Part>, Out = Val<u64, AtEnd>> + KeepsClock + Lasting {
    pipeline::<Part>().fold(0, |lines, part: &Part| *lines += part.lines, |lines| lines).named("lines")
}

pub(crate) fn words_of_parts() -> impl Everywhere<In = Val<Part>, Out = Val<u64, AtEnd>> + KeepsClock + Lasting {
    let append = |w: &mut Words, part: &Part| w.append(&part.words);
    pipeline::<Part>().fold(Words::default(), append, |w| w.count()).named("words")
}

pub(crate) fn bytes_of_parts() -> impl Everywhere<In = Val<Part>, Out = Val<u64, AtEnd>> + KeepsClock + Lasting {
    pipeline::<Part>().fold(0, |bytes, part: &Part| *bytes += part.bytes, |bytes| bytes).named("bytes")
}
