//! Texts with deep expressions: they are read on the stack of any thread, or refused with the place.

use millstream_mill::Program;
use std::thread;

/// The mistakes in a text, as a thread with the stack that tokio's have finds them.
fn mistakes(text: String) -> Vec<(usize, String)> {
    let load = move || match Program::load(&text, 1, false) {
        Ok(program) => {
            assert!(program.next(&text).is_ok());
            Vec::new()
        }
        Err(wrong) => {
            assert!(wrong.to_string().len() < 2000, "{wrong}");
            wrong.mistakes().iter().map(|mistake| (mistake.at.start, mistake.what.clone())).collect()
        }
    };
    thread::Builder::new().stack_size(2 << 20).spawn(load).expect("a thread").join().expect("no panic")
}

fn text(stage: &str, deep: &str) -> String {
    format!("jsonl | {stage}({deep}) | jsonl(\"c\")")
}

#[test]
fn a_deep_expression_of_any_stage_is_a_mistake_with_its_place() {
    let nest = |n: usize, before: &str, behind: &str| before.repeat(n) + ".a" + &behind.repeat(n);
    for (before, behind) in [("{a:", "}"), ("[", "]"), ("(1|", ")"), (".|", ""), ("(try ", ")"), ("(-", ")")] {
        for stage in ["map", "where", "sum", "distinct", "count"] {
            let begin = if stage == "count" { "by: " } else { "" };
            let of = |n| text(stage, &(begin.to_owned() + &nest(n, before, behind)));
            assert_eq!(mistakes(of(50)), [], "{before}, {stage}");
            for n in [800, 60_000 / (before.len() + behind.len())] {
                let found = mistakes(of(n));
                let [(at, what)] = &found[..] else { panic!("{before}, {stage}: {found:?}") };
                assert!(what.starts_with("this is more than 200 levels deep"), "{what}");
                let first = of(n).find('(').expect("a bracket") + begin.len();
                // A level has one byte at least, and all levels up to the limit come before the place.
                assert!((first + 100..of(n).len()).contains(at), "{before}, {stage}: {at}");
            }
        }
    }
}

#[test]
fn a_long_list_is_no_deep_expression() {
    let list: Vec<_> = (0..11_000).map(|n| n.to_string()).collect();
    assert_eq!(mistakes(text("where", &format!("(.a | IN({}))", list.join(",")))), []);
    assert_eq!(mistakes(text("map", &format!("[{}]", list.join(",")))), []);
    let fields: Vec<_> = (0..4000).map(|n| format!("f{n}: .a")).collect();
    assert_eq!(mistakes(text("map", &format!("{{{}}}", fields.join(", ")))), []);
}

/// Names and outputs are no levels.
#[test]
fn a_text_of_many_statements_is_no_deep_one() {
    let lets: String = (1..400).map(|n| format!("let a{n} = a{} | map(.a);", n - 1)).collect();
    assert_eq!(mistakes(format!("let a0 = jsonl; {lets} a399 | jsonl(\"c\")")), []);
    let outputs: String = (0..400).map(|n| format!("a | jsonl(\"f{n}\");")).collect();
    assert_eq!(mistakes(format!("let a = jsonl; {outputs}")), []);
}
