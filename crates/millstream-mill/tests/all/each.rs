//! Folds that answer while rows come: `each: 1000`, `each: 10s`.

use crate::change::keeps;
use crate::goes_on::goes_on;
use crate::meaning::{check, check_dead, refused};
use crate::running::{Way, blocks, run};
use millstream_mill::{Allowed, Program};
use proptest::prelude::*;
use std::fmt::Write;

const LOG: &str = "\
{\"at\":1,\"k\":\"b\"}
{\"at\":2,\"k\":\"a\"}
{\"at\":12,\"k\":\"b\"}
{\"at\":9,\"k\":\"c\"}
{\"at\":47,\"k\":\"a\"}
";

#[test]
fn answers_come_after_each_so_many_rows() {
    check(
        "jsonl | count(each: 2)",
        &[LOG],
        "{\"rows\":2,\"count\":2}\n{\"rows\":4,\"count\":4}\n{\"rows\":5,\"count\":5}\n",
    );
    check("jsonl | count(each: 5)", &[LOG], "{\"rows\":5,\"count\":5}\n");
    check("jsonl | max(.at, each: 1) | map(.max)", &[LOG], "1\n2\n12\n12\n47\n");
    let by = "\
{\"rows\":2,\"k\":\"a\",\"count\":1}
{\"rows\":2,\"k\":\"b\",\"count\":1}
{\"rows\":4,\"k\":\"b\",\"count\":2}
{\"rows\":4,\"k\":\"c\",\"count\":1}
{\"rows\":5,\"k\":\"a\",\"count\":2}
";
    check("jsonl | count(by: .k, each: 2)", &[LOG], by);
    check(
        "jsonl | fold({n: count, at: max(.at)}, by: {k}, each: 4) | map([.rows, .k, .n, .at])",
        &[LOG],
        "[4,\"a\",1,2]\n[4,\"b\",2,12]\n[4,\"c\",1,9]\n[5,\"a\",2,47]\n",
    );
    // Rows that are the answer stay as they are, as in windows.
    check("jsonl | top(2, .at, each: 3) | map(.at)", &[LOG], "12\n2\n47\n12\n");
    check("jsonl | latest(by: .k, each: 3) | map(.at)", &[LOG], "2\n12\n47\n9\n");
    // A row that fails, or has no key, is not counted.
    let odd = "{\"n\":1}\n{\"n\":\"x\"}\n{\"n\":2}\n{\"n\":3}\n";
    let why = "`sum` adds numbers, and .n is \"x\"";
    let sums = "{\"rows\":2,\"sum\":3}\n{\"rows\":3,\"sum\":6}\n";
    check_dead("jsonl | sum(.n, each: 2)", &[odd], sums, &[("sum", 2, "", why)]);
    check("jsonl | count(by: (.k | select(. != \"b\")), each: 2) | map(.rows)", &[LOG], "2\n2\n3\n");
}

#[test]
fn answers_come_after_each_length_of_event_time() {
    let at = "\
{\"end\":10,\"k\":\"a\",\"count\":1}
{\"end\":10,\"k\":\"b\",\"count\":1}
{\"end\":20,\"k\":\"b\",\"count\":2}
{\"end\":20,\"k\":\"c\",\"count\":1}
{\"end\":50,\"k\":\"a\",\"count\":2}
";
    check("jsonl | count(by: .k, each: 10s, at: .at)", &[LOG], at);
    check("jsonl | count(each: 1m, at: .at)", &[LOG], "{\"end\":60,\"count\":5}\n");
    let text = "{\"t\":\"2026-01-31T12:00:09.999Z\"}\n{\"t\":\"2026-01-31T13:00:10+01:00\"}\n{\"t\":\"soon\"}\n";
    let ends = "{\"end\":\"2026-01-31T12:00:10Z\",\"count\":1}\n{\"end\":\"2026-01-31T12:00:20Z\",\"count\":2}\n";
    let why = "\"soon\" is not a time like 2026-01-31T12:00:00Z";
    check_dead("jsonl | count(each: 10s, at: .t)", &[text], ends, &[("count", 3, "", why)]);
}

#[test]
fn no_rows_have_an_answer_as_at_the_end() {
    check("jsonl | count(each: 10)", &[""], "{\"rows\":0,\"count\":0}\n");
    check("jsonl | count(each: 10s, at: .t)", &[""], "{\"end\":null,\"count\":0}\n");
    check("jsonl | count(by: .k, each: 10)", &[""], "");
}

#[test]
fn running_answers_on_a_terminal_are_no_table() {
    let on_a_terminal = |text: &str| {
        let program = Program::load(text, 1, true).unwrap_or_else(|wrong| panic!("{wrong}"));
        run(&program, blocks(&program, &[LOG], 20), Way::Inline).sinks.remove(0)
    };
    let lines = "{\"rows\":2,\"count\":2}\n{\"rows\":4,\"count\":4}\n{\"rows\":5,\"count\":5}\n";
    assert_eq!(on_a_terminal("jsonl | count(each: 2)"), lines);
    assert_eq!(on_a_terminal("jsonl | count(each: 100)"), "rows  count\n----  -----\n   5      5\n");
}

#[test]
fn a_row_is_joined_with_the_answers_that_came_before_it() {
    let text = "let x = jsonl; x | join(x | count(by: .k, each: 1), on: .k, keep: true) | map([.k, .at, .count])";
    let joined = "[\"b\",1,null]\n[\"a\",2,null]\n[\"b\",12,1]\n[\"c\",9,null]\n[\"a\",47,1]\n";
    check(text, &[LOG], joined);
    let text = "let x = jsonl; x | join(x | count(by: .k) | sum(.count, by: .k, each: 1), on: .k)";
    refused(text, &["`join` would find nothing", "`each: 1000` or `every: 1m`"]);
}

#[test]
fn what_does_not_fit_is_said_once() {
    for (arguments, what, help) in [
        ("each: 0", "`each` is a number of rows, at least 1, or a time of at least 1ms, such as `1000` or `10s`", ""),
        ("each: -1", "`each` is a number of rows, at least 1, or a time", ""),
        ("each: 0s, at: .t", "`each` is a number of rows, at least 1, or a time", ""),
        ("each: 1.5", "`each` is a number of rows, at least 1, or a time", ""),
        ("each: .n", "`each` is a number of rows, at least 1, or a time", ""),
        ("each: 10s", "`count` with `each: 10s` needs `at`", "`at: .time`, the time of a row"),
        ("each: 10, at: .t", "`each: 10` counts rows, and reads no time", "leave `at` out, or write `each: 10s`"),
        ("each: 10, every: 1m, at: .t", "`count` takes `each` or `every`, not both", "a window answers once"),
        ("each: 10s, session: 1m, at: .t", "`count` takes `each` or `session`, not both", "a window answers once"),
        ("each: 10s, at: .t, late: 5s", "`count` takes `each` or `late`, not both", "is in the next answer"),
        ("each: 10, every: 1m", "`count` takes `each` or `every`, not both", "a window answers once"),
        ("each: 10, late: 5s", "`count` takes `each` or `late`, not both", "is in the next answer"),
        ("every: 1m, session: 1m", "`count` takes `every` or `session`, not both", "when no row comes"),
        ("each: 10, by: .rows", "two fields of the answer have the name `rows`", "any name"),
        ("each: 10s, at: .t, as: \"end\"", "two fields of the answer have the name `end`", "any name"),
    ] {
        let text = format!("jsonl | count({arguments})");
        let wrong = Program::load(&text, 1, false).map(drop).expect_err(&text);
        assert_eq!(wrong.mistakes().len(), 1, "{wrong}");
        let mistake = &wrong.mistakes()[0];
        assert!(mistake.what.contains(what), "{what}: {wrong}");
        assert!(mistake.help.as_deref().unwrap_or_default().contains(help), "{help}: {wrong}");
    }
    check("jsonl | count(by: .end, each: 9)", &["{\"end\":1}\n"], "{\"rows\":1,\"end\":1,\"count\":1}\n");
}

#[test]
fn a_run_goes_on_with_another_each() {
    let of = |each: &str| format!("let s = jsonl | count(by: .k{each}); s");
    for (old, new, at, out) in [
        // All keys are new to a fold that begins to answer.
        ("", ", each: 2", 2, "rows:4 x 2, rows:4 y 1, rows:4 z 1"),
        (", each: 2", "", 2, "rows:2 x 1, rows:2 y 1, x 2, y 1, z 1"),
        (", each: 2", ", each: 3", 1, "rows:3 x 2, rows:3 y 1, rows:4 z 1"),
        (", each: 3", ", each: 2s, at: .n", 2, "end:6 x 2, end:6 y 1, end:10 z 1"),
        (", each: 2s, at: .n", ", each: 1", 2, "end:2 x 1, rows:3 x 2, rows:3 y 1, rows:4 z 1"),
    ] {
        let written = |answer: &str| match answer.split([' ', ':']).collect::<Vec<_>>()[..] {
            [name, when, key, count] => format!("{{\"{name}\":{when},\"k\":\"{key}\",\"count\":{count}}}\n"),
            [key, count] => format!("{{\"k\":\"{key}\",\"count\":{count}}}\n"),
            _ => panic!("{answer}"),
        };
        let out: String = out.split(", ").map(written).collect();
        goes_on(&of(old), &of(new), &keeps(&["s"]), at, &[("", &out)]);
    }
    // It is a changed parameter as any other.
    let old = Program::load(&of(""), 1, false).expect("a text");
    let next = old.next(&of(", each: 2")).expect("a text");
    let said = old.check_upgrade(&next, &Allowed::default()).to_string();
    let why = "its parameter `each` was not given and is now `2`: `keep s` keeps its state nevertheless";
    assert!(said.contains(why), "{said}");
}

/// A row: its key, a value and a time.
type Row = (&'static str, i64, u64);

/// In the order of answers.
const KEYS: [&str; 5] = ["null", "9", "10", "\"b\"", "[1]"];

/// A fold as it is written, and what it answers for rows: texts, with the fields around them or as they are.
type Folding = (&'static str, fn(&[Row]) -> Vec<String>, bool);

const FOLDS: [Folding; 5] = [
    ("count(", |rows| vec![format!("\"count\":{}", rows.len())], true),
    ("sum(.a, ", |rows| vec![format!("\"sum\":{}", rows.iter().map(|row| row.1).sum::<i64>())], true),
    (
        "fold({n: count, least: min(.a)}, ",
        |rows| {
            let least = rows.iter().map(|row| row.1).min().map_or("null".to_owned(), |least| least.to_string());
            vec![format!("\"n\":{},\"least\":{least}", rows.len())]
        },
        true,
    ),
    (
        "top(2, .a, ",
        |rows| {
            let mut rows = rows.to_vec();
            rows.sort_by_key(|row| -row.1);
            rows.iter().take(2).map(json).collect()
        },
        false,
    ),
    ("latest(", |rows| rows.last().map(json).into_iter().collect(), false),
];

fn json((k, a, t): &Row) -> String {
    format!("{{\"k\":{k},\"a\":{a},\"t\":{t}}}")
}

/// What a fold has to answer: at each place where answers are due, those of the keys of the rows since the last place,
/// each computed from all rows of the key so far.
fn expected(rows: &[Row], (_, fold, has_fields): Folding, by: bool, each: Result<usize, u64>) -> String {
    let (mut out, mut told) = (String::new(), 0);
    let mut answer = |taken: &[Row]| {
        let when = match (each, taken.iter().map(|row| row.2).max()) {
            (Ok(_), _) => format!("\"rows\":{}", taken.len()),
            (Err(length), Some(greatest)) => format!("\"end\":{}", (greatest / length + 1) * length),
            (Err(_), None) => "\"end\":null".to_owned(),
        };
        for key in if by { &KEYS[..] } else { &["all"] } {
            let of_key = |rows: &[Row]| rows.iter().filter(|row| !by || row.0 == *key).copied().collect::<Vec<_>>();
            if of_key(&taken[told..]).is_empty() && (by || !taken.is_empty()) {
                continue;
            }
            let key = if by { format!("\"k\":{key},") } else { String::new() };
            for text in fold(&of_key(taken)) {
                let line = if has_fields { format!("{{{when},{key}{text}}}") } else { text };
                writeln!(out, "{line}").expect("a text");
            }
        }
        told = taken.len();
    };
    for (n, row) in rows.iter().enumerate() {
        match each {
            Ok(many) if (n + 1).is_multiple_of(many) => answer(&rows[..=n]),
            Err(length) if rows[..n].iter().all(|before| before.2 / length < row.2 / length) && n > 0 => {
                answer(&rows[..n]);
            }
            _ => {}
        }
    }
    answer(rows);
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_those_of_the_rows_before_them(
        rows in prop::collection::vec((prop::sample::select(&KEYS[..]), -3..4_i64, 0..60_u64), 0..20),
        fold in prop::sample::select(&FOLDS[..]),
        by: bool,
        each in prop_oneof![(1..7_usize).prop_map(Ok), (1..25_u64).prop_map(Err)],
        cut in 10..200_usize,
        shards in 1..3_usize,
    ) {
        let input: String = rows.iter().map(|row| json(row) + "\n").collect();
        let each_of = match each {
            Ok(many) => format!("each: {many}"),
            Err(length) => format!("each: {length}s, at: .t"),
        };
        let text = format!("jsonl | {}{}{each_of})", fold.0, if by { "by: .k, " } else { "" });
        let program = Program::load(&text, shards, false).unwrap_or_else(|wrong| panic!("{wrong}"));
        let expected = expected(&rows, fold, by, each);
        for way in [Way::Model, Way::Rings { workers: 2, ring: 2 }] {
            let out = run(&program, blocks(&program, &[&input], cut), way);
            prop_assert_eq!(&out.sinks[0], &expected, "{:?}: {} of {}", way, text, input);
            prop_assert_eq!(&out.dead, &[]);
        }
    }
}
