//! The habits of jq users, and the messages for them.

use crate::meaning::{check, check_dead};
use crate::running::of;
use millstream_mill::Program;

#[test]
fn the_outputs_are_json() {
    let rows = "{\"a\":1e300,\"b\":-1}\n";
    let largest = "1.7976931348623157e+308";
    check(
        "jsonl | map({large: (.a * .a), least: (.a * .a * .b), none: (.a * .a - .a * .a), odd: {(.b | tojson): nan}})",
        &[rows],
        &format!("{{\"large\":{largest},\"least\":-{largest},\"none\":null,\"odd\":{{\"-1\":null}}}}\n"),
    );
    check("jsonl | map({a: infinite}) | csv", &["{}\n"], &format!("a\n{largest}\n"));
    check("jsonl | sum(.a * 1e10)", &[&rows.repeat(2)], &format!("{{\"sum\":{largest}}}\n"));
    check("jsonl | map({a: nan}) | max(.a)", &[rows], "{\"max\":null}\n");
}

#[test]
fn a_row_that_only_jq_would_read_is_a_dead_letter() {
    let rows = "{\"a\":1}\n{\"a\":NaN}\n{\"a\":007}\n{1:2}\n# no row\n";
    check_dead(
        "jsonl",
        &[rows],
        "{\"a\":1}\n",
        &[
            ("jsonl", 2, "", "not JSON: NaN and Infinity are no numbers of JSON: write null"),
            ("jsonl", 3, "", "not JSON: expected a number without zeros before it"),
            ("jsonl", 4, "", "not JSON: expected a string, the name of a field"),
            ("jsonl", 5, "", "not JSON: expected a value"),
        ],
    );
}

/// A text, and what the help of its only mistake says.
#[track_caller]
fn helped(text: &str, help: &str) {
    let wrong = Program::load(text, 1, false).map(drop).expect_err(text);
    let found: Vec<_> = wrong.mistakes().iter().map(|mistake| mistake.help.as_deref().unwrap_or_default()).collect();
    assert_eq!(found.len(), 1, "{wrong}");
    assert!(found[0].contains(help), "{help}: {wrong}");
}

#[test]
fn an_expression_without_brackets_has_one_message() {
    for (argument, help) in [
        ("del(.a)", "write `(del(.a))`"),
        ("with_entries(.value += 1)", "write `(with_entries(.value += 1))`"),
        ("select(.a > 1) | {a}", "write `(select(.a > 1) | {a})`"),
        ("reduce .[] as $x (0; . + $x)", "write `(reduce .[] as $x (0; . + $x))`"),
        ("if .a then 1 else 2 end", "write `(if .a then 1 else 2 end)`"),
        ("1 + .a", "write `(1 + .a)`"),
        ("\"a\" + .b", "write `(\"a\" + .b)`"),
        ("@csv", "write `(@csv)`"),
        ("level == 1", "write `.level == 1` if `level` is a field"),
        ("not .a", "`not` comes last: write `(.a | not)`"),
        ("\"user\"", "a field is written as `.user`"),
        ("7", "as an expression it needs brackets: `(7)`"),
        (".a, .b", "an expression with a comma needs brackets"),
    ] {
        helped(&format!("jsonl | map({argument}) | csv"), help);
    }
    helped("jsonl | where(has(\"a\"))", "write `(has(\"a\"))`");
    helped("jsonl | sum(of: 1 + .a)", "write `(1 + .a)`");
    helped("jsonl | count(by: \"user\")", "a field is written as `.user`");
    let where_ = "write `select(.a > 1)` in the place of `map(select(.a > 1))`";
    helped("jsonl | map(select(.a > 1))", where_);
}

#[test]
fn the_message_for_an_expression_in_place_of_a_stage_names_map() {
    for (stage, help) in [
        (".a", "write `map(.a)`"),
        (".[]", "write `map(.[])`"),
        ("{a}", "write `map({a})`"),
        (".a = 1", "write `map(.a = 1)`"),
        (".a |= . + 1", "write `map(.a |= . + 1)`"),
        (".a, .b", "write `map((.a, .b))`"),
        ("del(.a)", "write `map((del(.a)))`"),
        ("to_entries", "write `map((to_entries))`"),
        ("if .a then . else empty end", "write `map((if .a then . else empty end))`"),
        ("add", "`sum(.qty)` is the sum"),
        ("unique_by(.a)", "`distinct(.user)`"),
    ] {
        helped(&format!("jsonl | {stage} | csv"), help);
    }
}

#[test]
fn an_argument_may_begin_with_a_sign() {
    let rows = "{\"a\":1}\n{\"a\":3}\n{\"a\":2}\n";
    check("jsonl | top(2, -.a) | map(.a)", &[rows], "1\n2\n");
    check("jsonl | map(-(.a + 1)) | take(1)", &[rows], "-2\n");
}

#[test]
fn the_message_for_a_late_row_names_a_lateness_that_would_take_it() {
    let rows = |late: u64| format!("{{\"t\":1000000}}\n{{\"t\":{}}}\n", 1_000_000 - late);
    for (set, late, advised) in [("0s", 61, "2m"), ("1m", 200, "5m"), ("1m", 86_400, "2d"), ("30s", 3599, "1h")] {
        let late = rows(late);
        let set = if set == "0s" { String::new() } else { format!(", late: {set}") };
        let out = of(&format!("jsonl | count(every: 1s, at: .t{set})"), &[&late]);
        let why = &out.dead[0].3;
        assert!(why.ends_with(&format!("`late: {advised}` would wait for it")), "{why}");
        let mended = of(&format!("jsonl | count(every: 1s, at: .t, late: {advised})"), &[&late]);
        assert_eq!(mended.dead, [], "{advised}");
    }
}

#[test]
fn small_mistakes_have_their_help() {
    helped("csv | count(every: 600, at: .t)", "a time has a unit: `600s`, `600ms` or `600m`");
    helped("csv | csv(\"x\") | table", "`let rows = ..; rows | csv(\"x\"); rows | table`");
    let wrong = Program::load("csv | fold({sum(.a)})", 1, false).map(drop).unwrap_err().to_string();
    assert!(wrong.contains("an aggregate has a name, as `total: sum(.qty)`"), "{wrong}");
}

#[test]
fn late_may_be_nothing_and_count_may_have_its_own_name() {
    let rows = "{\"t\":1}\n{\"t\":3}\n";
    let answer = "{\"start\":0,\"end\":10,\"count\":2}\n";
    check("jsonl | fold({count}, every: 10s, at: .t, late: 0s)", &[rows], answer);
    check("jsonl | fold({count, most: max(.t)})", &[rows], "{\"count\":2,\"most\":3}\n");
}

#[test]
fn a_sampled_type_that_does_not_fit_can_be_declared() {
    let why = |found: &str, of: &str| {
        format!(
            "expected a whole number, found {found}: the first rows had the type int; declare the schema with `n: {of}`"
        )
    };
    for (cell, of) in [("1.5", "float"), ("", "int?"), ("x", "text")] {
        let table = format!("n,k\n1,a\n{cell},b\n");
        let dead = ("csv", 2, ".n", &*why(&format!("{cell:?}"), of));
        check_dead("csv(sample: 1) | count", &[&table], "{\"count\":1}\n", &[dead]);
        check(&format!("csv(schema: {{n: {of}}}) | count"), &[&table], "{\"count\":2}\n");
    }
    let rows = "{\"n\":1}\n{\"n\":1.5}\n";
    check_dead("jsonl(sample: 1) | count", &[rows], "{\"count\":1}\n", &[("jsonl", 2, ".n", &why("1.5", "float"))]);
    let declared = ("csv", 2, ".n", "expected a whole number, found \"1.5\"");
    check_dead("csv(schema: {n: int}) | count", &["n\n1\n1.5\n"], "{\"count\":1}\n", &[declared]);
}

#[test]
fn the_quantiles_at_the_ends_are_the_least_and_the_greatest() {
    let rows = ["0.123456", "1e299", "-3.14159265", "2e-15", "7"].map(|n| format!("{{\"n\":{n}}}\n")).concat();
    check("jsonl | quantile(.n, 0)", &[&rows], "{\"quantile\":-3.14159265}\n");
    check("jsonl | quantile(.n, 1)", &[&rows], "{\"quantile\":1e299}\n");
    check("jsonl | where(.n > 6) | quantile(.n, 0.4)", &[&rows], "{\"quantile\":7.0}\n");
}

#[test]
fn quotes_within_texts_are_no_ends() {
    let rows = "{\"a\":\"1\\\"\"}\n";
    check("jsonl | fold({m: sum(.a | gsub(\"\\\"\"; \"\") | tonumber), n: count})", &[rows], "{\"m\":1,\"n\":1}\n");
    check("jsonl | fold({\"a:b,(c\": count})", &[rows], "{\"a:b,(c\":1}\n");
    check("csv(separator: \"\\t\") | csv", &["a\tb\n1\t2\n"], "a,b\n1,2\n");
    helped("csv(\"a\\q\") | jsonl", "escape sequences are");
}

#[test]
fn comments_in_expressions_are_no_part_of_names() {
    let table = "id,user\n1,ann\n2,ann\n";
    let text = "csv(schema: { # of the table
            id: int, # its number
            user: text # and {name}
        }) | where(.id > 0 # x = y
        ) | fold({ # all
            n: count,      # rows
            total: sum(.id # \"#\"
            )
            # the end
        }, by: .user # key
        )";
    check(text, &[table], "{\"user\":\"ann\",\"n\":2,\"total\":3}\n");
    check("jsonl | map({\"#a\": \"# \\(.a # b\n)\"})", &["{\"a\":1}\n"], "{\"#a\":\"# 1\"}\n");
}

#[test]
fn standard_output_is_no_file_for_dead_letters() {
    for source in ["csv", "jsonl", "lines", "tsv"] {
        let wrong = Program::load(&format!("{source}(dead: \"-\") | count"), 1, false).map(drop).expect_err(source);
        assert!(wrong.to_string().contains("`dead` is the name of a file"), "{wrong}");
    }
}

#[test]
fn what_a_name_from_elsewhere_is_here_can_be_typed() {
    for name in [
        "add",
        "avg",
        "cut",
        "filter",
        "first",
        "grep",
        "group_by",
        "last",
        "limit",
        "max_by",
        "median",
        "min_by",
        "p50",
        "p90",
        "p95",
        "p99",
        "percentile",
        "rate",
        "rename",
        "replace",
        "sed",
        "session",
        "sessionize",
        "sort",
        "tail",
        "tumble",
        "tumbling",
        "uniq",
        "unique",
        "wc",
        "window",
    ] {
        let wrong = Program::load(&format!("jsonl | {name}"), 1, false).map(drop).expect_err(name);
        let help = wrong.mistakes()[0].help.clone().unwrap_or_else(|| panic!("{wrong}"));
        let written: Vec<_> = help.split('`').skip(1).step_by(2).collect();
        assert!(!written.is_empty(), "{help}");
        for stage in written {
            Program::load(&format!("jsonl | {stage}"), 1, false).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        }
    }
}
