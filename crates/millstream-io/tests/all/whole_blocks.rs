//! Blocks of whole records, from readers that return their bytes in any parts.

use millstream_core::text::{Prefixed, Records};
use millstream_core::{ModelExt, TextExt, pipeline};
use millstream_io::{Block, NextFile, WholeBlocks};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use std::io::{self, Error, Read};

/// Returns its bytes in parts of these lengths, cyclically.
struct InParts<'a> {
    bytes: &'a [u8],
    parts: Vec<usize>,
    next: usize,
}

impl<'a> InParts<'a> {
    fn new(bytes: &'a [u8], parts: &[u8]) -> Self {
        InParts { bytes, parts: parts.iter().map(|part| usize::from(*part)).collect(), next: 0 }
    }
}

impl Read for InParts<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let part = self.parts.get(self.next % self.parts.len().max(1)).copied().unwrap_or(1).max(1);
        self.next += 1;
        if self.next.is_multiple_of(7) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let part = part.min(to.len());
        self.bytes.read(&mut to[..part])
    }
}

fn lines(blocks: impl IntoIterator<Item = Block>) -> Vec<Vec<u8>> {
    pipeline::<Block>().lines_with_ends().model(blocks).iter().map(|line| line.to_vec()).collect()
}

proptest! {
    #[test]
    fn lines_are_whole_for_any_reads(
        text in vec(proptest::sample::select(&b"ab\n\r\0\xff"[..]), 0..200),
        parts in vec(any::<u8>(), 1..9),
        size in 1_usize..40,
    ) {
        let blocks: Vec<Block> = WholeBlocks::lines(InParts::new(&text, &parts)).size(size).collect();
        assert_eq!(blocks.iter().flat_map(|block| block.to_vec()).collect::<Vec<_>>(), text);
        let expected: Vec<Vec<u8>> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        assert_eq!(lines(blocks), expected);
    }

    /// Even blocks are the same for any reads, and from each of them on; too long a line is refused at the same place.
    #[test]
    fn even_blocks_depend_on_the_bytes_alone(
        text in vec(proptest::sample::select(&b"aaab\n"[..]), 0..200),
        parts in vec(any::<u8>(), 1..9),
        size in 1_usize..40, longest in 1_usize..20,
    ) {
        let even = |text: &[u8], parts: &[u8]| {
            let blocks = WholeBlocks::lines(InParts::new(text, parts)).size(size).longest(longest).even();
            let failure = blocks.failure();
            let all: Vec<Vec<u8>> = blocks.map(|block| block.to_vec()).collect();
            (all, failure.take().map(|error| error.to_string()))
        };
        let (blocks, error) = even(&text, &[255]);
        assert_eq!(even(&text, &parts), (blocks.clone(), error.clone()));
        let expected: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let fitting = expected.iter().take_while(|line| line.len() <= longest).count();
        assert_eq!(blocks.concat(), expected[..fitting].concat());
        assert_eq!(error.is_some(), fitting < expected.len());
        let mut from = 0;
        for (n, block) in blocks.iter().enumerate() {
            let (rest, _) = even(&text[from..], &parts);
            assert_eq!(rest, blocks[n..]);
            assert!(block.len() <= longest.max(size));
            from += block.len();
        }
    }

    #[test]
    fn long_lines_are_refused_or_split(
        text in vec(proptest::sample::select(&b"aaab\n"[..]), 0..200), parts in vec(any::<u8>(), 1..9),
        size in 1_usize..40, longest in 1_usize..20,
    ) {
        let expected: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let fitting = expected.iter().take_while(|line| line.len() <= longest).count();
        let mut blocks = WholeBlocks::lines(InParts::new(&text, &parts)).size(size).longest(longest);
        let failure = blocks.failure();
        assert_eq!(lines(blocks.by_ref()), expected[..fitting]);
        let error = failure.take().map(|error| error.to_string());
        let at: usize = expected[..fitting].iter().map(|line| line.len()).sum();
        let too_long = || format!("line {}, which begins at byte {at}, is longer than {longest} bytes", fitting + 1);
        assert_eq!(error, (fitting < expected.len()).then(too_long));

        let split = WholeBlocks::lines(InParts::new(&text, &parts)).size(size).longest(longest).splitting();
        let parts_of = |line: &&[u8]| {
            let end = line.ends_with(b"\n");
            let body = &line[..line.len() - usize::from(end)];
            let mut parts: Vec<Vec<u8>> = body.chunks(longest).map(<[u8]>::to_vec).collect();
            match parts.last_mut() {
                Some(last) if end => last.push(b'\n'),
                None => parts.push(line.to_vec()),
                _ => {}
            }
            parts
        };
        assert_eq!(lines(split), expected.iter().flat_map(parts_of).collect::<Vec<_>>());
    }

    #[test]
    fn records_are_whole_for_any_reads(
        text in vec(any::<u8>(), 0..100), parts in vec(any::<u8>(), 1..9), size in 1_usize..40, bytes in 1_usize..9,
    ) {
        let blocks = WholeBlocks::of(InParts::new(&text, &parts), Records::of(bytes)).size(size);
        let failure = blocks.failure();
        let records = pipeline::<Block>().records(bytes).model(blocks);
        let records: Vec<Vec<u8>> = records.iter().map(|r| r.to_vec()).collect();
        let whole = text.len() / bytes * bytes;
        assert_eq!(records, text[..whole].chunks(bytes).map(<[u8]>::to_vec).collect::<Vec<_>>());
        assert_eq!(failure.take().is_some(), whole < text.len());
    }

    #[test]
    fn prefixed_records_are_whole_for_any_reads(
        records in vec(vec(any::<u8>(), 0..20), 0..12),
        cut in 0_usize..30,
        parts in vec(any::<u8>(), 1..9),
        size in 1_usize..40,
    ) {
        let mut text: Vec<u8> = Vec::new();
        for record in &records {
            text.extend((record.len() as u32).to_be_bytes());
            text.extend(record);
        }
        let short = cut.min(text.len());
        let text = &text[..text.len() - short];
        let blocks = WholeBlocks::of(InParts::new(text, &parts), Prefixed::BigEndian).size(size);
        let failure = blocks.failure();
        let read = pipeline::<Block>().prefixed(Prefixed::BigEndian).model(blocks);
        let read: Vec<Vec<u8>> = read.iter().map(|r| r.to_vec()).collect();
        assert_eq!(read, records[..read.len()]);
        let passed = Prefixed::BigEndian.end(text, 0).map_or(0, |_| read.iter().map(|r| r.len() + 4).sum::<usize>());
        assert_eq!(failure.take().is_some(), passed < text.len());
    }
}

#[test]
fn errors_say_which_record_and_where() {
    let cut_short = WholeBlocks::of(&b"abcdefgh"[..], Records::of(3));
    let failure = cut_short.failure();
    assert_eq!(cut_short.map(|block| block.to_vec()).collect::<Vec<_>>(), [b"abcdef"]);
    let expected = "record 3, which begins at byte 6, is cut short by the end of the input";
    assert_eq!(failure.take().unwrap().to_string(), expected);

    let failing = io::Read::chain(&b"to be\nor n"[..], Failing);
    let blocks = WholeBlocks::lines(failing);
    let failure = blocks.failure();
    assert_eq!(lines(blocks), [b"to be\n"], "half a line is not passed on");
    assert_eq!(failure.take().unwrap().to_string(), "no more");
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(Error::other("no more"))
    }
}

/// Whole records are passed on at once, without waiting for a full block.
#[test]
fn a_line_does_not_wait_for_the_next() {
    let mut blocks = WholeBlocks::lines(InParts::new(b"to be\nor not\nto", &[6, 3, 100]));
    let next = |blocks: &mut WholeBlocks<_>| blocks.next().map(|block| block.to_vec());
    assert_eq!(next(&mut blocks).unwrap(), b"to be\n");
    assert_eq!(next(&mut blocks).unwrap(), b"or not\n");
    assert_eq!(next(&mut blocks).unwrap(), b"to");
    assert_eq!(next(&mut blocks), None);
}

/// One block at a time needs the memory of one.
#[test]
fn memory_is_used_again() {
    let text = b"to be or not to be\n".repeat(100_000);
    let mut places: Vec<*const u8> = WholeBlocks::lines(&text[..]).map(|block| block.as_ptr()).collect();
    assert!(places.len() > 20);
    places.sort_unstable();
    places.dedup();
    assert!(places.len() <= 2, "{} places", places.len());
}

/// Returns files one after the other, in reads of at most this many bytes.
struct InFiles(Vec<Vec<u8>>, usize);

impl Read for InFiles {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let Some(file) = self.0.first_mut() else { return Ok(0) };
        if file.is_empty() {
            self.0.remove(0);
            return Err(NextFile.into());
        }
        let most = to.len().min(self.1).min(file.len());
        to[..most].copy_from_slice(&file[..most]);
        file.drain(..most);
        Ok(most)
    }
}

proptest! {
    /// Also of even blocks, which are the same from each of them on.
    #[test]
    fn records_end_with_their_file(
        files in vec(vec(proptest::sample::select(&b"aab\n"[..]), 0..40), 0..5),
        most in 1_usize..20,
        size in 1_usize..40,
    ) {
        let in_files = |from: usize| {
            let mut left = from;
            let files = files.iter().filter_map(|file| {
                let before = left.min(file.len());
                left -= before;
                (before < file.len() || file.is_empty()).then(|| file[before..].to_vec())
            });
            InFiles(files.collect(), most)
        };
        let split = |bytes: &[u8]| bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
        let expected: Vec<Vec<u8>> = files.iter().flat_map(|file| split(file)).collect();
        let plain = WholeBlocks::lines(in_files(0)).size(size);
        assert_eq!(lines(plain), expected);
        let even = |from| WholeBlocks::lines(in_files(from)).size(size).even().map(|block| block.to_vec()).collect();
        let (all, mut from): (Vec<Vec<u8>>, usize) = (even(0), 0);
        assert_eq!(all.iter().flat_map(|block| split(block)).collect::<Vec<_>>(), expected);
        for (n, block) in all.iter().enumerate() {
            let rest: Vec<Vec<u8>> = even(from);
            assert_eq!(rest, all[n..]);
            from += block.len();
        }
    }
}

#[test]
fn a_record_that_its_file_does_not_end_is_an_error() {
    for even in [false, true] {
        let blocks = WholeBlocks::of(InFiles(vec![b"aabbc".to_vec(), b"cdd".to_vec()], 64), Records::of(2));
        let failure = blocks.failure();
        let all: Vec<u8> = if even {
            blocks.even().flat_map(|block| block.to_vec()).collect()
        } else {
            blocks.flat_map(|block| block.to_vec()).collect()
        };
        let why = failure.take().map(|error| error.to_string());
        let said = "record 3, which begins at byte 4, is cut short by the end of its file";
        assert_eq!((all.as_slice(), why.as_deref()), (&b"aabb"[..], Some(said)));
    }
}
