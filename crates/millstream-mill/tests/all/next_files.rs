//! Tables whose file is followed, and followed by other files of its name.

use millstream_io::NextFile;
use millstream_mill::{FileBlocks, FilePlace, Program, RowBlocks};
use std::collections::VecDeque;
use std::io::{self, Read};

/// The bytes of files, each of which is announced but the first.
struct Files {
    files: VecDeque<Vec<u8>>,
    cut: usize,
}

impl Files {
    fn of(files: &[&str], cut: usize) -> Self {
        Files { files: files.iter().map(|file| file.as_bytes().to_vec()).collect(), cut }
    }
}

impl Read for Files {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(file) = self.files.front_mut() else { return Ok(0) };
        if file.is_empty() {
            self.files.pop_front();
            return if self.files.is_empty() { Ok(0) } else { Err(NextFile.into()) };
        }
        let read = file.len().min(buffer.len()).min(self.cut);
        buffer[..read].copy_from_slice(&file[..read]);
        file.drain(..read);
        Ok(read)
    }
}

/// The rows that a source makes of files, and why it ends early.
fn rows(source: &str, files: &[&str], cut: usize) -> (String, Option<String>) {
    let program = Program::load(&format!("{source} | jsonl"), 1, false).unwrap_or_else(|wrong| panic!("{wrong}"));
    let blocks = program.sources[0].blocks(Files::of(files, cut), 1 << 20);
    rows_from(&program, blocks, FilePlace::default())
}

fn rows_from(program: &Program, blocks: RowBlocks, place: FilePlace) -> (String, Option<String>) {
    let mut blocks = FileBlocks::from_place(&program.sources[0], 0, "log", blocks, place);
    let out = crate::running::run(program, blocks.by_ref().collect(), crate::running::Way::Model);
    let dead: String = out.dead.iter().map(|(.., why)| format!("{why}\n")).collect();
    (out.sinks[0].clone() + &dead, blocks.failure().map(|error| error.to_string()))
}

#[track_caller]
fn check(source: &str, files: &[&str], all: &[&str]) {
    for cut in [1, 3, 7, 1 << 16] {
        let (rows, failure) = rows(source, files, cut);
        assert_eq!(rows.lines().collect::<Vec<_>>(), all, "{source}, {cut} bytes at once");
        assert_eq!(failure, None);
    }
}

const CSV: &str = "csv(\"log\", follow: true)";

#[test]
fn each_next_file_has_its_own_header() {
    let first = "from,to\nann,bob\n";
    let ann = "{\"from\":\"ann\",\"to\":\"bob\"}";
    check(CSV, &[first, "to,from\ncy,dan\n"], &[ann, "{\"to\":\"cy\",\"from\":\"dan\"}"]);
    check(CSV, &[first, "from,to,n\ncy,dan,1\n"], &[ann, "{\"from\":\"cy\",\"to\":\"dan\",\"n\":1}"]);
    check(CSV, &[first, "to\ncy\n", first], &[ann, "{\"to\":\"cy\"}", ann]);
    check(CSV, &[first, "\n\n\u{feff}to,from\r\n\r\ncy,dan"], &[ann, "{\"to\":\"cy\",\"from\":\"dan\"}"]);
    check(CSV, &["from,to\n", "to,from\n", "", "to\n3\n"], &["{\"to\":3}"]);
}

#[test]
fn a_next_file_without_a_header_goes_on_with_the_known_one() {
    let ann = "{\"from\":\"ann\",\"to\":\"bob\"}";
    check(CSV, &["from,to\nann,bob\n", "cy,dan\n"], &[ann, "{\"from\":\"cy\",\"to\":\"dan\"}"]);
    check(CSV, &["from,to\n", "1,2\n"], &["{\"from\":1,\"to\":2}"]);
    check("tsv(\"log\", follow: true)", &["id\tv\n1\t2\n", "3\t4\n"], &["{\"id\":1,\"v\":2}", "{\"id\":3,\"v\":4}"]);
}

#[test]
fn known_columns_of_a_next_file_keep_their_types() {
    let why =
        "expected a whole number, found \"x\": the first rows had the type int; declare the schema with `n: text`";
    check(CSV, &["n,k\n1,a\n", "k,n\nb,x\nb,2\n"], &["{\"n\":1,\"k\":\"a\"}", "{\"k\":\"b\",\"n\":2}", why]);
    let declared = "csv(\"log\", follow: true, schema: {n: int})";
    check(declared, &["n\n1\n", "k,n\nb,2\n"], &["{\"n\":1}", "{\"k\":\"b\",\"n\":2}"]);
    let (out, failure) = rows(declared, &["n,k\n1,a\n", "k,m\nb,2\n"], 100);
    assert_eq!(out, "{\"n\":1,\"k\":\"a\"}\n");
    assert_eq!(failure.as_deref(), Some("there is no column \"n\"; the columns are k, m"));
}

#[test]
fn the_header_is_known_from_every_place_on() {
    let program = Program::load(&format!("{CSV} | jsonl"), 1, false).expect("a program");
    let files = ["n,k\n1,a\n2,b\n", "k,n\nc,3\nd,4\n", "n\n5\n"];
    let source = &program.sources[0];
    let mut blocks = FileBlocks::new(source, 0, "log", Files::of(&files, 4), 1 << 20);
    let (all, _) = rows(CSV, &files, 4);
    while blocks.next().is_some() {
        let place = blocks.place();
        let mut left = place.offset as usize;
        let rest_of = |file: &&'static str| {
            let read = file.len().min(left);
            left -= read;
            &file[read..]
        };
        let rest: Vec<&str> = files.iter().map(rest_of).collect();
        let rest_of = source.blocks(Files::of(&rest, 4), 1 << 20);
        let (rows, _) = rows_from(&program, rest_of, place);
        assert!(all.ends_with(&rows), "{rows}");
        assert_eq!(rows.lines().last(), (!rows.is_empty()).then_some("{\"n\":5}"));
    }
}
