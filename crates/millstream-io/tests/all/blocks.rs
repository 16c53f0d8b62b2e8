//! Blocks of readers that return few bytes, are interrupted, or fail.

use millstream::prelude::*;
use millstream_core::failure::{caught, message};
use millstream_io::{Block, Blocks, LineBlocks, WholeBlocks};
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Read, Result};

/// A reader that answers from a list.
struct Script(VecDeque<Result<&'static [u8]>>);

impl Read for Script {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let Some(answer) = self.0.pop_front() else { panic!("read beyond the end") };
        let bytes = answer?;
        buffer[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }
}

fn script(answers: impl IntoIterator<Item = Result<&'static [u8]>>) -> Script {
    Script(answers.into_iter().collect())
}

#[test]
fn every_read_is_a_block() {
    let mut blocks = Blocks::new(script([Ok(&b"a"[..]), Ok(b"bc"), Ok(b"")]));
    let got: Vec<Vec<u8>> = blocks.by_ref().map(|block| block.to_vec()).collect();
    assert_eq!(got, [&b"a"[..], b"bc"]);
    assert!(blocks.next().is_none(), "the end is final");
    assert!(blocks.failure().take().is_none());
}

#[test]
fn an_interrupted_read_is_repeated() {
    let interrupted = || Err(Error::from(ErrorKind::Interrupted));
    let blocks = Blocks::new(script([interrupted(), Ok(&b"a"[..]), interrupted(), interrupted(), Ok(b"b"), Ok(b"")]));
    let got: Vec<Vec<u8>> = blocks.map(|block| block.to_vec()).collect();
    assert_eq!(got, [b"a", b"b"]);
}

#[test]
fn an_error_ends_the_blocks_and_is_kept() {
    let mut blocks = Blocks::new(script([Ok(&b"a"[..]), Err(Error::other("disk on fire"))]));
    let failure = blocks.failure();
    assert_eq!(blocks.next().unwrap().to_vec(), b"a");
    assert!(blocks.next().is_none());
    assert!(blocks.next().is_none());
    assert_eq!(failure.take().unwrap().to_string(), "disk on fire");
    assert!(failure.take().is_none());
}

/// A program that does not ask for the error must not take a part of the input for the whole.
#[test]
fn an_error_that_is_not_asked_for_unwinds_after_the_bytes_before_it() {
    fn each(mut blocks: impl Iterator<Item = Block>) -> (Vec<u8>, String) {
        let mut bytes = Vec::new();
        let payload = caught(|| blocks.by_ref().for_each(|block| bytes.extend_from_slice(&block))).unwrap_err();
        assert!(blocks.next().is_none(), "it has ended");
        (bytes, message(payload.as_ref()))
    }
    let failing = || script([Ok(&b"a\nb\n"[..]), Ok(b"c"), Err(Error::other("disk on fire"))]);
    let fire = |bytes: &[u8]| (bytes.to_vec(), "disk on fire".to_owned());
    assert_eq!(each(Blocks::new(failing())), fire(b"a\nb\nc"));
    assert_eq!(each(WholeBlocks::lines(failing())), fire(b"a\nb\n"));
    assert_eq!(each(WholeBlocks::lines(failing()).even()), fire(b"a\nb\n"));
    assert_eq!(each(LineBlocks::with_size(failing(), 1)), fire(b"a\nb\n"));
    let long = "line 3, which begins at byte 4, is longer than 2 bytes".to_owned();
    let text = &b"a\nb\nlong\nd\n"[..];
    assert_eq!(each(WholeBlocks::lines(text).size(4).longest(2)), (b"a\nb\n".to_vec(), long.clone()));
    assert_eq!(each(LineBlocks::with_size(text, 1).longest(2)), (b"a\nb\n".to_vec(), long));
    // A place that is not held any more does not count.
    let blocks = Blocks::new(failing());
    drop(blocks.failure());
    assert_eq!(each(blocks), fire(b"a\nb\nc"));
}

#[test]
fn an_error_of_a_reader_fails_the_run() {
    let failing = || script([Ok(&b"a\nb\n"[..]), Ok(b"c"), Err(Error::other("disk on fire"))]);
    let lines = || pipeline::<Block>().lines().map(|line| line.len());
    let expected = "stage \"source\", number 1: disk on fire";
    let error = Rings::new().collect(lines().from(WholeBlocks::lines(failing()))).unwrap_err();
    assert_eq!(error.to_string(), expected);
    let ready = source::ready(WholeBlocks::lines(failing()));
    assert_eq!(Rings::new().workers(1).collect(lines().from(ready)).unwrap_err().to_string(), expected);
    let error = Inline::default().collect(lines().from(WholeBlocks::lines(failing()))).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn no_block_is_larger_than_asked() {
    let text: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    for size in [1, 7, 4096, 20_000] {
        let blocks: Vec<_> = Blocks::with_size(&text[..], size).collect();
        assert!(blocks.iter().all(|block| (1..=size).contains(&block.len())));
        assert_eq!(blocks.iter().flat_map(|block| block.iter().copied()).collect::<Vec<u8>>(), text);
    }
}

#[test]
fn the_memory_of_a_dropped_block_is_used_again() {
    let text = [7; 100];
    let mut blocks = Blocks::with_size(&text[..], 10);
    let (first, second) = (blocks.next().unwrap(), blocks.next().unwrap());
    let memory = first.as_ptr();
    assert_ne!(memory, second.as_ptr());
    drop(first);
    assert_eq!(blocks.next().unwrap().as_ptr(), memory);
}

#[test]
fn blocks_outlive_their_stream() {
    let mut blocks = Blocks::new(&b"abc"[..]);
    let block = blocks.next().unwrap();
    drop(blocks);
    assert_eq!(block.clone().to_vec(), *block);
}

#[test]
#[should_panic(expected = "at least one byte")]
fn blocks_of_no_bytes_are_refused() {
    let _ = Blocks::with_size(&b""[..], 0);
}
