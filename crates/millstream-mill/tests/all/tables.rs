//! Tables as they are found, and as they are shown.

use crate::meaning::{check, check_dead};
use crate::running::{Out, Slowly, Way, blocks, run};
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
    check("csv(schema: {b: int}) | jsonl", &["\na,b\n1,2\n"], "{\"a\":1,\"b\":2}\n");
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

/// Which rows are aligned together does not depend on how the input was read. Answers of the end all are.
#[test]
fn rows_are_aligned_alike_however_they_are_read() {
    let rows: String =
        (1..=3000).map(|n| format!("{{\"a\":\"{}\"}}\n", if n == 1500 { "x wide cell" } else { "x" })).collect();
    let table = |text: &str, cut: usize| {
        let program = Program::load(text, 1, false).unwrap_or_else(|wrong| panic!("{wrong}"));
        run(&program, blocks(&program, &[&rows], cut), Way::Model).sinks.remove(0)
    };
    let begun = |lines: usize| format!("a  b\n-  -\n{}", "x  y\n".repeat(lines));
    let text = "jsonl | map({a, b: \"y\"}) | table";
    let whole = table(text, usize::MAX);
    let wide = |a: &str| format!("{a:11}  ");
    assert!(whole.starts_with(&(begun(1000) + &wide("x") + "y\n")), "{whole}");
    for cut in [50, 5000] {
        assert_eq!(table(text, cut), whole, "{cut}");
    }
    let at_end = table("jsonl | top(2000, .a) | map({a, b: \"y\"}) | table", 5000);
    assert!(at_end.starts_with(&(wide("a") + "b\n")) && at_end.lines().count() == 2002, "{at_end}");
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

/// The types that are sampled, and what comes out, however the table is read.
#[track_caller]
fn sampled(table: &str, types: &str, jsonl: &str) {
    let program = Program::load("csv | jsonl", 1, false).unwrap_or_else(|wrong| panic!("{wrong}"));
    for cut in [1, 7, 112, usize::MAX] {
        let reader = Slowly(Vec::from(table), 0, cut);
        let mut blocks = FileBlocks::new(&program.sources[0], 0, "f.csv", reader, 1 << 20);
        let raws: Vec<_> = blocks.by_ref().collect();
        assert_eq!(blocks.sampled().map_or_else(String::new, |types| types.to_string()), types, "cut at {cut}");
        assert_eq!(run(&program, raws, Way::Model).sinks, [jsonl], "cut at {cut}");
    }
}

#[test]
fn empty_lines_are_neither_a_header_nor_sampled() {
    sampled("\n\r\n\na,b\n1,2\n", "{a: int, b: int}", "{\"a\":1,\"b\":2}\n");
    let rows = format!("n\n1\n{}x\n2\n", "\n".repeat(120));
    sampled(&rows, "{n: text}", "{\"n\":\"1\"}\n{\"n\":\"x\"}\n{\"n\":\"2\"}\n");
    sampled("\n\n\n", "", "");
}

#[test]
fn a_row_that_does_not_fit_has_no_types() {
    sampled("id,v\n1,2\nTOTAL\n30,4\n", "{id: int, v: int}", "{\"id\":1,\"v\":2}\n{\"id\":30,\"v\":4}\n");
}

#[test]
fn a_header_that_is_not_utf8_is_refused() {
    let program = Program::load("csv | jsonl", 1, false).unwrap_or_else(|wrong| panic!("{wrong}"));
    for (header, from) in [(&b"gr\xf6\xdfe,a\n1,2\n"[..], "latin1"), (b"\xff\xfea\0\n\x001\0\n\0", "utf-16")] {
        let mut blocks = FileBlocks::new(&program.sources[0], 0, "f.csv", header, 1 << 20);
        assert_eq!(blocks.by_ref().count(), 0);
        let why = blocks.failure().expect("it is refused").to_string();
        assert!(why.contains(&format!("`iconv -f {from} -t utf-8 FILE`")), "{why}");
    }
}

/// Its files follow each other without a gap, so the header of the next one comes as a row.
#[test]
fn a_followed_table_has_its_header_once() {
    let rows = "a,\"b c\"\n1,2\na,b c\n3,4\na,c\n";
    let why = "expected a whole number, found \"a\"";
    check_dead("csv(follow: true, schema: {a: int}) | map(.a)", &[rows], "1\n3\n", &[("csv", 4, ".a", why)]);
    let dead = [("csv", 2, ".a", why), ("csv", 4, ".a", why)];
    check_dead("csv(schema: {a: int}) | map(.a)", &[rows], "1\n3\n", &dead);
    check("csv(follow: true) | map(.a)", &["a,b\n1,2\na,b\n3,4\n"], "1\n3\n");
}

#[test]
fn a_first_row_without_fields_makes_no_table() {
    let why = "the first row has no fields, which are the columns of a table";
    check_dead("jsonl | csv", &["{}\n{\"a\":1}\n{}\n"], "a\n1\n\"\"\n", &[("csv", 1, "", why)]);
}

#[test]
fn a_whole_number_that_is_no_int_is_added_as_a_float() {
    let sum = "{\"sum\":1.2345678901234568e18}\n";
    check("jsonl | sum(.n)", &["{\"n\":1234567890123456789}\n{\"n\":1}\n"], sum);
    check("csv(schema: {n: float}) | sum(.n)", &["n\n1234567890123456789\n1\n"], sum);
    let why =
        "1.2345678901234568e18 seconds since 1970 are after the year 9999: if they are milliseconds, write `.t / 1000`";
    check_dead("jsonl | count(every: 1m, at: .t)", &["{\"t\":1234567890123456789}\n"], "", &[("count", 1, "", why)]);
}

#[test]
fn the_columns_that_a_schema_leaves_out_are_sampled() {
    let table = "id,amt,note\n9,1,a\n10,2,b\n100,1.5,c\n";
    let rows = "{\"id\":9,\"amt\":1,\"note\":\"a\"}\n{\"id\":10,\"amt\":2,\"note\":\"b\"}\n\
                {\"id\":100,\"amt\":1.5,\"note\":\"c\"}\n";
    check("csv(schema: {amt: float}) | jsonl", &[table], rows);
    check("csv(schema: {amt: float}) | where(.id > 99) | count", &[table], "{\"count\":1}\n");
    check("csv(schema: {amt: float}, sample: 0) | where(.id > \"99\") | map(.id)", &[table], "");
    check("csv(schema: {id: text, amt: float}) | map(.id)", &[table], "\"9\"\n\"10\"\n\"100\"\n");
    let text = "csv(schema: {amt: int}, sample: 2) | jsonl";
    let advice = "expected a whole number, found \"x\": the first rows had the type int; \
                  declare the schema with `id: text`";
    let rows = "{\"id\":1,\"amt\":1}\n{\"id\":2,\"amt\":2}\n";
    let dead = [("csv", 3, ".id", advice), ("csv", 4, ".amt", "expected a whole number, found \"y\"")];
    check_dead(text, &["id,amt\n1,1\n2,2\nx,3\n4,y\n"], rows, &dead);
}
