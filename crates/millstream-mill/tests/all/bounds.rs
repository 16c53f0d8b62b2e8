//! What stages keep is bounded.

use crate::running::{blocks, of};
use millstream_exec::{Inline, JobRefExt, Runner};
use millstream_mill::Program;

/// What a stage fails with.
#[track_caller]
fn fails(text: &str, input: &str, why: &str) {
    let program = Program::load(text, 1, false).unwrap_or_else(|wrong| panic!("{wrong}"));
    let failed = Inline::default().collect(program.pipeline.from(blocks(&program, &[input], usize::MAX)));
    let said = failed.map(drop).expect_err("there is too much").to_string();
    assert!(said.contains(why), "{why}: {said}");
}

#[test]
fn what_is_beyond_a_bound_is_said_with_its_row() {
    let rows = "{\"k\":1,\"t\":1}\n{\"k\":2,\"t\":2}\n{\"k\":3,\"t\":3}\n";
    let without = "without `most` there may be 1000000";
    for (stage, what) in [
        ("count(by: .k, most: 2)", "keys"),
        ("count(by: .k, most: 2, each: 1)", "keys"),
        ("distinct(.k, most: 2)", "keys"),
        ("sum(.k, by: .k, every: 1m, at: .t, most: 2)", "open windows of keys"),
        ("count(by: .k, session: 1m, at: .t, most: 2)", "open windows of keys"),
    ] {
        let why = format!("in-0: row 3: there are more {what} than `most: 2` allows: {without}");
        fails(&format!("jsonl | {stage}"), rows, &why);
    }
    let why = format!(
        "row 3: there are more open windows than `most: 2` allows: {without}; a shorter `late` closes them sooner"
    );
    fails("jsonl | count(every: 1s, at: .t, late: 1h, most: 2)", rows, &why);
    let why = "row 2: there are more rows to join with than `most: 1` allows";
    fails("let x = jsonl; x | join(x, on: .k, most: 1)", rows, why);
    // An answer at the end has no row.
    fails("jsonl | count(by: .k) | distinct(.k, most: 2)", rows, "number 1: there are more keys than `most: 2` allows");
}

/// The keys of rows that come late are not kept: they are dead letters.
#[test]
fn late_rows_take_no_place_of_windows() {
    let late: String = (1..9).map(|k| format!("{{\"k\":{k},\"t\":1}}\n")).collect();
    for window in ["every: 1s", "session: 1s"] {
        let text = format!("jsonl | count(by: .k, {window}, at: .t, most: 1)");
        let out = of(&text, &[&format!("{{\"k\":0,\"t\":100}}\n{late}{{\"k\":0,\"t\":100}}\n")]);
        assert_eq!(out.dead.len(), 8);
        assert_eq!(out.sinks, ["{\"start\":100,\"end\":101,\"k\":0,\"count\":2}\n"]);
    }
}
