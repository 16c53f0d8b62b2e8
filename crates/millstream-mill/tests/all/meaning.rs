use crate::running::{Way, blocks, of, run};
use millstream_core::ModelExt;
use millstream_mill::Program;

const ORDERS: &str = "id,user,qty,price\n1,ann,2,300\n2,bo,1,40\n3,ann,5,7.5\n4,\"cy, d\",3,\n";
const LOG: &str = "\
{\"at\": 0, \"service\": \"a\", \"ms\": 10}
{\"at\": 30, \"service\": \"b\", \"ms\": 20}
{\"at\": 65, \"service\": \"a\", \"ms\": 40}
{\"at\": 61.5, \"service\": \"a\", \"ms\": null}
{\"at\": 59, \"service\": \"a\", \"ms\": 1}
{\"at\": 130, \"service\": \"b\", \"ms\": 2.5}
";

#[track_caller]
pub(crate) fn check(text: &str, inputs: &[&str], expected: &str) {
    let out = of(text, inputs);
    assert_eq!(out.dead, [], "{text}");
    assert_eq!(out.sinks, [expected], "{text}");
}

#[track_caller]
pub(crate) fn check_dead(text: &str, inputs: &[&str], expected: &str, dead: &[(&str, u64, &str, &str)]) {
    let out = of(text, inputs);
    let found: Vec<_> =
        out.dead.iter().map(|(stage, number, path, why)| (&**stage, *number, &**path, &**why)).collect();
    assert_eq!((out.sinks[0].as_str(), &found[..]), (expected, dead), "{text}");
}

#[track_caller]
pub(crate) fn refused(text: &str, parts: &[&str]) {
    let wrong = Program::load(text, 1, false).map(drop).expect_err(text).to_string();
    for part in parts {
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
}

#[test]
fn rows_are_passed_on_as_they_are() {
    check("csv", &[ORDERS], ORDERS);
    check("csv | where(.qty > 2)", &[ORDERS], "id,user,qty,price\n3,ann,5,7.5\n4,\"cy, d\",3,\n");
    check(
        "csv | jsonl",
        &["a,b\n1,x\n2.50,\"y \"\"z\"\"\"\r\n"],
        "{\"a\":1,\"b\":\"x\"}\n{\"a\":2.50,\"b\":\"y \\\"z\\\"\"}\n",
    );
    check("jsonl", &["{\"a\": [1, 2]}\n\n 3 \n\"x\""], "{\"a\": [1, 2]}\n3\n\"x\"\n");
    check("lines", &["to be\nor not"], "to be\nor not\n");
    check("lines | jsonl", &["to \"be\"\n"], "\"to \\\"be\\\"\"\n");
    check("jsonl | lines", &["\"to\\tbe\"\n{\"a\":1}\n"], "to\tbe\n{\"a\":1}\n");
    check("tsv | csv", &["a\tb\n1,5\tx\n"], "a,b\n\"1,5\",x\n");
    check("csv(separator: \";\") | tsv", &["a;b\n1;x\n"], "a\tb\n1\tx\n");
    // A line without anything would be no row.
    let mails = "{\"mail\":\"\"}\n{\"mail\":\"x\"}\n{\"mail\":null}\n";
    check("jsonl | csv", &[mails], "mail\n\"\"\nx\n\"\"\n");
    check("csv | map(.mail)", &["mail\n\"\"\nx\n\"\"\n"], "\"\"\n\"x\"\n\"\"\n");
    check("csv | tsv", &["mail\n\"\"\nx\n"], "mail\n\"\"\nx\n");
    check("csv", &[""], "");
}

#[test]
fn rows_are_selected_and_mapped() {
    check("jsonl | select(.a > 1) | map({b: .a * 2})", &["{\"a\":1}\n{\"a\":2}\n"], "{\"b\":4}\n");
    check("jsonl | map(.[])", &["[1,[2]]\n[]\n"], "1\n[2]\n");
    check(
        "csv | map({user, total: (.qty * (.price // 1))}) | take(2) | skip(1)",
        &[ORDERS],
        "{\"user\":\"bo\",\"total\":40}\n",
    );
    check("lines | map(`split(\" \") | {word: .[0]}`)", &["to be\nor not\n"], "{\"word\":\"to\"}\n{\"word\":\"or\"}\n");
    check("csv | distinct(.user) | map(.id)", &[ORDERS], "1\n2\n4\n");
    check("lines | where(`test(\"^t\")`)", &["to\nor\n"], "to\n");
}

#[test]
fn folds_answer_at_the_end() {
    check("csv | count", &[ORDERS], "{\"count\":4}\n");
    check("csv | count", &["a\n"], "{\"count\":0}\n");
    check(
        "csv | count(by: .user)",
        &[ORDERS],
        "{\"user\":\"ann\",\"count\":2}\n{\"user\":\"bo\",\"count\":1}\n{\"user\":\"cy, d\",\"count\":1}\n",
    );
    check(
        "csv | sum(.qty * .price, by: .user, as: \"total\") | where(.total > 0)",
        &["qty,price,user\n2,1.5,a\n1,2,a\n0,7,b\n"],
        "{\"user\":\"a\",\"total\":5.0}\n",
    );
    check("csv | mean(.qty)", &[ORDERS], "{\"mean\":2.75}\n");
    check(
        "jsonl | min(.a, by: .k)",
        &["{\"a\":2,\"k\":1}\n{\"a\":\"x\",\"k\":1}\n{\"a\":null,\"k\":2}\n"],
        "{\"k\":1,\"min\":2}\n{\"k\":2,\"min\":null}\n",
    );
    check("jsonl | max(.a)", &["{\"a\":2}\n{\"a\":10}\n"], "{\"max\":10}\n");
    check("csv | top(2, .price) | map(.id)", &[ORDERS], "1\n2\n");
    check("csv | top(1, .price, by: .user) | map(.id)", &[ORDERS], "1\n2\n");
    check("csv | latest(by: .user) | map(.id)", &[ORDERS], "3\n2\n4\n");
    check(
        "csv | fold({n: count, all: sum(.qty), p: quantile(.qty, 0.5)}, by: {who: .user, big: (.qty > 2)}) | take(2)",
        &[ORDERS],
        "{\"who\":\"ann\",\"big\":false,\"n\":1,\"all\":2,\"p\":2.0}\n{\"who\":\"bo\",\"big\":false,\"n\":1,\"all\":1,\"p\":1.0}\n",
    );
    check("csv | count(by: .user) | top(1, .count)", &[ORDERS], "{\"user\":\"ann\",\"count\":2}\n");
}

#[test]
fn a_number_that_is_too_large_is_called_one() {
    let why = "`sum` adds numbers below 1.8e308, and .n is 1e400";
    let rows = "{\"n\":1e400}\n{\"n\":1}\n{\"n\":\"x\"}\n";
    let text = ("sum", 3, "", "`sum` adds numbers, and .n is \"x\"");
    check_dead("jsonl | sum(.n)", &[rows], "{\"sum\":1}\n", &[("sum", 1, "", why), text]);
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_row() {
    let rows = "\u{feff}{\"a\":1}\n{\"a\":2}\n";
    for source in ["jsonl", "jsonl(sample: 2)", "jsonl(schema: {a: int})"] {
        check(&format!("{source} | sum(.a)"), &[rows], "{\"sum\":3}\n");
    }
    check("csv | jsonl", &["\u{feff}a\n1\n"], "{\"a\":1}\n");
}

#[test]
fn a_condition_is_no_assignment() {
    for text in ["where(.a = 1)", "select(.a.b = \"=\")", "where(.x | .a = 1)", "where(.a=1 and .b == 2)"] {
        refused(&format!("jsonl | {text}"), &["`=` sets a field", "use `==` to compare"]);
    }
    let rows = "{\"a\":1,\"b\":\"=\"}\n";
    for text in [
        ".a == 1",
        ".a<=1",
        ".a >= 1 and .b != 2",
        ".b == \"=\"",
        "(.a = 2 | .a == 2)",
        ".a = 2 | .a == 2",
        "`.a |= 3`",
    ] {
        check(&format!("jsonl | where({text}) | count"), &[rows], "{\"count\":1}\n");
    }
}

#[test]
fn each_field_of_an_answer_has_a_name_of_its_own() {
    for (text, name) in [
        ("jsonl | count(by: .service, as: \"service\")", "service"),
        ("jsonl | count(by: .count)", "count"),
        ("jsonl | sum(.n, by: {sum: .a, b})", "sum"),
        ("jsonl | fold({k: count}, by: {k, b})", "k"),
        ("jsonl | count(every: 1m, at: .t, by: .start)", "start"),
        ("jsonl | max(.n, every: 1m, at: .t, as: \"end\")", "end"),
    ] {
        refused(text, &[&format!("two fields of the answer have the name `{name}`"), "any name"]);
    }
    check("jsonl | count(by: .end)", &["{\"end\":1}\n"], "{\"end\":1,\"count\":1}\n");
    check("jsonl | count(by: {a: .count}) | map(.a)", &["{\"count\":1}\n"], "1\n");
    check("jsonl | top(1, .n, by: .top) | map(.n)", &["{\"n\":1}\n"], "1\n");
}

#[test]
fn a_quote_without_an_end_is_a_dead_letter() {
    let why = "a quote at the beginning of a cell is not closed: the rest of the file became this row";
    for text in ["csv | count", "csv(schema: {id: int}) | count"] {
        check_dead(text, &["id,t\n1,a\n2,\"b\n3,c\n"], "{\"count\":1}\n", &[("csv", 2, "", why)]);
    }
    check("tsv | map(.t)", &["id\tt\n1\t\"b\nc\"\n"], "\"b\\nc\"\n");
}

#[test]
fn folds_of_nothing_have_an_answer() {
    for input in ["", "id,qty\n"] {
        check("csv | count", &[input], "{\"count\":0}\n");
    }
    check("jsonl | count | map(.count + 1)", &[""], "1\n");
    check("lines | fold({n: count, most: max(.), mean: mean(.)})", &[""], "{\"n\":0,\"most\":null,\"mean\":null}\n");
    check("jsonl | count(by: .k)", &[""], "");
    check("jsonl | top(3, .n)", &[""], "");
    check("jsonl | count(every: 1m, at: .t)", &[""], "");
    check("jsonl | sum(.n) | table", &[""], "sum\n---\n  0\n");
    let none = of("let a = csv; let b = jsonl; a | count | csv(\"x\"); b | count", &["", "1\n2\n"]);
    assert_eq!(none.sinks, ["count\n0\n", "{\"count\":2}\n"]);
}

#[test]
fn windows_close_by_event_time() {
    let why = "it is late: it is 6s behind the latest row, and its window has closed; `late: 10s` would wait for it";
    let late = ("count", 5, "", why);
    let counts = "\
{\"start\":0,\"end\":60,\"service\":\"a\",\"count\":1}
{\"start\":0,\"end\":60,\"service\":\"b\",\"count\":1}
{\"start\":60,\"end\":120,\"service\":\"a\",\"count\":2}
{\"start\":120,\"end\":180,\"service\":\"b\",\"count\":1}
";
    check_dead("jsonl | count(by: .service, every: 1m, at: .at)", &[LOG], counts, &[late]);
    let program = Program::load("jsonl | count(by: .service, every: 1m, at: .at)", 1, false).expect("a program");
    let written = program.pipeline.model(blocks(&program, &[LOG], 7));
    let dead: Vec<_> = written.iter().flat_map(|written| &written.dead).collect();
    let late = LOG.lines().nth(4).expect("five rows");
    assert_eq!(String::from_utf8_lossy(&dead[0].row), late, "the row itself, which a pipe has no more");
    let counts = counts.replacen("\"count\":1", "\"count\":2", 1);
    check("jsonl | count(by: .service, every: 1m, at: .at, late: 10s)", &[LOG], &counts);
    check(
        "jsonl | sum(.ms, session: 40s, at: .at, late: 1m)",
        &[LOG],
        "{\"start\":0,\"end\":105,\"sum\":71}\n{\"start\":130,\"end\":170,\"sum\":2.5}\n",
    );
    check(
        "jsonl | max(.n, every: 1h, at: .t)",
        &["{\"t\":\"2026-01-31T12:59:59Z\",\"n\":1}\n{\"t\":\"2026-01-31 13:00:00.5\",\"n\":2}\n"],
        "{\"start\":\"2026-01-31T12:00:00Z\",\"end\":\"2026-01-31T13:00:00Z\",\"max\":1}\n\
         {\"start\":\"2026-01-31T13:00:00Z\",\"end\":\"2026-01-31T14:00:00Z\",\"max\":2}\n",
    );
}

#[test]
fn rows_are_joined_with_those_before() {
    let users = "user,city\nann,Ulm\nbo,Rome\nann,Linz\n";
    let text =
        "let users = csv; let order = csv(schema: {id: int}); order | join(users, on: .user) | map([.id, .city])";
    check(
        text,
        &[users, ORDERS],
        "[\"1\",\"x\"]\n"
            .replace("[\"1\",\"x\"]\n", "[1,\"Ulm\"]\n[1,\"Linz\"]\n[2,\"Rome\"]\n[3,\"Ulm\"]\n[3,\"Linz\"]\n")
            .as_str(),
    );
    let text = "let users = csv; csv | join(users, on: .user, keep: true) | map({id, city}) | where(.city == null)";
    check(text, &[users, ORDERS], "{\"id\":4,\"city\":null}\n");
    let text = "let a = jsonl; jsonl | join(a, on: .k, with: .key, within: 10s, at: .t) | map(.n)";
    check(
        text,
        &[
            "{\"key\":1,\"t\":5,\"n\":\"a\"}\n{\"key\":1,\"t\":50,\"n\":\"b\"}\n",
            "{\"k\":1,\"t\":12}\n{\"k\":2,\"t\":12}\n",
        ],
        "\"a\"\n",
    );
}

#[test]
fn several_outputs_share_what_they_read() {
    let text = "let order = csv; order | where(.qty > 2) | map(.id) | jsonl(\"big\"); order | count(by: .user) | csv";
    let out = of(text, &[ORDERS]);
    assert_eq!(out.sinks, ["3\n4\n", "user,count\nann,2\nbo,1\n\"cy, d\",1\n"]);
    let out = of("let order = csv | where(.a.b > 1); order | jsonl; order | count | table(\"n\")", &["a\nx\n"]);
    assert_eq!((out.dead.len(), out.sinks[1].as_str()), (1, "count\n-----\n    0\n"), "{out:?}");
}

#[test]
fn a_table_is_aligned() {
    let table = "user   count\n-----  -----\nann        2\nbo         1\ncy, d      1\n";
    check("csv | count(by: .user) | table", &[ORDERS], table);
}

/// On a terminal, an answer at the end is aligned, unless windows were written before it.
#[test]
fn answers_on_a_terminal_are_aligned() {
    let on_a_terminal = |text: &str, input: &str| {
        let program = Program::load(text, 1, true).unwrap_or_else(|wrong| panic!("{wrong}"));
        let input = blocks(&program, &[input], 20);
        run(&program, input, Way::Inline).sinks.remove(0)
    };
    assert_eq!(on_a_terminal("csv | count", ORDERS), "count\n-----\n    4\n");
    assert_eq!(on_a_terminal("csv | map(.id)", ORDERS), "1\n2\n3\n4\n");
    let windows = on_a_terminal("jsonl | count(every: 1m, at: .at)", LOG);
    assert!(windows.starts_with("{\"start\":0,") && !windows.contains("--"), "{windows}");
}

#[test]
fn a_row_that_does_not_fit_is_a_dead_letter() {
    check_dead(
        "csv(schema: {qty: int, price: float}) | map(.id)",
        &[ORDERS],
        "1\n2\n3\n",
        &[("csv", 4, ".price", "expected a number, found \"\"")],
    );
    check_dead(
        "csv",
        &["a,b\n1\n1,2\n1,2,3\n"],
        "a,b\n1,2\n",
        &[
            ("csv", 1, "", "the row has 1 cell, and the header has 2"),
            ("csv", 3, "", "the row has 3 cells, and the header has 2"),
        ],
    );
    check_dead(
        "jsonl(schema: {a: int, b: text?})",
        &["{\"a\":1}\n{\"a\":1.5,\"b\":\"x\"}\n{\"b\":\"x\"}\n[1]\n{\"a\":2"],
        "{\"a\":1}\n",
        &[
            ("jsonl", 2, ".a", "expected a whole number, found 1.5"),
            ("jsonl", 3, ".a", "expected a whole number, found null"),
            ("jsonl", 4, "", "cannot index [1] with \"a\""),
            ("jsonl", 5, "", "not JSON: the input ends within a value"),
        ],
    );
    check_dead(
        "jsonl | sum(.a, by: .k)",
        &["{\"a\":\"x\",\"k\":1}\n{\"a\":2,\"k\":1}\nx\n"],
        "{\"k\":1,\"sum\":2}\n",
        &[("sum", 1, "", "`sum` adds numbers, and .a is \"x\""), ("jsonl", 3, "", "not JSON: expected a value")],
    );
    // Also where no field is read, and once for two branches.
    check_dead(
        "jsonl | count",
        &["{\"a\":1}\n{\"a\":\n"],
        "{\"count\":1}\n",
        &[("jsonl", 2, "", "not JSON: the input ends within a value")],
    );
    check_dead(
        "let rows = jsonl; rows | where(.a > 1) | jsonl; rows | count | jsonl(\"counts\")",
        &["{\"a\":1}\nx\n{\"a\":2}\n"],
        "{\"a\":2}\n",
        &[("jsonl", 2, "", "not JSON: expected a value")],
    );
    check_dead(
        "jsonl | csv",
        &["{\"a\":1}\n{\"a\":2,\"b\":3}\n{}\n4\n"],
        "a\n1\n\"\"\n",
        &[
            ("csv", 2, "", "there is no column \"b\"; the columns are a"),
            ("csv", 4, "", "a row of a table is an object"),
        ],
    );
    check_dead(
        "jsonl | map(.a | tonumber)",
        &["{\"a\":\"1\"}\n{\"a\":\"x\"}\n"],
        "1\n",
        &[("map", 2, "", "cannot parse \"x\" as JSON: expected a value")],
    );
    let why = "expected a whole number, found \"x\": the first rows had the type int; declare the schema with `a: any`";
    check_dead(
        "jsonl(sample: 2)",
        &["{\"a\":1}\n{\"a\":2}\n{\"a\":\"x\"}\n"],
        "{\"a\":1}\n{\"a\":2}\n",
        &[("jsonl", 3, ".a", why)],
    );
}

#[test]
fn a_text_that_is_wrong_has_all_its_mistakes() {
    refused("csv | where(.a >) | cuont(by: .b, evry: 5m) | table", &["-->", "expected term", "did you mean `count`?"]);
    refused("csv | count(by: .b, evry: 5m)", &["did you mean `every`?"]);
    refused("csv | count(every: 5m)", &["`count` with `every` needs `at`"]);
    refused("csv | count(every: 5m, session: 1m, at: .t)", &["takes `every` or `session`, not both"]);
    refused("csv | count(at: .t, late: 30s)", &["`count` with `late` needs `every` or `session`"]);
    refused("csv | fold({n: count}, by: .k, late: 30s)", &["`fold` with `late` needs `every` or `session`"]);
    refused("csv | latest(at: .t)", &["`latest` with `at` needs `every`, `session` or `each`"]);
    refused("csv | where(`now > 3`)", &["`now` is not supported", "the shell can write a time into the text"]);
    refused("csv | map(`[inputs]`)", &["`inputs` is not supported", "a fold or a join sees several"]);
    refused("csv | map({a, file: input_filename})", &["`input_filename` is not supported", "a row does not know its"]);
    refused("csv | map(`localtime`)", &["`localtime` is not supported", "`gmtime` is the same"]);
    refused("csv(schema: {a: number})", &["a type is int, float, bool, text or any"]);
    refused("csv | fold({n: cont})", &["an aggregate is `count`"]);
    refused("csv | fold({n: sum(.a + )})", &["expected term"]);
    refused("csv | table | count", &["`count` reads a `Rows` here", "this is a `Output`"]);
    refused("let a = csv; a; a | jsonl", &["two outputs go to standard output", "the second one"]);
    refused("let a = csv; a | csv(\"x\"); a | jsonl(\"x\")", &["two outputs go to \"x\"", "1:32", "the second one"]);
    refused("let a = csv;", &["the text has no output"]);
    refused("count", &["there is no wire `count`"]);
}

#[test]
fn a_guess_at_a_call_is_answered_by_the_call() {
    let guesses: [(&str, &[&str]); 15] = [
        ("jsonl \"f\" | where .n > 500 | count", &["write `jsonl(\"f\")`", "write `where(.n > 500)`"]),
        ("jsonl app.jsonl | count", &["write `jsonl(\"app.jsonl\")`; a stage follows after `|`"]),
        ("csv | take 3 | csv", &["write `take(3)`"]),
        ("let a = csv | where .level == 'x';\na | count", &["write `where(.level == 'x')`"]),
        ("csv | top 3 .qty", &["write `top(3, .qty)`"]),
        ("csv | {id}", &["`map({id})`"]),
        ("csv | count(by: .a, as: 'x')", &["texts are written in double quotes", "", "texts are written in"]),
        ("csv | count by .user", &["write `count(by: .user)`"]),
        ("csv | count(by=.user)", &["a parameter and its value are written as `by: .user`"]),
        ("csv | count(by: user)", &["a field is written as `.user`; any other expression needs brackets: `(user)`"]),
        ("csv | where(n > 3 and (m < 2), 1)", &["write `.n > 3 and (m < 2)` if `n` is a field"]),
        ("csv | map(length)", &["any other expression needs brackets: `(length)`"]),
        ("csv | where(.n > 10", &["`)` is expected here"]),
        ("csv | head(3)", &["`take(10)` is the first rows"]),
        ("csv | count(every: 1m)", &["`at: .time`, the time of a row, an expression of jq"]),
    ];
    for (text, helps) in guesses {
        let wrong = Program::load(text, 1, false).map(drop).expect_err(text);
        let found: Vec<_> = wrong.mistakes().iter().map(|mistake| mistake.help.clone().unwrap_or_default()).collect();
        assert_eq!(found.len(), helps.len(), "{wrong}");
        assert!(
            found.iter().zip(helps).all(|(found, help)| found.contains(help) || wrong.to_string().contains(help)),
            "{wrong}"
        );
    }
}

#[test]
fn the_message_for_a_text_without_a_source_lists_sources() {
    for text in ["count", "where(.n > 3) | count", "\"f.csv\" | count", ".n", "f.jsonl | count", "-3"] {
        let sqlite = if cfg!(feature = "sqlite") { "`sqlite`, " } else { "" };
        let help = "a program begins with a source: `csv`, `jsonl`, `lines`, ";
        refused(text, &[&format!("{help}{sqlite}`tsv`, such as `csv(\"FILE\")`")]);
    }
}
