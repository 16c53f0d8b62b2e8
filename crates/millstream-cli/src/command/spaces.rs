use crate::config::RunConfig;
use crate::deploy::Runs;
use crate::input::{Joined, Names};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::{self, Writes};
use millstream_core::text::{Block, Writer};
use millstream_core::{Arrow, Text, TextExt, Val, pipeline};
use millstream_exec::{Everywhere, Lasting};

/// `spaces`: all files as one stream.
#[derive(Debug)]
pub(crate) struct Spaces {
    pub(crate) files: Names,
    pub(crate) shards: usize,
    pub(crate) longest: usize,
    pub(crate) run: RunConfig,
}

/// Each line after its number of spaces.
pub(crate) fn spaces(shards: usize) -> impl Everywhere<In = Val<Block>, Out = Text> + Lasting {
    pipeline::<Block>().lines_with_ends().shard(shards, |p| {
        p.map_bytes(|line, out| {
            write_header(count(&line), out);
            out.extend(&line);
            if line.last() != Some(&b'\n') {
                out.push(b'\n');
            }
        })
        .named("spaces")
    })
}

/// The lines without their numbers of spaces.
pub(crate) fn lines() -> impl Everywhere<In = Val<Block>, Out = Text> {
    pipeline::<Block>().lines_with_ends()
}

#[inline(always)]
fn write_header(spaces: Spaced, out: &mut Writer<'_, [u8]>) {
    match spaces {
        Spaced::Few(n) => {
            let mut header = *b"[spaces: 0]";
            header[9] += n;
            out.extend(&header);
        }
        Spaced::Many => out.extend(b"[spaces: >6]"),
    }
}

/// The number of spaces in a line.
#[derive(Debug, PartialEq, Eq)]
enum Spaced {
    Few(u8),
    /// More than `MOST`.
    Many,
}

const MOST: u32 = 6;

/// Reads no more of a line than the number of spaces needs.
#[inline(always)]
fn count(line: &[u8]) -> Spaced {
    let mut spaces = 0;
    let (blocks, rest) = line.as_chunks::<32>();
    for block in blocks {
        spaces += u32::from(block.iter().map(|byte| u8::from(*byte == b' ')).sum::<u8>());
        if spaces > MOST {
            return Spaced::Many;
        }
    }
    let (eights, rest) = rest.as_chunks();
    for eight in eights {
        spaces += in_eight(u64::from_le_bytes(*eight));
    }
    if !rest.is_empty() {
        spaces += in_eight(last_of(line, rest));
    }
    if spaces > MOST { Spaced::Many } else { Spaced::Few(spaces as u8) }
}

/// The last bytes of a line, fewer than eight, padded with 0.
#[inline(always)]
fn last_of(line: &[u8], rest: &[u8]) -> u64 {
    if let Some(last) = line.last_chunk() {
        // The shift drops the bytes before them.
        return u64::from_le_bytes(*last) >> (u64::BITS as usize - 8 * rest.len());
    }
    rest.iter().rev().fold(0, |eight, byte| eight << 8 | u64::from(*byte))
}

/// The number of spaces among eight bytes, computed at once. A space becomes 0 first, and then the only byte whose
/// highest bit stays 0. The number is the highest byte of the sum of those bits, each in its own byte.
#[inline(always)]
fn in_eight(bytes: u64) -> u32 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let differs = bytes ^ (LOW * u64::from(b' '));
    let any = ((differs & (LOW * 0x7f)) + LOW * 0x7f) | differs;
    ((((!any >> 7) & LOW).wrapping_mul(LOW)) >> 56) as u32
}

impl Spaces {
    pub(crate) fn run(self) -> Outcome {
        let complaints = self.run.complaints("spaces");
        if let Some(keep) = self.run.keep.clone() {
            progress::begin_without_length("spaces", &self.files.files, self.run.quiet, Writes::AllTheTime);
            let longest = Some(self.longest);
            return Runs::kept_text(self.run, &keep, self.files, longest, &complaints, &spaces(self.shards));
        }
        progress::begin("spaces", &self.files.files, self.run.quiet, Writes::AllTheTime);
        Output::opened(&complaints, |output| {
            let mut runs = Runs::new(self.run, complaints.clone());
            let opening = runs.opening(self.files.decompress);
            let input = Joined::lines(self.files.files, self.longest, opening, complaints.clone());
            match runs.write(&spaces(self.shards), input, output) {
                Ok(_) => runs.finish(),
                Err(error) => runs.fail(&error),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_counted_at_every_position() {
        for len in 0..150_usize {
            for step in 1..9 {
                let line: Vec<u8> =
                    (0..len).map(|at| if at % step == 0 { b' ' } else { 0xa0 ^ at as u8 & 1 }).collect();
                let expected = match line.iter().filter(|byte| **byte == b' ').count() {
                    few @ 0..=6 => Spaced::Few(few as u8),
                    _ => Spaced::Many,
                };
                assert_eq!(count(&line), expected, "one of {step} in {len}");
            }
        }
    }
}
