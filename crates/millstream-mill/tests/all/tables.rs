//! Tables as they are found, and as they are shown.

use crate::meaning::{check, check_dead};
use crate::running::{Out, Way, blocks, run};
use millstream_mill::{FileBlocks, Program};

#[test]
fn an_empty_cell_at_the_end_of_a_row_is_a_cell() {
    for (source, separator) in [("csv", ","), ("tsv", "\t")] {
        for line_end in ["\n", "\r\n"] {
            let of = |table: &str| table.replace(',', separator).replace('\n', line_end);
            let text = format!("{source} | jsonl");
            let rows = "{\"a\":1,\"b\":2}\n{\"a\":3,\"b\":null}\n{\"a\":4,\"b\":5}\n";
            check(&text, &[&of("a,b\n1,2\n3,\n4,5\n")], rows);
            check(&text, &[&of("a,b,\n1,2,\n")], "{\"a\":1,\"b\":2,\"\":\"\"}\n");
        }
    }
    check("csv | jsonl", &["x\n \n1\n"], "{\"x\":\" \"}\n{\"x\":\"1\"}\n");
}

#[test]
fn an_empty_line_is_no_header() {
    check("csv | jsonl", &["\n\r\na,b\n1,2\n"], "{\"a\":1,\"b\":2}\n");
    check("csv(schema: {b: int}) | jsonl", &["\na,b\n1,2\n"], "{\"a\":\"1\",\"b\":2}\n");
    check("csv | jsonl", &["\n"], "");
}

#[test]
fn the_columns_of_another_file_may_be_in_another_order() {
    for (text, separator) in [("csv | csv", ","), ("csv | tsv", "\t")] {
        let program = Program::load(text, 1, false).unwrap_or_else(|wrong| panic!("{wrong}"));
        let files = ["a,b\n1,2\n", "b,a\n3,4\n", "b\n5\n", "a,c\n6,7\n", "a,b\n8,9\n"];
        let blocks = |file: &'static str| FileBlocks::new(&program.sources[0], 0, "f.csv", file.as_bytes(), 1 << 20);
        let out = run(&program, files.into_iter().flat_map(blocks).collect(), Way::Model);
        assert_eq!(out.sinks, ["a,b\n1,2\n4,3\n,5\n8,9\n".replace(',', separator)], "{text}");
        let why: Vec<_> = out.dead.iter().map(|(_, number, _, why)| (*number, why.as_str())).collect();
        assert_eq!(why, [(1, "there is no column \"c\"; the columns are a, b")], "{text}");
    }
}

fn on_a_terminal(text: &str, rows: &str) -> Out {
    let program = Program::load(text, 1, true).unwrap_or_else(|wrong| panic!("{wrong}"));
    run(&program, blocks(&program, &[rows], usize::MAX), Way::Model)
}

#[test]
fn answers_that_are_no_table_are_json_on_a_terminal_too() {
    let rows = "{\"a\":1}\n{\"a\":0.2}\n{\"a\":0.7,\"y\":3}\n";
    for (text, expected) in [
        ("jsonl | count | map(.count)", "3\n"),
        ("jsonl | top(3, .a)", "{\"a\":1}\n{\"a\":0.7,\"y\":3}\n{\"a\":0.2}\n"),
        ("jsonl | count", "count\n-----\n    3\n"),
    ] {
        let out = on_a_terminal(text, rows);
        assert_eq!((out.sinks, out.dead), (vec![expected.to_owned()], Vec::new()), "{text}");
    }
}

#[test]
fn names_with_escape_sequences_and_long_numbers_have_types() {
    let rows = "{\"a\":1,\"x\\ty\":2}\n{\"\\u0061\":3}\n";
    check("jsonl(schema: {a: int})", &[rows], rows);
    let long = "{\"a\":12345678901234567890}\n";
    check("jsonl(schema: {a: float})", &[long], long);
    let why = "expected a whole number, found a number of more than 18 digits";
    check_dead("jsonl(schema: {a: int})", &[long], "", &[("jsonl", 1, ".a", why)]);
}
