//! Blocks of whole lines, compared with the lines of the whole text.

use millstream_io::LineBlocks;
use proptest::prelude::*;
use std::io::{Error, ErrorKind, Read, Result};

/// A reader that returns at most this many bytes at once, each time after an interruption, and then ends or fails.
struct Dripping<'a> {
    text: &'a [u8],
    drop: usize,
    interrupted: bool,
    fails: bool,
}

impl Read for Dripping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(Error::from(ErrorKind::Interrupted));
        }
        if self.text.is_empty() && self.fails {
            return Err(Error::other("disk on fire"));
        }
        let bytes = self.drop.min(buffer.len()).min(self.text.len());
        let (now, later) = self.text.split_at(bytes);
        buffer[..bytes].copy_from_slice(now);
        self.text = later;
        Ok(bytes)
    }
}

fn dripping(text: &[u8], drop: usize) -> Dripping<'_> {
    Dripping { text, drop, interrupted: false, fails: false }
}

fn all<R: Read>(blocks: LineBlocks<R>) -> (Vec<Vec<u8>>, Option<String>) {
    let failure = blocks.failure();
    let all = blocks.map(|block| block.to_vec()).collect();
    (all, failure.take().map(|error| error.to_string()))
}

/// The expected blocks: the most whole lines that fit, and at least one.
fn cut(text: &[u8], size: usize) -> Vec<Vec<u8>> {
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match blocks.last_mut() {
            Some(block) if block.len() + line.len() <= size => block.extend(line),
            _ => blocks.push(line.to_vec()),
        }
    }
    blocks
}

proptest! {
    #[test]
    fn blocks_are_whole_lines_for_any_reads(
        text in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(0), any::<u8>()], 0..300),
        size in 1_usize..40,
        drop in 1_usize..50,
    ) {
        let (blocks, failure) = all(LineBlocks::with_size(dripping(&text, drop), size));
        prop_assert_eq!(failure, None);
        // A missing end of the last line does not change the cuts of earlier blocks, but then the last line need not be
        // in a block of its own.
        prop_assert_eq!(blocks.concat(), text.clone());
        if text.is_empty() || text.ends_with(b"\n") {
            prop_assert_eq!(blocks, cut(&text, size));
        } else {
            for (n, block) in blocks.iter().enumerate() {
                prop_assert!(block.ends_with(b"\n") || n + 1 == blocks.len());
            }
        }
    }

    #[test]
    fn blocks_of_one_byte_are_lines(
        text in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200),
        drop in 1_usize..50,
    ) {
        let (lines, failure) = all(LineBlocks::with_size(dripping(&text, drop), 1));
        let expected: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        prop_assert_eq!((lines, failure), (expected, None));
    }
}

#[test]
fn a_line_that_is_too_long_is_reported_with_its_place() {
    let text = b"one\ntwo\nseventeen\nfour\n";
    for size in [1, 4, 8] {
        for drop in [1, 3, 100] {
            let (blocks, failure) = all(LineBlocks::with_size(dripping(text, drop), size).longest(9));
            assert_eq!(blocks.concat(), b"one\ntwo\n");
            assert_eq!(failure.as_deref(), Some("line 3, which begins at byte 8, is longer than 9 bytes"));
            let (blocks, failure) = all(LineBlocks::with_size(dripping(text, drop), size).longest(10));
            assert_eq!((blocks.concat(), failure), (text.to_vec(), None));
        }
    }
}

#[test]
fn a_line_without_end_takes_no_more_memory_than_the_longest() {
    let blocks = LineBlocks::with_size(std::io::repeat(b'x'), 1000).longest(1_000_000);
    let (blocks, failure) = all(blocks);
    assert_eq!(blocks, [[0_u8; 0]; 0]);
    assert_eq!(failure.as_deref(), Some("line 1, which begins at byte 0, is longer than 1000000 bytes"));
}

#[test]
fn a_long_last_line_needs_no_end() {
    let text = vec![b'x'; 300_000];
    assert_eq!(all(LineBlocks::with_size(&text[..], 1000)), (vec![text.clone()], None));
    let (blocks, failure) = all(LineBlocks::with_size(&text[..], 1000).longest(299_999));
    assert_eq!((blocks.len(), failure.is_some()), (0, true));
}

#[test]
fn a_reader_that_fails_cuts_no_line_short() {
    let reader = Dripping { fails: true, ..dripping(b"one\ntwo\nthr", 2) };
    let (blocks, failure) = all(LineBlocks::with_size(reader, 100));
    assert_eq!((blocks.concat(), failure.as_deref()), (b"one\ntwo\n".to_vec(), Some("disk on fire")));
}

#[test]
#[should_panic(expected = "at least one byte")]
fn blocks_of_no_bytes_are_refused() {
    let _ = LineBlocks::with_size(&b""[..], 0);
}
