use millstream::prelude::*;
use millstream::registry::{Ends, In, Literal, Parameter, Registry, WrongCode};
use std::time::Duration;

pub(crate) struct Order {
    user: String,
    qty: u64,
}

pub(crate) fn registry() -> Registry {
    let mut stages = Registry::default();
    stages.ty::<u64>("Number").ty::<Order>("Order").ty::<String>("Text");
    let order = |n: &u64| Order { user: format!("user-{}", n % 3), qty: n % 7 };
    stages.stage("order", move |n: In<u64>| n.map(order)).about("an order, of its number");
    stages.stage("quote", |both: (In<Order>, In<u64>)| both.map(|(order, price)| order.qty * price));
    stages.stage_with("above", ["limit"], |n: In<u64>, limit: u64| n.filter(move |n| *n > limit)).about("larger ones");
    stages.stage_with("plus", ["n", "twice"], |x: In<u64>, (n, twice): (u64, bool)| {
        x.map(move |x| x + if twice { 2 * n } else { n })
    });
    stages.stage("total", |n: In<u64>| {
        n.scan(0, |sum, n| {
            *sum += n;
            *sum
        })
    });
    stages.stage("total@2", |n: In<u64>| {
        n.scan(100, |sum, n| {
            *sum += n;
            *sum
        })
    });
    stages.stage("three", |all: (In<u64>, In<u64>, In<u64>)| all.map(|(a, b, c)| a + b + c));
    stages.field("qty", |order: &Order| &order.qty).field("user", |order: &Order| &order.user);
    stages
}

const TEXT: &str = "|n| {
    // Comments are Rust's.
    let order = order(n);
    let price = quote(order, plus(order.qty, n: 3, twice: true));
    let big = above(price, limit: 20);
    let sum = total(big);
    three(big, sum, total@2(big))
}";

#[test]
fn text_means_its_statements() {
    let p = registry().load::<u64, u64>(TEXT).unwrap();
    let by_hand = wires!(|n: Val<u64>| {
        let order = n.map(|n| Order { user: String::new(), qty: n % 7 });
        let price = |order| order.qty * (order.qty + 6);
        let big = price.filter(|price| *price > 20);
        let sum = big.scan(0, |sum, n| {
            *sum += n;
            *sum
        });
        |big, sum| big + 2 * sum + 100
    });
    let expected = by_hand.model(0..200);
    assert!(expected.len() > 50);
    assert_eq!(p.model(0..200), expected);
    assert_eq!(Inline::default().collect((&p).from(0..200)).unwrap(), expected);
    for workers in 1..=3 {
        assert_eq!(Rings::new().workers(workers).ring(8).collect((&p).from(0..200)).unwrap(), expected);
    }
}

#[test]
fn a_pipe_is_a_call() {
    let piped = "|n| {
        let order = n | order; # a comment, as in a shell
        order | quote(plus(order.qty, n: 3, twice: true)) | above(20) | total
    }";
    let called = "|n| {
        let order = order(n);
        total(above(quote(order, plus(order.qty, 3, true)), limit: 20))
    }";
    let [piped, called] = [piped, called].map(|text| registry().load::<u64, u64>(text).unwrap().model(0..200));
    assert!(piped.len() > 50);
    assert_eq!(piped, called);
}

#[test]
fn a_text_runs_on_queues_if_its_registry_does() {
    let mut stages = Registry::<OnQueues>::empty();
    stages.stage_with("above", ["limit"], |n: In<u64>, limit: u64| n.filter(move |n| *n > limit));
    stages.stage_with("every", ["time", "code"], |n: In<u64>, (time, code): (Option<Duration>, Option<Code>)| {
        let add = time.map_or(0, |time| time.as_millis() as u64) + code.map_or(0, |code| code.0.len() as u64);
        n.map(move |n| n + add)
    });
    let p = stages
        .load::<u64, u64>("|n| { n | above(3) | every(2s, code: .a[f(\")\", 1)]) | every | every(code: `x, y`) }");
    let expected: Vec<u64> = (4..9).map(|n| n + 2000 + 13 + 4).collect();
    let p = p.unwrap();
    assert_eq!(p.model(0..9), expected);
    assert_eq!(Queues::new().collect((&p).from(0..9)).unwrap(), expected);
}

struct Code(String);

impl Parameter for Code {
    const WANTED: &'static str = "an expression";
    fn read(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Code(code) if !code.contains("bad") => Some(Code(code.clone())),
            _ => None,
        }
    }
    fn wrong(code: &str) -> Vec<WrongCode> {
        code.find("bad").map(|at| WrongCode { at: at..at + 3, what: "this is bad".to_owned() }).into_iter().collect()
    }
}

/// A registry of programs: `from` and `to` bound what the source `numbers` yields.
fn programs() -> (Registry, Ends) {
    let mut stages = Registry::default();
    stages.ty::<u64>("Input").ty::<i64>("Number").ty::<String>("Output");
    stages.stage_with("numbers", ["from"], |n: In<u64>, from: Option<u64>| {
        n.map(move |n| *n as i64 + from.unwrap_or(0) as i64)
    });
    stages.stage("double", |n: In<i64>| n.map(|n| n * 2));
    stages.stage("show", |n: In<i64>| n.map(|n| format!("<{n}>")));
    stages.stage("print", |n: In<i64>| n.map(|n| n.to_string()));
    stages.stage("both", |both: (In<String>, In<String>)| both.map(|(a, b)| format!("{a} {b}")));
    stages.stage_with("above", ["code"], |n: In<i64>, code: Code| n.filter(move |n| *n > code.0.len() as i64));
    (stages, Ends { print: "print", both: "both" })
}

#[test]
fn a_program_has_sources_and_outputs() {
    let (stages, ends) = programs();
    let run = |text: &str| stages.program::<u64, String>(text, &ends).map(|p| p.model(0..3));
    assert_eq!(run("numbers | double").unwrap(), ["0", "2", "4"]);
    assert_eq!(run("numbers(5) | show;").unwrap(), ["<5>", "<6>", "<7>"]);
    assert_eq!(run("let n = numbers(from: 1); n | show; n | double; double(n)").unwrap()[1], "<2> 4 4");
    let names = stages.program::<u64, String>("numbers | double | double", &ends).unwrap().plan();
    let names: Vec<_> = names.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["numbers", "double", "double-2", "print"]);
}

#[test]
fn mistakes_in_a_program_have_places() {
    let (stages, ends) = programs();
    let wrong = |text: &str| stages.program::<u64, String>(text, &ends).map(drop).unwrap_err().to_string();
    assert!(wrong("").contains("the text is empty"));
    assert!(wrong("let n = numbers;").contains("the text has no output"));
    assert!(wrong("number | show").contains("did you mean `numbers`?"), "{}", wrong("number | show"));
    let code = wrong("numbers | above(.a + bad, code: `bad`) | shw");
    for part in ["text:1:22\n   1 | ", "this is bad", "`code` is given twice", "did you mean `show`?"] {
        assert!(code.contains(part), "{part}: {code}");
    }
    // Of the last one of these outputs not even the type is right.
    assert!(wrong("numbers | show; numbers | above(.a + bad)").contains("this is bad"));
    assert!(wrong("numbers | show | double").contains("this is a `Output`"));
    assert!(wrong("numbers show").contains("`;` ends a statement"));
    assert!(wrong("numbers(1, 2)").contains("takes no more than 1 value here"));
    assert!(wrong("numbers(5x)").contains("neither a number nor a time"));
}

#[test]
fn wires_are_the_names_of_stages() {
    let plan = registry().load::<u64, u64>(TEXT).unwrap().plan();
    let names: Vec<_> = plan.stages.iter().map(|stage| stage.name.as_str()).collect();
    for name in ["order", "price", "big", "sum"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn the_input_can_be_the_output() {
    let p = registry().load::<u64, u64>("|n| { n }").unwrap();
    assert_eq!((p.model([3, 4]), p.collect([3, 4]).unwrap()), (vec![3, 4], vec![3, 4]));
    let users = registry().load::<u64, String>("|n| { order(n).user }").unwrap();
    assert_eq!(users.collect(0..2).unwrap(), ["user-0", "user-1"]);
    registry().load::<u64, u64>("|n| { let _seen = order(n); n }").unwrap();
}

#[test]
fn editors_get_the_stages() {
    let stages = registry().stages();
    let above = serde_json::to_value(&stages).unwrap()[0].clone();
    let limit = serde_json::json!({"name": "limit", "wanted": "a whole number, at least 0", "optional": false});
    let expected = serde_json::json!({
        "name": "above", "version": 1, "reads": ["Number"], "parameters": [limit], "output": "Number",
        "about": "larger ones",
    });
    assert_eq!(above, expected);
    let versions: Vec<_> = stages.iter().filter(|stage| stage.name == "total").map(|stage| stage.version).collect();
    assert_eq!(versions, [1, 2]);
}

#[test]
#[should_panic(expected = "the stage `total@2` is registered already")]
fn a_name_is_registered_once() {
    registry().stage("total@2", |n: In<u64>| n.map(|n| *n));
}
