//! Chunks of lines are parsed in parallel, in pieces, while the chunk before is counted in order.

use super::{Entry, Malformed, Report};
use rayon::prelude::*;
use std::io::{Read, Result};
use std::ops::Range;

/// The best of 256 KiB to 4 MiB.
const CHUNK: usize = 1 << 20;
/// The best of 2 to 8.
const PIECES: usize = 4;

type Parsed = std::result::Result<Entry, Malformed>;

#[derive(Default)]
struct Piece {
    range: Range<usize>,
    /// Each line's range in the piece.
    lines: Vec<(u32, u32, Parsed)>,
}

#[derive(Default)]
struct Chunk {
    text: Vec<u8>,
    pieces: Vec<Piece>,
    whole: usize,
}

/// As many as ours has workers.
const THREADS: usize = 2;

pub(crate) fn run() -> Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global().map_err(std::io::Error::other)?;
    let mut report = Report::new()?;
    let (mut input, mut rest) = (std::io::stdin(), Vec::new());
    let (mut now, mut next) = (Chunk::default(), Chunk::default());
    let mut more = now.fill(&mut input, &mut rest)?;
    while more {
        let (filled, counted) = rayon::join(|| next.fill(&mut input, &mut rest), || now.count(&mut report));
        counted?;
        more = filled?;
        std::mem::swap(&mut now, &mut next);
    }
    report.finish()
}

impl Chunk {
    /// Reads and parses the next chunk; false if there is none.
    fn fill(&mut self, input: &mut impl Read, rest: &mut Vec<u8>) -> Result<bool> {
        self.read(input, rest)?;
        self.parse();
        Ok(self.whole > 0)
    }

    /// Reads whole lines after the `rest` of the last chunk, and leaves a rest.
    fn read(&mut self, input: &mut impl Read, rest: &mut Vec<u8>) -> Result<()> {
        let mut filled = rest.len();
        self.text.resize(CHUNK.max(2 * filled), 0);
        self.text[..filled].copy_from_slice(rest);
        rest.clear();
        loop {
            if filled == self.text.len() {
                match memchr::memrchr(b'\n', &self.text) {
                    Some(at) => self.whole = at + 1,
                    None => {
                        self.text.resize(2 * filled, 0);
                        continue;
                    }
                }
                break rest.extend_from_slice(&self.text[self.whole..]);
            }
            match input.read(&mut self.text[filled..])? {
                0 => break self.whole = filled,
                read => filled += read,
            }
        }
        Ok(())
    }

    fn parse(&mut self) {
        let text = &self.text[..self.whole];
        self.pieces.resize_with(PIECES, Piece::default);
        let mut start = 0;
        for (n, piece) in (1..).zip(&mut self.pieces) {
            let about = (text.len() * n / PIECES).max(start);
            let end = memchr::memchr(b'\n', &text[about..]).map_or(text.len(), |at| about + at + 1);
            piece.range = start..end;
            start = end;
        }
        self.pieces.par_iter_mut().for_each(|piece| piece.parse(&text[piece.range.clone()]));
    }

    /// The lines in order.
    fn count(&self, report: &mut Report) -> Result<()> {
        for Piece { range, lines } in &self.pieces {
            let text = &self.text[range.clone()];
            for (start, end, parsed) in lines {
                report.take(&text[*start as usize..*end as usize], parsed)?;
            }
        }
        Ok(())
    }
}

impl Piece {
    fn parse(&mut self, text: &[u8]) {
        self.lines.clear();
        let mut start = 0;
        let mut add = |start: usize, end: usize| {
            self.lines.push((start as u32, end as u32, Entry::parse(&text[start..end])));
        };
        for end in memchr::memchr_iter(b'\n', text) {
            add(start, end);
            start = end + 1;
        }
        if start < text.len() {
            add(start, text.len());
        }
    }
}
