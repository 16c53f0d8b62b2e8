//! The calls of a program, their names, and the stages that it keeps.

use millstream_core::Arrow;
use millstream_registry::{Ends, In, Literal, Registry};
use std::time::Duration;

const ENDS: Ends = Ends { print: "print", both: "both" };

fn stages() -> Registry {
    let mut stages = Registry::default();
    stages.ty::<u64>("Input").ty::<i64>("Number").ty::<String>("Output");
    stages.stage("numbers", |n: In<u64>| n.map(|n| *n as i64));
    stages.stage_with("plus", ["n", "times"], |x: In<i64>, (n, times): (i64, Option<i64>)| {
        x.map(move |x| x + n * times.unwrap_or(1))
    });
    stages.stage("plus@2", |x: In<i64>| x.map(|x| x + 1));
    stages
        .stage_with("write", ["file"], |n: In<i64>, _: Option<String>| n.map(|n| n.to_string()))
        .named_by("file")
        .about("");
    stages.stage("print", |n: In<i64>| n.map(|n| n.to_string()));
    stages.stage("both", |both: (In<String>, In<String>)| both.map(|(a, b)| format!("{a} {b}")));
    stages
}

/// The names of a program's calls, and their text.
fn calls(text: &str) -> Vec<(String, String)> {
    let program = stages().program_of_calls::<u64, String>(text, &ENDS).unwrap_or_else(|wrong| panic!("{wrong}"));
    program.calls.iter().map(|call| (call.name.clone(), call.text.clone())).collect()
}

fn wrong(text: &str) -> String {
    stages().program::<u64, String>(text, &ENDS).map(drop).expect_err(text).to_string()
}

#[test]
fn every_call_has_a_name_of_its_own() {
    let text =
        "let plus = numbers | plus(1); plus | plus(2,\n  times: 3) | write(\"a b\"); plus | plus@2 | write; numbers";
    let expected = [
        ("numbers", "numbers"),
        ("plus", "plus(1)"),
        ("plus-2", "plus(2, times: 3)"),
        ("write a b", "write(\"a b\")"),
        ("plus-3", "plus@2"),
        ("write", "write"),
        ("numbers-2", "numbers"),
        ("print", "print"),
        ("both", "both"),
        ("both-2", "both"),
    ];
    let found = calls(text);
    let found: Vec<_> = found.iter().map(|(name, shown)| (name.as_str(), shown.as_str())).collect();
    assert_eq!(found, expected);
    let plan = stages().program::<u64, String>(text, &ENDS).unwrap().plan();
    let in_plan: Vec<_> = plan.stages.iter().map(|stage| stage.name.as_str()).collect();
    for (name, _) in expected {
        assert!(in_plan.contains(&name), "{name}: {in_plan:?}");
    }
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
}

#[test]
fn an_output_that_is_not_printed_is_a_mistake() {
    let mut stages = stages();
    stages.ty::<bool>("Flag").stage("even", |x: In<i64>| x.map(|x| x % 2 == 0));
    let said = stages.program::<u64, String>("numbers | even", &ENDS).map(drop).expect_err("a mistake").to_string();
    assert!(said.contains("`Flag`s cannot be an output: `print` does not take them"), "{said}");
}

#[test]
fn a_program_says_which_stages_it_keeps() {
    let keeps = |text: &str| stages().program_of_calls::<u64, String>(text, &ENDS).unwrap().keeps;
    assert_eq!(keeps("let a = numbers; a"), [""; 0]);
    assert_eq!(keeps("keep a; let a = numbers; let b = a | plus(1); b; keep b, \"print\""), ["a", "b", "print"]);
    // Without a name after it, `keep` is a name like any other.
    assert_eq!(calls("let keep = numbers; keep")[0].0, "keep");
    for (text, what) in [
        ("keep b; numbers", "no stage is named `b`"),
        ("numbers; keep \"write x\"", "no stage is named `write x`"),
        ("let a = numbers; keep a b; a", "`;` is expected here"),
        ("let a = numbers; a; keep a,", "a name is expected here"),
    ] {
        assert!(wrong(text).contains(what), "{text}: {}", wrong(text));
    }
    assert!(wrong("let total = numbers; total; keep totl").contains("did you mean `total`?"));
}

#[test]
fn expressions_are_equal_if_they_differ_in_comments_and_spaces() {
    let code = |text: &str| Literal::Code(text.to_owned());
    assert_eq!(code(".a*2"), code(".a * 2 # b\n"));
    assert_ne!(code(".a == \"b c\""), code(".a == \"bc\""));
    assert_ne!(code("3"), Literal::Whole(3));
    assert_ne!(Literal::Whole(3), Literal::Real(3.0));
}

#[test]
fn literals_are_shown_as_text_has_them() {
    let time = |ms| Literal::Time(Duration::from_millis(ms));
    for (literal, text) in [
        (Literal::Whole(-3), "-3"),
        (Literal::Real(2.0), "2.0"),
        (Literal::Truth(true), "true"),
        (Literal::Text("a \"b\"\\\n".to_owned()), "\"a \\\"b\\\"\\\\\\n\""),
        (time(1500), "1500ms"),
        (time(120_000), "2m"),
        (time(86_400_000), "1d"),
        (Literal::Code(".a".to_owned()), ".a"),
        (Literal::Code("length > 3".to_owned()), "`length > 3`"),
    ] {
        assert_eq!(literal.to_string(), text);
    }
}
