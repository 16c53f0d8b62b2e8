//! A run goes on with another text at a number.

use crate::change::{drops, keeps, load, next};
use crate::running::{Out, blocks};
use millstream_core::{ModelExt, SequenceNumber};
use millstream_exec::{Inline, JobRefExt, Rings, Runner};
use millstream_mill::{Allowed, Program, Raw, Written};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Blocks whose rows have a field `v`, which is 0 before a number and 1 from it on.
fn versions(program: &Program, input: &str, cut: usize, at: usize) -> Vec<Raw> {
    let tagged = |(n, raw): (usize, Raw)| {
        let text = String::from_utf8(raw.block.to_vec()).expect("text");
        let text = if n < at { text } else { text.replace("\"v\":0", "\"v\":1") };
        Raw { block: text.into_bytes().into(), ..raw }
    };
    blocks(program, &[input], cut).into_iter().enumerate().map(tagged).collect()
}

/// The bytes of each file, and the dead letters.
fn out(program: &Program, all: Vec<Written>) -> (BTreeMap<String, String>, Out) {
    let (mut files, mut out) = (BTreeMap::<String, String>::new(), Out::default());
    for written in all {
        for (sink, part) in written.parts {
            let name = program.sinks[sink].file.clone().unwrap_or_default();
            *files.entry(name).or_default() += &String::from_utf8(part).expect("text");
        }
        let dead = written.dead.into_iter().map(|dead| (dead.stage.to_string(), dead.number, dead.path, dead.why));
        out.dead.extend(dead);
    }
    files.retain(|_, text| !text.is_empty());
    (files, out)
}

/// The output of a run that goes on with another text at a number.
fn changed(
    old: &Program,
    new: &Program,
    allowed: &Allowed,
    at: usize,
    input: Vec<Raw>,
    rings: Option<Rings>,
) -> Vec<Written> {
    let upgrade = old.upgrade_to(new, allowed).unwrap_or_else(|check| panic!("{check}"));
    let job = old.pipeline.from(input);
    let on = rings.clone().unwrap_or_default().upgrade_at(SequenceNumber(at as u64), upgrade);
    match rings {
        Some(_) => on.collect(job),
        None => Inline::new(on).collect(job),
    }
    .expect("it runs")
}

#[track_caller]
pub(crate) fn goes_on(old: &str, new: &str, allowed: &Allowed, at: usize, expected: &[(&str, &str)]) {
    let rows = "{\"k\":\"x\",\"n\":1}\n{\"k\":\"y\",\"n\":2}\n{\"k\":\"x\",\"n\":4}\n{\"k\":\"z\",\"n\":8}\n";
    let old = load(old, 1);
    let next = next(&old, new);
    // A row is a block.
    let input = blocks(&old, &[rows], 16);
    assert_eq!(input.len(), 4);
    for rings in [None, Some(Rings::new().workers(1)), Some(Rings::new().workers(2).ring(1))] {
        let (files, out) = out(&next, changed(&old, &next, allowed, at, input.clone(), rings));
        let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!((&files[..], &out.dead[..]), (expected, &[][..]));
    }
}

#[test]
fn below_the_number_it_is_the_old_text_and_from_it_on_the_new_one() {
    let no = Allowed::default();
    goes_on("jsonl | map(.n)", "jsonl | map(.k)", &no, 2, &[("", "1\n2\n\"x\"\n\"z\"\n")]);
    goes_on(
        "jsonl | map(.n) | lines(\"a\")",
        "jsonl | map(.k) | lines(\"b\")",
        &no,
        1,
        &[("a", "1\n"), ("b", "y\nx\nz\n")],
    );
    // A header is written once, and a file that is new has its own.
    let old = "jsonl | map({n}) | csv(\"a\")";
    let new = "let x = jsonl; x | map({k}) | csv(\"b\"); x | map({n: (.n * 10)}) | csv(\"a\")";
    goes_on(old, new, &no, 2, &[("a", "n\n1\n2\n40\n80\n"), ("b", "k\nx\nz\n")]);
    // States go on, are lost, and begin fresh.
    let sum = |of: &str| format!("let s = jsonl | map({{n: {of}}}) | sum(.n); s");
    goes_on(&sum(".n"), &sum("(.n * 10)"), &keeps(&["s"]), 2, &[("", "{\"sum\":123}\n")]);
    goes_on(&sum(".n"), &sum("(.n * 10)"), &drops(&["s"]), 2, &[("", "{\"sum\":120}\n")]);
    goes_on(&sum(".n"), "jsonl | map(.n)", &drops(&["s"]), 3, &[("", "8\n")]);
    goes_on("jsonl | map(.n)", &sum(".n"), &no, 3, &[("", "1\n2\n4\n{\"sum\":8}\n")]);
    goes_on("jsonl | take(3) | map(.n)", "jsonl | take(3) | map(.k)", &no, 2, &[("", "1\n2\n\"x\"\n")]);
    // Of a key that has no more rows, too, `top` answers with as many as it is asked for now.
    let top = |n: usize| format!("let t = jsonl | top({n}, .n, by: .k) | map(.n); t");
    goes_on(&top(2), &top(1), &keeps(&["top"]), 3, &[("", "4\n2\n8\n")]);
    goes_on("jsonl | map({n}) | table", "jsonl | map({n}) | table", &no, 2, &[("", "n\n-\n1\n2\n4\n8\n")]);
}

#[test]
fn dead_letters_go_where_the_text_says() {
    let text = |dead: &str| format!("jsonl({dead}) | map(.n.x)");
    let rows = "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n";
    let first = load(&text("dead: \"a\""), 1);
    assert_eq!((&first.dead[..], first.writes()[1]), (&[Some("a".to_owned())][..], &[0][..]));
    let same = next(&first, &text("dead: \"a\""));
    assert_eq!((same.dead.len(), same.writes()[1]), (1, &[0][..]));
    let other = next(&first, &text("dead: \"b\""));
    let none = next(&other, &text(""));
    assert_eq!(none.dead, [Some("a".to_owned()), Some("b".to_owned()), None]);
    assert_eq!((other.writes()[1], none.writes()[1]), (&[1][..], &[2][..]));
    let all = changed(&first, &other, &Allowed::default(), 2, blocks(&first, &[rows], 8), None);
    let went: Vec<_> =
        all.iter().flat_map(|written| written.dead.iter().map(|dead| (dead.number, dead.source))).collect();
    assert_eq!(went, [(1, 0), (2, 0), (3, 1), (4, 1)]);
}

/// A stage of two texts, and of one text that has both by the version of a row. Each has the expression at `E`.
const STAGES: [(&str, &[&str]); 6] = [
    ("where(E)", &[".a > 1", ".a > 5", ".k != \"x\"", ".b"]),
    ("map({k, a: E, b, v})", &[".a", ".b", ".a * 2", "0"]),
    ("distinct(E)", &[".k", ".a", "{k, b}"]),
    ("skip(2)", &["."]),
    ("take(9)", &["."]),
    ("join(x | map({k, j: E}), on: .k, keep: true)", &[".a", ".b"]),
];
const ENDS: [(&str, &[&str]); 9] = [
    ("jsonl(\"f\")", &["."]),
    ("map([.k, E]) | jsonl(\"f\")", &[".a", ".b"]),
    ("map({k, c: E}) | csv(\"f\")", &[".a", ".b"]),
    ("let S = R | sum(E, by: {k: .k}); S | jsonl(\"f\")", &[".a", ".b", "1"]),
    ("let S = R | count(by: {k: E}); S | csv(\"f\")", &[".k", ".a"]),
    ("let S = R | max(E, every: 3s, at: .a, by: {k: .k}); S | jsonl(\"f\")", &[".a", ".b"]),
    ("let S = R | sum(E, by: {k: .k}, each: 2); S | jsonl(\"f\")", &[".a", ".b", "1"]),
    ("let S = R | max(E, by: {k: .k}, each: 3s, at: .a); S | jsonl(\"f\")", &[".a", ".b"]),
    ("let S = R | top(2, E); S | map({k, a}) | table(\"f\")", &[".a", ".b"]),
];

/// The old text, the new one, and one of both.
fn texts() -> impl Strategy<Value = [String; 3]> {
    let of = |(stage, expressions): (&'static str, &'static [&'static str])| {
        (Just(stage), prop::sample::select(expressions), prop::sample::select(expressions))
    };
    let stages = prop::collection::vec(prop::sample::select(&STAGES[..]).prop_flat_map(of), 0..4);
    let end = prop::sample::select(&ENDS[..]).prop_flat_map(of);
    let is_new = prop::bool::ANY;
    (stages, end, is_new).prop_map(|(stages, end, has_more)| {
        let of = |choose: &dyn Fn(&str, &str) -> String| {
            let mut text = "let x = jsonl; let r0 = x | where(.v < 2);".to_owned();
            let with = |(stage, old, new): &(&str, &str, &str)| stage.replace('E', &choose(old, new));
            for (n, stage) in stages.iter().enumerate() {
                text += &format!(" let r{} = r{n} | {};", n + 1, with(stage));
            }
            let end = with(&end);
            let last = format!("r{}", stages.len());
            match end.strip_prefix("let S = R") {
                Some(_) => text + " " + &end.replace('S', "s").replacen('R', &last, 1),
                None => text + &format!(" {last} | {end}"),
            }
        };
        let (old, new) = (of(&|old, _| format!("({old})")), of(&|_, new| format!("({new})")));
        let both = of(&|old, new| format!("(if .v == 0 then {old} else {new} end)"));
        if !has_more {
            return [old, new, both];
        }
        // A sink that goes, and one that comes.
        let more = |text: &str, end: &str| format!("{text}; {end}");
        [
            more(&old, "x | map(.a) | jsonl(\"gone\")"),
            more(&new, "x | count(by: .k) | csv(\"come\")"),
            more(
                &both,
                "x | where(.v == 0) | map(.a) | jsonl(\"gone\"); x | where(.v == 1) | count(by: .k) | csv(\"come\")",
            ),
        ]
    })
}

fn rows() -> impl Strategy<Value = String> {
    let row = (0..3_usize, 0..9_u8, 0..9_u8);
    let row = row.prop_map(|(k, a, b)| format!("{{\"k\":\"{}\",\"a\":{a},\"b\":{b},\"v\":0}}\n", ["x", "y", "z"][k]));
    prop::collection::vec(row, 0..16).prop_map(|rows| rows.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if std::env::var_os("MILLSTREAM_FULL").is_some() { 500 } else { 40 }, ..ProptestConfig::default() })]

    /// A run that goes on with another text writes what the model of one text does that has both, by the version of
    /// each row: on one thread and on rings, with any number of workers and shards, wherever the input is cut.
    #[test]
    fn a_run_goes_on_as_the_model_of_both_texts(
        [old, new, both] in texts(),
        input in rows(),
        cut in 20..120_usize,
        at in 0..8_usize,
        shards in 1..3_usize,
        workers in 1..3_usize,
        ring in 0..4_u32,
    ) {
        let before = load(&old, shards);
        let after = next(&before, &new);
        let input = versions(&before, &input, cut, at);
        let at = at.min(input.len());
        let states: Vec<String> = after.states().into_iter().collect();
        let allowed = Allowed { keeps: states, ..Allowed::default() };
        let both_text = load(&both, 1);
        let expected = out(&both_text, both_text.pipeline.model(input.clone()));
        let rings = Rings::new().workers(workers).ring(1 << ring);
        for way in [None, Some(rings)] {
            let written = changed(&before, &after, &allowed, at, input.clone(), way.clone());
            prop_assert_eq!(&out(&after, written), &expected, "{:?}: {} to {} at {} of {:?}", way, old, new, at, input);
        }
    }
}
