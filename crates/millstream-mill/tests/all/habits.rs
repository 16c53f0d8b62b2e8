//! What those who know jq expect.

use crate::meaning::{check, check_dead};

#[test]
fn what_is_written_is_json() {
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
