use crate::meaning::registry;

/// Checks what is wrong with a text: each mistake without its place.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let wrong = registry().load::<u64, u64>(text).map(drop).expect_err(text);
    let found: Vec<_> = wrong.mistakes().iter().map(|mistake| mistake.what.as_str()).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn all_mistakes_are_reported_in_one_pass() {
    let text = "|n| {
    let order = order(n);
    let price = quoet(order, n);
    let other = quote(n, order);
    let big   = above(order.qti, limt: 3);
    let sum   = total(bog);
    let spare = total(n);
    order
}";
    let wrong = registry().load::<u64, u64>(text).map(drop).unwrap_err().in_file("orders.mill").to_string();
    let expected = "\
error: nothing reads `price`
  --> orders.mill:3:9
   3 |     let price = quoet(order, n);
     |         ^^^^^
     = help: name it `_price` if it is computed only for its effects
error: there is no stage `quoet`
  --> orders.mill:3:17
   3 |     let price = quoet(order, n);
     |                 ^^^^^ not in the registry of this program
     = help: did you mean `quote`?
";
    assert!(wrong.starts_with(expected), "{wrong}");
    let because = "\
error: `quote` reads a `Number` here
  --> orders.mill:4:26
   2 |     let order = order(n);
     |         ----- it comes from here
   4 |     let other = quote(n, order);
     |                          ^^^^^ this is a `Order`
";
    assert!(wrong.contains(because), "{wrong}");
    for part in [
        "a `Order` has no field `qti`",
        "did you mean `qty`?",
        "there is no wire `bog`",
        "did you mean `big`?",
        "nothing reads `spare`",
        "this program outputs `Number`s, but these are `Order`s",
    ] {
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
}

#[test]
fn calls_are_checked() {
    check("|n| { quote(n) }", &["`quote` reads 2 wires, but gets 1"]);
    check("|n| { above(n) }", &["`above` needs `limit`"]);
    check("|n| { above(n, limit: 1, limit: 2) }", &["`limit` is given twice"]);
    check("|n| { above(n, limit: -1) }", &["`limit` is a whole number, at least 0"]);
    check(
        "|n| { above(n, limit: 1.5, most: 2) }",
        &["`limit` is a whole number, at least 0", "`above` has no parameter `most`"],
    );
    check("|n| { total@3(n) }", &["there is no version 3 of `total`"]);
    check("|n| { let n = total(n); n }", &["`n` is bound twice"]);
    check("|n| { let a = total(b); let b = total(a); b }", &["nothing reads `n`", "there is no wire `b`"]);
}

#[test]
fn words_are_checked() {
    check("", &["`|` is expected here"]);
    check("|n| {", &["a name is expected here"]);
    check("|n| { }", &["the text has no output"]);
    check("|n| { n } n", &["more after the end of the block"]);
    check("|n| { let a total(n); let b = ; n }", &["`=` is expected here", "a name is expected here"]);
    check("|n| { total(n; }", &["`,` is expected here"]);
    check(
        "|n| { plus(n, n: \"x) }",
        &[
            "this text is not closed",
            "a parameter is a number, a time, a text in quotes, an expression, `true` or `false`",
        ],
    );
    check("|n| { total(n) & n }", &["`&` has no meaning here", "`}` is expected here"]);
}

#[test]
fn size_and_depth_are_limited() {
    let deep = |calls: usize| format!("|n| {{ {}n{} }}", "total(".repeat(calls), ")".repeat(calls));
    assert!(registry().load::<u64, u64>(&deep(64)).is_ok());
    let long = |calls: usize| format!("|n| {{ n{} }}", " | total".repeat(calls));
    assert!(registry().load::<u64, u64>(&long(64)).is_ok());
    check(&long(65), &["calls are nested more than 64 deep"]);
    check(&format!("|n| {{ order(n){} }}", ".qty".repeat(70)), &["calls are nested more than 64 deep"]);
    check(&deep(65), &["calls are nested more than 64 deep"]);
    check(&deep(5000), &["calls are nested more than 64 deep"]);
    check(&format!("|n| {{ n }}{}", " ".repeat(1 << 16)), &["the text is longer than 65536 bytes"]);
}

#[test]
fn a_message_stays_short_whatever_the_text_is() {
    let said = |text: &str| registry().load::<u64, u64>(text).map(drop).unwrap_err().to_string();
    let quotes = "'".repeat(60_000);
    let long = said(&quotes);
    assert!(long.len() < 20_000 && long.ends_with(" further mistakes"), "{}", long.len());
    // The place is shown below its character, in the middle of the line.
    let one = said(&format!("|_n| {{ {}nn{} }}", " ".repeat(200), " ".repeat(200)));
    let [_, _, line, marks] = one.lines().collect::<Vec<_>>()[..4] else { panic!("{one}") };
    let column = |text: &str, of: char| text.chars().position(|c| c == of);
    assert_eq!((column(line, 'n'), column(line, '…')), (column(marks, '^'), Some(7)), "{one}");
    assert!(line.ends_with('…') && line.chars().count() == 7 + 160 + 2, "{one}");
}
