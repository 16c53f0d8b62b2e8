//! Several files as one stream.

use millstream_core::{Arrow, pipeline};
use millstream_exec::JobExt;
use millstream_io::{Block, Blocks, Files};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use tempfile::{TempDir, tempdir};

fn written<const N: usize>(files: [(&str, &[u8]); N]) -> (TempDir, [PathBuf; N]) {
    let directory = tempdir().unwrap();
    let paths = files.map(|(name, bytes)| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    });
    (directory, paths)
}

#[test]
fn files_follow_each_other() {
    let (_directory, paths) = written([("a", b"one\ntw"), ("empty", b""), ("b", b"o\n\0\xff")]);
    let got: Vec<Vec<u8>> = Blocks::new(Files::new(paths)).map(|block| block.to_vec()).collect();
    assert_eq!(got, [&b"one\ntw"[..], b"o\n\0\xff"], "no block has bytes of two files");
}

#[test]
fn no_files_are_an_empty_stream() {
    assert!(Blocks::new(Files::new(Vec::<PathBuf>::new())).next().is_none());
}

#[test]
fn many_files_need_one_descriptor() {
    let directory = tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..3000).map(|n| directory.path().join(n.to_string())).collect();
    paths.iter().for_each(|path| fs::write(path, "x").unwrap());
    assert_eq!(Blocks::new(Files::new(paths)).count(), 3000);
}

#[test]
fn a_file_that_is_missing_ends_the_stream_and_is_named() {
    let (directory, [a, b]) = written([("a", b"a"), ("b", b"b")]);
    let missing = directory.path().join("gone");
    let mut blocks = Blocks::new(Files::new([a, missing.clone(), b]));
    let failure = blocks.failure();
    assert_eq!(*blocks.next().unwrap(), *b"a");
    assert!(blocks.next().is_none());
    let error = failure.take().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let start = format!("{}: cannot open: ", missing.display());
    assert!(error.to_string().starts_with(&start), "{error}");
}

#[test]
fn a_directory_cannot_be_read() {
    let directory = tempdir().unwrap();
    let mut blocks = Blocks::new(Files::new([directory.path()]));
    let failure = blocks.failure();
    assert!(blocks.next().is_none());
    let error = failure.take().unwrap().to_string();
    assert!(error.starts_with(&format!("{}: cannot read: ", directory.path().display())), "{error}");
}

#[test]
fn files_are_a_source() {
    let (_directory, paths) = written([("a", b"12"), ("b", b"345")]);
    let p = pipeline::<Block>().map(|block| block.len());
    assert_eq!(p.collect(Blocks::new(Files::new(paths))).unwrap(), [2, 3]);
}

#[test]
fn names_alone_change_nothing() {
    let (_directory, paths) = written([("a.gz", b"not gzip"), ("b.zst", b", nor zstd")]);
    assert_eq!(std::io::read_to_string(Files::new(paths)).unwrap(), "not gzip, nor zstd");
}

#[cfg(not(feature = "gzip"))]
#[test]
fn a_format_without_its_feature_is_refused() {
    let (_directory, paths) = written([("a.gz", b"")]);
    let error = std::io::read_to_string(Files::new(paths).decompressed()).unwrap_err().to_string();
    assert!(error.ends_with("a.gz: cannot open: this program was built without the feature `gzip` of millstream"));
}

#[cfg(feature = "glob")]
mod patterns {
    use super::*;
    use millstream_io::matching;

    #[test]
    fn matches_are_in_alphabetical_order() {
        let (directory, [b1, a, b2, _]) = written([("b1.log", b""), ("a.log", b""), ("b2.log", b""), ("a.txt", b"")]);
        fs::create_dir(directory.path().join("directory.log")).unwrap();
        let found = |pattern: &str| matching(directory.path().join(pattern).to_str().unwrap()).unwrap();
        assert_eq!(found("*.log"), [a.clone(), b1.clone(), b2.clone()]);
        assert_eq!(found("b?.log"), [b1.clone(), b2]);
        assert_eq!(found("[a-b]1.log"), [b1]);
        assert_eq!(found("**/a.log"), std::slice::from_ref(&a));
        assert_eq!(found("a.log"), [a], "a name is a pattern");
    }

    #[test]
    fn no_match_and_no_pattern_are_errors() {
        let directory = tempdir().unwrap();
        let pattern = directory.path().join("*.log").display().to_string();
        let error = matching(&pattern).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::NotFound, format!("{pattern}: no file matches")));
        let error = matching("a***").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().starts_with("a*** is not a pattern: "), "{error}");
    }
}
