//! Values that are one key.

use crate::meaning::{check, check_dead};

#[test]
fn numbers_that_are_equal_are_one_key() {
    let rows = "{\"n\":1}\n{\"n\":1.0}\n{\"n\":10e-1}\n{\"n\":\"1\"}\n";
    check("jsonl | count(by: .n)", &[rows], "{\"n\":1,\"count\":3}\n{\"n\":\"1\",\"count\":1}\n");
    check("jsonl | count(by: {n})", &[rows], "{\"n\":1,\"count\":3}\n{\"n\":\"1\",\"count\":1}\n");
    check("jsonl | distinct(.n) | map(.n)", &[rows], "1\n\"1\"\n");
    let prices = "price,name\n1,a\n1.50,b\n";
    let text = "let a = csv(\"a\", schema: {price: float}); jsonl(\"b\") | join(a, on: .price) | map(.name)";
    check(text, &[prices, "{\"price\":1.5}\n{\"price\":1.0}\n"], "\"b\"\n\"a\"\n");
}

#[test]
fn several_values_are_one_key_of_distinct() {
    let rows = "{\"t\":0,\"a\":1,\"b\":23}\n{\"t\":1,\"a\":12,\"b\":3}\n{\"t\":2,\"a\":1.0,\"b\":23}\n";
    check("jsonl | distinct((.a, .b)) | map(.t)", &[rows], "0\n1\n");
    check("jsonl | distinct((.a, .b), most: 2) | map(.t)", &[rows], "0\n1\n");
    // One list is not two values, and no value is not an empty one.
    let rows = "{\"t\":0,\"k\":[[1,2]]}\n{\"t\":1,\"k\":[1,2]}\n{\"t\":2,\"k\":[]}\n{\"t\":3,\"k\":[\"\"]}\n{\"t\":4,\"k\":[]}\n";
    check("jsonl | distinct(.k[]) | map(.t)", &[rows], "0\n1\n2\n3\n");
}

#[test]
fn answers_are_in_the_order_of_the_keys() {
    let rows = "{\"k\":\"a\",\"t\":1}\n{\"k\":10,\"t\":2}\n{\"k\":9,\"t\":3}\n{\"k\":null,\"t\":4}\n";
    let later = format!("{rows}{{\"k\":9,\"t\":99}}\n{{\"k\":10,\"t\":98}}\n");
    let all = "null\n9\n10\n\"a\"\n";
    check("jsonl | count(by: .k) | map(.k)", &[rows], all);
    check("jsonl | count(by: .k, each: 4) | map(.k)", &[rows], all);
    check("jsonl | count(by: .k, every: 10s, at: .t) | map(.k)", &[&later], &format!("{all}9\n10\n"));
    // Sessions that end at one time, and at others.
    let rows = "{\"k\":10,\"t\":2}\n{\"k\":9,\"t\":2}\n{\"k\":1,\"t\":3}\n";
    check("jsonl | count(by: .k, session: 5s, at: .t) | map(.k)", &[rows], "9\n10\n1\n");
}

#[test]
fn objects_that_are_equal_are_one_key_and_the_first_one_is_shown() {
    let rows =
        "{\"t\":0,\"k\":{\"b\":2,\"a\":1}}\n{\"t\":1,\"k\":{\"a\":1,\"b\":2.0}}\n{\"t\":9,\"k\":{\"a\":1,\"b\":2}}\n";
    check("jsonl | count(by: .k)", &[rows], "{\"k\":{\"b\":2,\"a\":1},\"count\":3}\n");
    check("jsonl | map(.k) | count(by: .)", &[rows], "{\"b\":2,\"a\":1,\"count\":3}\n");
    check("jsonl | map([{k}]) | count(by: .)", &[rows], "{\"key\":[{\"k\":{\"b\":2,\"a\":1}}],\"count\":3}\n");
    check("jsonl | count(by: {z: .k.b, y: .k.a})", &[rows], "{\"z\":2,\"y\":1,\"count\":3}\n");
    check(
        "jsonl | sum(.k.b, by: .k, every: 5s, at: .t) | map({k, sum})",
        &[rows],
        "{\"k\":{\"b\":2,\"a\":1},\"sum\":4.0}\n{\"k\":{\"a\":1,\"b\":2},\"sum\":2}\n",
    );
    check("jsonl | count(by: .k, session: 5s, at: .t) | map(.count)", &[rows], "2\n1\n");
    check("jsonl | distinct(.k) | map(.t)", &[rows], "0\n");
    let text = "let a = jsonl; jsonl(\"b\") | join(a | where(.t == 0), on: .k) | map(.t)";
    check(text, &[rows, "{\"k\":{\"a\":1,\"b\":2},\"t\":7}\n"], "7\n");
}

#[test]
fn a_key_that_is_more_than_a_path_is_named_key() {
    let rows = "{\"a\":{\"b\":1},\"x\":1,\"y\":1}\n";
    for (key, answer) in [
        (".a.b", "\"b\":1"),
        (".a.\"b\"", "\"b\":1"),
        (".x > 0.5", "\"key\":true"),
        (".x / 0.5", "\"key\":2"),
        (".x == .y", "\"key\":true"),
        (".x * .a.b", "\"key\":1"),
    ] {
        check(&format!("jsonl | count(by: {key})"), &[rows], &format!("{{{answer},\"count\":1}}\n"));
    }
}

#[test]
fn a_row_that_cannot_be_joined_is_a_dead_letter_alone() {
    let text = "let a = jsonl; a | join(a, on: .[0], keep: true)";
    let dead = ("join", 2, "", "only objects can be joined");
    check_dead(text, &["[1,2]\n[1,3]\n"], "[1,2]\n", &[dead]);
}

#[test]
fn a_path_has_its_name_whatever_the_values_are() {
    let rows = "{\"k\":\"s\"}\n{\"k\":{\"n\":5}}\n{\"k\":{}}\n";
    let answers = "{\"k\":\"s\",\"count\":1}\n{\"k\":{},\"count\":1}\n{\"k\":{\"n\":5},\"count\":1}\n";
    check("jsonl | count(by: .k)", &[rows], answers);
    check("jsonl | count(by: {k})", &[rows], answers);
    check("jsonl | map({a: .}) | count(by: .a.k)", &[rows], answers);
    let answers = "{\"key\":\"s\",\"count\":1}\n{\"count\":1}\n{\"n\":5,\"count\":1}\n";
    check("jsonl | count(by: (.k // 0))", &[rows], answers);
}

/// A name that only the rows have cannot be refused when the text is read.
#[test]
fn a_key_with_the_name_of_an_answer_has_one_of_its_own() {
    let rows = "{\"count\":7}\n{\"n\":7}\n";
    check("jsonl | count(by: .)", &[rows], "{\"key\":{\"count\":7},\"count\":1}\n{\"n\":7,\"count\":1}\n");
    let rows = "{\"end\":\"count\"}\n";
    check("jsonl | count(by: .)", &[rows], "{\"end\":\"count\",\"count\":1}\n");
    let rows = "{\"end\":1,\"t\":0}\n";
    let answer = "{\"start\":0,\"end\":60,\"key\":{\"end\":1,\"t\":0},\"count\":1}\n";
    check("jsonl | count(by: ., every: 1m, at: .t)", &[rows], answer);
}
