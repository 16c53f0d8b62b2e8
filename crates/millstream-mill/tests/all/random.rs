use crate::running::{Way, blocks, from_states, numbered, run, states};
use millstream_mill::Program;
use proptest::prelude::*;

/// Stages that any rows can go through, and failures of some of them.
const STAGES: [&str; 30] = [
    "where(.a > 1)",
    "where(.k != \"x\")",
    "select(.a)",
    "where(`(.a | tostring) < \"5\"`)",
    "map({k, a: .b, b: .a})",
    "map({k, a, b: .a * 2})",
    "map(`., {k, a: 1}`)",
    "map(`select(.a != 2)`)",
    "count(by: .k)",
    "sum(.a, by: .k, as: \"a\")",
    "mean(.a, by: .k, as: \"a\")",
    "min(.a, by: .k, as: \"a\")",
    "max(.b)",
    "top(2, .a)",
    "top(1, .b, by: .k)",
    "latest(by: .k)",
    "quantile(.a, 0.5, by: .k, as: \"a\")",
    "fold({a: count, b: sum(.a)}, by: .k)",
    "count(by: .k, every: 3s, at: .a)",
    "sum(.b, session: 2s, at: .a, late: 2s, by: .k)",
    "count(by: .k, each: 2)",
    "sum(.a, by: .k, as: \"a\", each: 3s, at: .b)",
    "fold({a: count, b: max(.a)}, each: 1)",
    "top(2, .a, each: 3)",
    "latest(by: .k, each: 2)",
    "mean(.b, by: {k}, as: \"b\", each: 5s, at: .a)",
    "distinct(.k)",
    "take(3)",
    "skip(2)",
    "take(5)",
];
const COUNT: &str = "count(by: .k)";
const WINDOW: &str = "count(by: .k, every: 3s, at: .a)";
const RUNNING: &str = "count(by: .k, each: 2)";
const SOURCES: [&str; 5] = ["jsonl", "csv", "jsonl(schema: {a: int?})", "csv(schema: {a: float?})", "csv(sample: 2)"];
const SINKS: &[&str] = &[
    "",
    " | jsonl",
    " | csv",
    " | table",
    " | lines",
    " | tsv",
    #[cfg(feature = "sqlite")]
    " | sqlite(\"t.db\", table: \"t\")",
];

fn chain() -> impl Strategy<Value = String> {
    let stages = prop::collection::vec(prop::sample::select(&STAGES[..]), 0..4);
    stages.prop_map(|stages| stages.iter().map(|stage| format!(" | {stage}")).collect())
}

/// A text, and whether its source is a table.
fn text() -> impl Strategy<Value = (String, bool)> {
    let form = prop_oneof![4 => Just(0), 1 => Just(1), 4 => 2..6];
    let sink = prop::sample::select(SINKS);
    (prop::sample::select(&SOURCES[..]), chain(), sink, chain(), form).prop_map(|(source, one, sink, other, form)| {
        let one = one + sink;
        let text = match form {
            0 => format!("{source}{one}"),
            1 => format!("let x = {source}; x{one}; x{other} | jsonl(\"other\")"),
            2 => format!("let x = {source}; x | join(x | where(.a > 1), on: .k, keep: true){one}"),
            3 => format!("let x = {source}; x | join(x | {WINDOW}, on: .k, keep: true){one}"),
            4 => format!("let x = {source}; x | join(x | {RUNNING}, on: .k, keep: true){one}"),
            _ => format!("let x = {source}; x | {COUNT} | join(x | {COUNT}{other}, on: .k, keep: true){one}"),
        };
        (text, source.starts_with("csv"))
    })
}

fn rows(is_table: bool) -> impl Strategy<Value = String> {
    let value = prop::sample::select(&["1", "2", "3.5", "7", "", "x", "12", "0"][..]);
    let key = prop::sample::select(&["x", "y", "z w"][..]);
    let row = (key, value.clone(), value, 0..12_u8).prop_map(move |(k, a, b, odd)| {
        let json = |cell: &str| match cell {
            "" => "null".to_owned(),
            "x" => "\"x\"".to_owned(),
            number => number.to_owned(),
        };
        match (is_table, odd) {
            (true, 0) => format!("{k},{a}"),
            (true, 1) => format!("\"{k}, \n\",{a},{b}"),
            (true, _) => format!("{k},{a},{b}"),
            (false, 0) => "{\"a\": 1".to_owned(),
            (false, 1) => "[1]".to_owned(),
            (false, _) => format!("{{\"k\": \"{k}\", \"a\": {}, \"b\": {}}}", json(a), json(b)),
        }
    });
    prop::collection::vec(row, 0..14).prop_map(move |rows| {
        let header = if is_table { "k,a,b\n" } else { "" };
        format!("{header}{}\n", rows.join("\n"))
    })
}

fn programs() -> impl Strategy<Value = (String, String)> {
    text().prop_flat_map(|(text, is_table)| (Just(text), rows(is_table)))
}

/// A case loads the definitions of jq several times.
fn config() -> ProptestConfig {
    let cases = if std::env::var_os("MILLSTREAM_FULL").is_some() { 500 } else { 256 };
    ProptestConfig { cases, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    /// The bytes of every sink, and the dead letters, are those of the model: on every deployment, with any number of
    /// workers and shards, wherever the input is cut.
    #[test]
    fn the_output_is_the_same_everywhere(
        (text, input) in programs(),
        cut in 1..50_usize,
        shards in 1..4_usize,
        workers in 1..4_usize,
        ring in 0..4_u32,
    ) {
        let load = |shards| Program::load(&text, shards, false).unwrap_or_else(|wrong| panic!("{wrong}"));
        let (one, several) = (load(1), load(shards));
        let expected = run(&one, blocks(&one, &[&input], usize::MAX), Way::Model);
        let cut = blocks(&several, &[&input], cut);
        let ways = [Way::Model, Way::Inline, Way::Queues, Way::Rings { workers, ring: 1 << ring }];
        for way in ways {
            let out = run(&several, cut.clone(), way);
            prop_assert_eq!(&out, &expected, "{:?}: {} of {:?}", way, text, input);
        }
    }

    /// A program is stopped before any number, and begun there again with its states as bytes, also with another number
    /// of shards and workers. It ends as the model does.
    #[test]
    fn a_program_goes_on_from_its_states(
        (text, input) in programs(),
        cut in 1..50_usize,
        at in 0..8_usize,
        shards in 1..4_usize,
        workers in 1..4_usize,
        ring in 0..4_u32,
    ) {
        let load = |shards| Program::load(&text, shards, false).unwrap_or_else(|wrong| panic!("{wrong}"));
        let (one, several) = (load(1), load(shards));
        let mut before = blocks(&one, &[&input], cut);
        let expected = numbered(&one, before.clone());
        let rest = before.split_off(at.min(before.len()));
        let at = before.len() as u64;
        let states = states(&one, before);
        let tail = from_states(&several, &states, rest, workers, 1 << ring);
        let expected: Vec<_> = expected.into_iter().filter(|(number, _)| *number >= at).collect();
        prop_assert_eq!(tail, expected, "from {}: {} of {:?}", at, text, input);
    }
}
