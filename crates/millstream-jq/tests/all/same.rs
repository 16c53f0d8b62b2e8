use crate::generator::{both, filter, json};
use crate::jaq;
use millstream::io::{Block, WholeBlocks};
use millstream::jq::{
    Answer, Expression, Fields, Filter, Input, JsonValues, Options, Outputs, Style, What, check_value,
};
use millstream::prelude::*;
use proptest::prelude::*;
use std::io::Read;

/// A reader that returns at most n bytes at once.
struct Slowly<'a>(&'a [u8], usize);

impl Read for Slowly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = self.1.min(buffer.len());
        self.0.read(&mut buffer[..most])
    }
}

fn compact(filter: &str) -> Option<Filter> {
    Filter::with(filter, &Options::default().style(Style { indent: None, ..Style::default() })).ok()
}

/// Joins several answers. The places of messages are those in the whole.
fn joined(answers: impl IntoIterator<Item = Answer>) -> Answer {
    let mut all = Answer::default();
    for answer in answers {
        for mut said in answer.said {
            said.at += all.out.len();
            said.line += all.lines;
            said.number += all.values;
            all.said.push(said);
        }
        all.out.extend(answer.out);
        all.values += answer.values;
        all.lines += answer.lines;
        all.last = answer.last.or(all.last);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    /// Without the parts that the filter does not read, and with our own parser and writer.
    #[test]
    fn the_answer_is_that_of_jaq((filter, in_jaq) in both(), json in json()) {
        let (Some(ours), Ok((out, failures))) = (compact(&filter), jaq::answer(&in_jaq, json.as_bytes())) else {
            // Names that jaq's library lacks, such as `@csv`.
            return Ok(());
        };
        let answer = ours.answer(json.as_bytes());
        prop_assert!(answer.out.len() < 4 << 20, "{} bytes: {} of {}", answer.out.len(), filter, json);
        let failed = answer.said.iter().filter(|said| matches!(said.what, What::Failed(_))).count();
        let seen = (String::from_utf8_lossy(&answer.out).into_owned(), failed);
        prop_assert_eq!(seen, (out, failures), "{} of {}", filter, json);
    }

    /// Messages about values with parts left out are the same, too: `whole` reads everything, and the filter follows
    /// it.
    #[test]
    fn leaving_fields_out_changes_no_message(filter in filter(), json in json()) {
        let (Some(ours), Some(all)) = (compact(&filter), compact(&format!("def whole: .; whole | {filter}"))) else {
            return Ok(());
        };
        prop_assert_eq!(ours.answer(json.as_bytes()), all.answer(json.as_bytes()), "{} of {}", filter, json);
    }

    #[test]
    fn where_a_stream_is_cut_changes_nothing(
        filter in filter(),
        json in json(),
        most in 1..40_usize,
        size in 1..40_usize,
    ) {
        let Some(filter) = compact(&filter) else { return Ok(()) };
        let blocks = WholeBlocks::of(Slowly(json.as_bytes(), most), JsonValues::default()).size(size);
        let answers = joined(blocks.map(|block| filter.answer(&block)));
        prop_assert_eq!(answers, filter.answer(json.as_bytes()), "{}", json);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn every_deployment_has_the_same_answer(
        filter in filter(),
        json in json(),
        size in 1..60_usize,
        shards in 1..4_usize,
        workers in 1..4_usize,
        ring in 0..4_u32,
    ) {
        let Some(filter) = compact(&filter) else { return Ok(()) };
        let expected = filter.answer(json.as_bytes());
        let p = pipeline::<Block>().shard(shards, move |p| p.map(move |block: &Block| filter.answer(block)));
        let blocks: Vec<Block> =
            WholeBlocks::of(Slowly(json.as_bytes(), size), JsonValues::default()).size(size).collect();
        let rings = Rings::new().workers(workers).ring(1 << ring);
        let ways = [
            ("model", p.model(blocks.clone())),
            ("inline", Inline::new(rings.clone()).collect((&p).from(blocks.clone())).expect("it runs")),
            ("queues", Queues::new().collect((&p).from(blocks.clone())).expect("it runs")),
            ("rings", rings.collect((&p).from(blocks)).expect("it runs")),
        ];
        for (way, answers) in ways {
            prop_assert_eq!(joined(answers), expected.clone(), "{}", way);
        }
    }
}

#[test]
fn messages_have_places() {
    let filter = Filter::new(".a | debug").expect("a filter");
    let answer = filter.answer(b"{\"a\": 1}\n\n5 {\"a\":\n2} [1");
    let said: Vec<_> = answer.said.iter().map(|said| (said.at, said.line, said.number, said.what.clone())).collect();
    let debug = |n| What::Debug(format!("[\"DEBUG:\",{n}]"));
    let failed = What::Failed("cannot index 5 with \"a\"".to_owned());
    let invalid = What::Invalid("the input ends within a value".to_owned());
    assert_eq!(said, [(0, 0, 0, debug(1)), (2, 2, 1, failed), (2, 2, 2, debug(2)), (4, 3, 3, invalid)]);
    assert_eq!((answer.values, answer.lines, answer.last), (3, 0, Some(true)));
}

#[test]
fn lines_are_inputs_too() {
    let lines = Options::default().input(Input::Lines);
    let answer =
        Filter::with("length, (if . == \"b\" then error else empty end)", &lines).unwrap().answer(b"a\nb\n\nccc");
    assert_eq!((&*answer.out, answer.values, answer.lines), (&b"1\n1\n0\n3\n"[..], 4, 3));
    assert_eq!((answer.said[0].line, answer.said[0].number), (1, 1));
}

/// Filters of the few forms that are evaluated without jaq, and values at the limits of their rules.
fn simple() -> impl Strategy<Value = (String, String)> {
    let atom = prop::sample::select(&[".a", ".b", ".a.b", "1", "2.50", "\"x\\ty\"", "null", "true", "-1", "0"][..]);
    let expression = atom.prop_map(str::to_owned).prop_recursive(3, 12, 2, |inner| {
        let op = prop::sample::select(&["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "and", "or"][..]);
        let pair = (inner.clone(), op, inner.clone()).prop_map(|(left, op, right)| format!("({left} {op} {right})"));
        prop_oneof![3 => pair, 1 => inner.prop_map(|inner| format!("({inner} | not)"))]
    });
    let filter = (expression.clone(), expression, 0..6_u8).prop_map(|(one, two, form)| match form {
        0 => one,
        1 => format!("select({one})"),
        5 => ".".to_owned(),
        2 => format!("select({one}) | {{a, \"b c\": {two}}}"),
        3 => format!("{{a: {one}, b}}"),
        _ => format!("select({one}) | {two}"),
    });
    let value = prop::sample::select(
        &[
            "0",
            "-0",
            "1",
            "-7",
            "007",
            "+3",
            "1.50",
            "2.5e1",
            "9007199254740993",
            "123456789012345678901",
            "1e999",
            "NaN",
            "null",
            "true",
            "false",
            "\"x\"",
            "\"x\\ty\"",
            "\"\\u00e9\"",
            "[1, 2]",
            "{\"b\": 2}",
            "{\"b\": {\"c\": [ 1]}}",
            "{\"\\u0062\": 3}",
            "{\"x\": [], \"y\" :{ }, \"x\": \"\\u007f\"}",
            "[\"a\\/b\", 1.50 ,[ ] , {}, -3]",
            "[\"\\u007f\", 01]",
            "{}",
            "Infinity",
        ][..],
    );
    let row = (value.clone(), value.clone(), value, 0..6_u8).prop_map(|(a, b, c, form)| match form {
        0 => a.to_owned(),
        1 => format!("{{\"a\": {a}}}"),
        2 => format!("{{\"\\u0061\": {a}, \"b\": {b}}}"),
        3 => format!("{{\"a\": {a}, \"b\": {b}, \"a\": {c}}}"),
        _ => format!("{{\"c\": {c}, \"b\": {b}, \"a\": {a}}}"),
    });
    (filter, prop::collection::vec(row, 1..4).prop_map(|rows| rows.join("\n")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn without_jaq_the_answer_is_the_same((filter, json) in simple()) {
        // jaq alone would ask for all the memory.
        prop_assume!(!(filter.contains('*') && ["9007199254740993", "123456789012345678901"].iter().any(|n| json.contains(n))));
        let ours = compact(&filter).expect("a filter");
        let whole = compact(&format!("def whole: .; whole | {filter}")).expect("a filter");
        let answer = ours.answer(json.as_bytes());
        prop_assert_eq!(&answer, &whole.answer(json.as_bytes()), "{} of {}", filter, json);
        // jaq's quotients and remainders are not those of jq.
        if !filter.contains(['/', '%']) {
            let (out, failures) = jaq::answer(&filter, json.as_bytes()).expect("a filter");
            let failed = answer.said.iter().filter(|said| matches!(said.what, What::Failed(_))).count();
            let seen = (String::from_utf8_lossy(&answer.out).into_owned(), failed);
            prop_assert_eq!(seen, (out, failures), "{} of {}", filter, json);
        }
        // Row by row. A row is JSON alone.
        let rows: Vec<_> = json.lines().filter(|line| check_value(line.as_bytes()).is_ok()).collect();
        let answer = ours.answer(rows.join("\n").as_bytes());
        let expression = Expression::new(&filter).expect("a filter");
        let (mut out, mut failed) = (Vec::new(), 0);
        for line in rows {
            let (mut row, mut outputs) = (Fields::default(), Outputs::default());
            row.read(&expression, line.as_bytes()).expect("JSON");
            failed += usize::from(expression.write(&row, &mut outputs).is_err());
            outputs.iter().for_each(|output| out.extend([output, b"\n"].concat()));
            let any = Filter::new(&format!("any({filter}; .)")).expect("a filter").answer(line.as_bytes());
            prop_assert_eq!(expression.holds(&row).ok(), any.last, "{} of {}", filter, line);
        }
        prop_assert_eq!(failed, answer.said.len());
        prop_assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&answer.out), "{} of {}", filter, json);
    }
}

#[test]
fn a_row_is_json_alone() {
    let read = |json: &str| {
        let passed = check_value(json.as_bytes());
        // The field is found, and the rest is passed over.
        let expression = Expression::new(".a").expect("a filter");
        let found = Fields::default().read(&expression, json.as_bytes());
        assert_eq!(passed, found, "{json}");
        passed.map_err(|why| why.strip_prefix("not JSON: ").unwrap_or(&why).to_owned())
    };
    for json in ["{\"a\":-0,\"b\":[0.5,1e9,{}]}", "{\"\\u0061\":1}", "[true,null]", " 7 "] {
        assert_eq!(read(json), Ok(()), "{json}");
    }
    let none = "NaN and Infinity are no numbers of JSON: write null";
    for (json, why) in [
        ("{\"a\":NaN}", none),
        ("{\"b\":-Infinity}", none),
        ("[Infinity]", none),
        ("{\"a\":007}", "expected a number without zeros before it"),
        ("+5", "expected a value"),
        ("{\"a\":b\"x\"}", "expected a value"),
        ("{1:2}", "expected a string, the name of a field"),
        ("1 # one", "more follows the value, at byte 3"),
        ("# one", "expected a value"),
    ] {
        assert_eq!(read(json), Err(why.to_owned()), "{json}");
    }
}
