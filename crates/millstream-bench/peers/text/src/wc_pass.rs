//! What `wc` counts, in one pass over blocks that one buffer holds in turn: no pipeline, and nothing between the loops and
//! the reads. Its loops are those that a compiler makes the most of. A word is a run
//! without white space: in a text without other odd runs that is what GNU `wc` counts.

use crate::buffers;
use std::io::{self, Read, Write, stdout};

const BLOCK: usize = 64 * 1024;

pub(crate) fn run() -> io::Result<()> {
    // Not through the standard library's buffer, which would copy every byte once more.
    let mut input = buffers::input()?;
    let mut block = vec![0; BLOCK];
    let (mut lines, mut words, mut bytes, mut inside) = (0, 0, 0, false);
    loop {
        let read = input.read(&mut block)?;
        let block = &block[..read];
        let Some(last) = block.last() else { break };
        lines += bytecount::count(block, b'\n');
        words += beginnings(block, inside);
        bytes += read;
        inside = !is_space(*last);
    }
    // As wide as GNU wc has it for a file.
    let width = bytes.to_string().len();
    writeln!(stdout(), "{lines:width$} {words:width$} {bytes}")
}

fn is_space(byte: u8) -> bool {
    byte == b' ' || byte.wrapping_sub(b'\t') < 5
}

/// How many words begin in a block, behind a byte that is `inside` one or not.
fn beginnings(block: &[u8], inside: bool) -> u64 {
    // As many as a byte can count, so that the loop adds bytes to bytes.
    const RUN: usize = 255;
    let first = u64::from(!inside && !is_space(block[0]));
    let pairs = block[..block.len() - 1].chunks(RUN).zip(block[1..].chunks(RUN));
    let runs = pairs.map(|(before, here)| {
        let begins = before.iter().zip(here).map(|(before, here)| u8::from(is_space(*before) & !is_space(*here)));
        u64::from(begins.sum::<u8>())
    });
    first + runs.sum::<u64>()
}
