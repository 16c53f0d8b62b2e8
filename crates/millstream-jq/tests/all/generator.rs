//! Random filters and random JSON.

use proptest::prelude::*;

/// A valid filter, most parts of which have a meaning for [`json`].
pub(crate) fn filter() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        ".",
        ".a",
        ".b",
        ".c",
        ".a.b",
        ".c.a",
        ".a?",
        ".[0]",
        ".[]",
        ".[]?",
        "..",
        "1",
        "-2",
        "0.5",
        "\"x\"",
        "null",
        "true",
        "empty",
        "[]",
        "{}",
        "length",
        "keys",
        "not",
        "type",
        "tostring",
        "tojson",
        "add",
        "first",
        "last",
        "sort",
        "floor",
        "\"\\(.a)-\\(.b)\"",
        "{a}",
        "{a, c: .b}",
        "ascii_downcase",
        "to_entries",
        "error",
        "@csv",
        "@json",
        "ascii",
    ]);
    leaf.prop_map(|leaf| format!("({leaf})")).prop_recursive(4, 24, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        let operators = ["|", ",", "+", "-", "*", "/", "//", "==", "<", "and", "or", "|="];
        prop_oneof![
            4 => (two.clone(), prop::sample::select(operators.to_vec())).prop_map(|((a, b), how)| format!("({a} {how} {b})")),
            2 => inner.clone().prop_map(|a| format!("select({a})")),
            1 => inner.clone().prop_map(|a| format!("[{a}]")),
            1 => inner.clone().prop_map(|a| format!("map({a})?")),
            1 => two.clone().prop_map(|(a, b)| format!("{{a: {a}, b: {b}}}")),
            1 => two.clone().prop_map(|(a, b)| format!("(try {a} catch {b})")),
            1 => two.clone().prop_map(|(a, b)| format!("({a} as $x | [$x, {b}])")),
            1 => two.clone().prop_map(|(a, b)| format!("(reduce {a} as $x (0; [., $x, {b}] | length))")),
            1 => (two, inner).prop_map(|((a, b), c)| format!("(if {a} then {b} else {c} end)")),
        ]
    })
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        (-20..20_i32).prop_map(|n| n.to_string()),
        (-9..9_i32).prop_map(|n| format!("{n}.50")),
        prop::sample::select(vec!["\"\"", "\"x y\"", "\"\\\"]\"", "\"{\\u00e9\"", "\"\u{e9}\\\\\""])
            .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let fields =
            prop::collection::vec((prop::sample::select(vec!["a", "b", "c", "d", "\\u0061"]), inner.clone()), 0..5);
        prop_oneof![
            1 => prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            2 => fields.prop_map(|fields| {
                let fields: Vec<String> = fields.iter().map(|(key, value)| format!("\"{key}\":\n{value}")).collect();
                format!("{{{}}}", fields.join(", "))
            }),
        ]
    })
}

/// Values with separators.
pub(crate) fn json() -> impl Strategy<Value = String> {
    let between = prop::sample::select(vec![" ", "\n", "\n\n", "\t", " # \"{[\n"]);
    prop::collection::vec((value(), between), 0..12)
        .prop_map(|values| values.iter().map(|(value, between)| format!("{value}{between}")).collect())
}
