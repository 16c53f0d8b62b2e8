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
