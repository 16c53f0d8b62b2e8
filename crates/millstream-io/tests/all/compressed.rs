//! Compressed files: whole, in several members, truncated, and not compressed at all.

use flate2::Compression;
use flate2::write::GzEncoder;
use millstream_io::{Blocks, Decompressed, Files};
use std::fs;
use std::io::{self, Error, ErrorKind, Read, Write};
use tempfile::tempdir;

/// A format: the end of a file's name, and the encoder of a member.
type Format = (&'static str, fn(&[u8]) -> Vec<u8>);

const FORMATS: [Format; 2] = [("gz", gzip), ("zst", zstd)];

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The bytes that can be read from a file of this content, and the error after them.
fn read(extension: &str, content: &[u8]) -> (Vec<u8>, Option<Error>) {
    let directory = tempdir().unwrap();
    let path = directory.path().join(format!("log.{extension}"));
    fs::write(&path, content).unwrap();
    let blocks = Blocks::with_size(Files::new([&path]).decompressed(), 1000);
    let failure = blocks.failure();
    let bytes = blocks.flat_map(|block| block.to_vec()).collect();
    let error = failure.take();
    if let Some(error) = &error {
        let start = format!("{}: cannot decompress: ", path.display());
        assert!(error.to_string().starts_with(&start), "{error}");
    }
    (bytes, error)
}

/// Bytes that hardly compress, so that a member is longer than any buffer.
fn noise(length: usize) -> Vec<u8> {
    let step = |x: u64| (x ^ (x << 13) ^ (x >> 7)).wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(29);
    std::iter::successors(Some(1), |x| Some(step(*x))).flat_map(u64::to_le_bytes).take(length).collect()
}

#[test]
fn the_bytes_of_members_follow_each_other() {
    for (extension, member) in FORMATS {
        let long = noise(300_000);
        let parts: [&[u8]; 5] = [b"hello\nwo", b"", b"rld\n", &long, b"end"];
        let (bytes, error) = read(extension, &parts.map(member).concat());
        assert!(error.is_none(), "{extension}: {error:?}");
        assert_eq!(bytes, parts.concat(), "{extension}");
    }
}

/// Interrupts one read, and is at its end.
struct Interrupts(bool);

impl Read for Interrupts {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        if std::mem::take(&mut self.0) { Err(ErrorKind::Interrupted.into()) } else { Ok(0) }
    }
}

#[test]
fn a_read_that_is_interrupted_anywhere_is_repeated() {
    for (extension, member) in FORMATS {
        let file = [&b"to be\n"[..], b"or not\n"].map(member).concat();
        for cut in 0..=file.len() {
            let reader = file[..cut].chain(Interrupts(true)).chain(&file[cut..]);
            let blocks = Blocks::new(Decompressed::new(reader));
            let failure = blocks.failure();
            let read: Vec<u8> = blocks.flat_map(|block| block.to_vec()).collect();
            assert!(failure.take().is_none(), "{extension}, interrupted at {cut}");
            assert_eq!(read, b"to be\nor not\n", "{extension}, interrupted at {cut}");
        }
    }
}

#[test]
fn any_number_of_members_may_be_empty() {
    let file = [gzip(b"to be\n"), gzip(b"").repeat(20_000), gzip(b"or not\n")].concat();
    assert_eq!(read("gz", &file).0, b"to be\nor not\n");
}

#[test]
fn a_truncated_file_yields_its_bytes_and_then_an_error() {
    for (extension, member) in FORMATS {
        let text = noise(200);
        let (first, second) = (member(b"first\n"), member(&text));
        let file = [&first[..], &second].concat();
        let whole = [b"first\n", &text[..]].concat();
        for cut in (1..file.len()).filter(|&cut| cut != first.len()) {
            let (bytes, error) = read(extension, &file[..cut]);
            let error = error.unwrap_or_else(|| panic!("{extension}, cut at {cut}: no error"));
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{extension}, cut at {cut}: {error}");
            assert!(error.to_string().ends_with("it is truncated: it ends inside a member"), "{error}");
            assert!(whole.starts_with(&bytes), "{extension}, cut at {cut}");
            assert!(cut < first.len() || bytes.starts_with(b"first\n"), "{extension}, cut at {cut}");
        }
    }
}

#[test]
fn damage_is_found() {
    for (extension, member) in FORMATS {
        let mut file = member(&noise(10_000));
        let middle = file.len() / 2;
        file[middle] ^= 1;
        let (_, error) = read(extension, &file);
        assert!(error.is_some(), "{extension}");
    }
}

#[test]
fn other_data_is_an_error() {
    for (extension, member) in FORMATS {
        let (bytes, error) = read(extension, b"just some text\n");
        assert!(bytes.is_empty() && error.is_some(), "{extension}: a text");
        let (bytes, error) = read(extension, &[member(b"text"), b"and something else".to_vec()].concat());
        assert!(bytes == b"text" && error.is_some(), "{extension}: a text after a member");
    }
}

#[test]
fn bytes_after_the_last_member_are_an_error_and_no_truncation() {
    for rest in [&b"x"[..], b"\0", b"and something else"] {
        let (bytes, error) = read("gz", &[&gzip(b"to be\n")[..], &gzip(b"or not\n"), rest].concat());
        let error = error.unwrap_or_else(|| panic!("{rest:?}: no error"));
        assert_eq!((&bytes[..], error.kind()), (&b"to be\nor not\n"[..], ErrorKind::InvalidData), "{rest:?}: {error}");
        assert!(error.to_string().ends_with("after its last member it has bytes that are not gzip"), "{error}");
    }
}

#[test]
fn plain_files_may_come_between_compressed_ones() {
    let directory = tempdir().unwrap();
    let files = [("a.gz", gzip(b"a")), ("b", b"b".to_vec()), ("c.zst", zstd(b"c")), ("d.gzip", b"d".to_vec())];
    let paths = files.map(|(name, content)| {
        let path = directory.path().join(name);
        fs::write(&path, content).unwrap();
        path
    });
    assert_eq!(std::io::read_to_string(Files::new(paths).decompressed()).unwrap(), "abcd");
}
