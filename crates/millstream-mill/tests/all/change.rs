//! Whether a run can go on with another text.

use millstream_mill::{Allowed, Program};

pub(crate) fn load(text: &str, shards: usize) -> Program {
    Program::load(text, shards, false).unwrap_or_else(|wrong| panic!("{wrong}"))
}

pub(crate) fn next(program: &Program, text: &str) -> Program {
    program.next(text).unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Says that these keep their states.
pub(crate) fn keeps(stages: &[&str]) -> Allowed {
    Allowed { keeps: names(stages), ..Allowed::default() }
}

/// Says that the states of these are lost.
pub(crate) fn drops(stages: &[&str]) -> Allowed {
    Allowed { drops: names(stages), ..Allowed::default() }
}

/// The verdict on a run, without the stages that keep nothing.
fn check(old: &str, new: &str, allowed: &Allowed) -> Vec<String> {
    let old = load(old, 1);
    let next = next(&old, new);
    let check = old.check_upgrade(&next, allowed);
    assert_eq!(old.upgrade_to(&next, allowed).is_ok(), check.is_allowed());
    let states: Vec<_> = old.states().into_iter().chain(next.states()).collect();
    let is_of_state = |line: &str| {
        let named = line.get(9..).unwrap_or_default();
        let ends = |rest: &str| rest.is_empty() || [", ", " (", ": "].iter().any(|end| rest.starts_with(end));
        named.starts_with("the ends: ")
            || states.iter().any(|state| named.strip_prefix(state.as_str()).is_some_and(ends))
    };
    check.to_string().lines().filter(|line| is_of_state(line)).map(str::to_owned).collect()
}

#[track_caller]
fn is_so(old: &str, new: &str, allowed: &Allowed, lines: &[&str]) {
    assert_eq!(check(old, new, allowed), lines, "{old} to {new}");
}

const OLD: &str = "let big = jsonl | where(.n > 3); let total = big | sum(.n, by: .k); total | csv(\"sums\")";

#[test]
fn a_state_goes_on_in_the_stage_of_its_name() {
    let kept = ["kept     total, with its state", "kept     csv sums, with its state"];
    is_so(OLD, OLD, &Allowed::default(), &kept);
    // The names of what keeps nothing do not matter, nor does the order of statements.
    let same = "let x = jsonl; let y = x | where(.n > 3); let total = y | sum(.n, by: .k); total | csv(\"sums\")";
    is_so(OLD, same, &Allowed::default(), &kept);
    // Calls in other places, and of what was not there.
    let more = "let x = jsonl; x | count | jsonl(\"n\"); let big = x | where(.n > 3);
                let total = big | sum(.n, by: .k); total | csv(\"sums\"); big | csv(\"big\")";
    let all = [
        "new      count (scan_finish), with a state that begins fresh",
        kept[0],
        kept[1],
        "new      csv big (scan_finish), with a state that begins fresh",
    ];
    is_so(OLD, more, &Allowed::default(), &all);
}

#[test]
fn comments_and_spaces_in_expressions_change_nothing() {
    let kept = ["kept     total, with its state", "kept     csv sums, with its state"];
    let spaced = OLD.replace(".n > 3", ".n>3 # large\n").replace("sum(.n,", "sum( .n # all\n, ");
    assert_ne!(spaced, OLD);
    is_so(OLD, &spaced, &Allowed::default(), &kept);
    let calls = |text: &str| load(text, 1).calls().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(calls(&spaced), calls(OLD));
    let (one, other) = ("jsonl | sum(.n*2 + 1)", "jsonl | sum( .n * 2+1 )");
    is_so(one, other, &Allowed::default(), &["kept     sum, with its state", "kept     print, with its state"]);
    assert_ne!(calls("jsonl | where(.a == \"b c\")"), calls("jsonl | where(.a == \"bc\")"));
}

#[test]
fn a_kept_stage_that_has_changed_is_confirmed() {
    for (changed, why) in [
        (OLD.replace("> 3", "> 5"), "it reads `where(.n > 5)`, and read `where(.n > 3)`"),
        (OLD.replace("by: .k", "by: .user"), "its parameter `by` was `.k` and is now `.user`"),
        (
            OLD.replace("sum(.n, by: .k)", "sum(.n, by: .k, as: \"all\")"),
            "its parameter `as` was not given and is now `\"all\"`",
        ),
        (OLD.replace("big | sum", "big | map({k, n}) | sum"), "it reads `map({k, n})`, and read `where(.n > 3)`"),
    ] {
        let sink = "kept     csv sums, with its state";
        let refused = format!("refused  total: {why}: `keep total` keeps its state nevertheless");
        is_so(OLD, &changed, &Allowed::default(), &[&refused, sink]);
        let kept = ["kept     total, with its state", sink];
        is_so(OLD, &changed, &keeps(&["total"]), &kept);
        is_so(OLD, &format!("keep total; {changed}"), &Allowed::default(), &kept);
        is_so(OLD, &format!("{changed}; keep \"total\""), &Allowed::default(), &kept);
    }
    // A stage without a name of its own is counted, so that another one may get its name.
    let (old, new) = ("jsonl | count", "let a = jsonl; a | where(.n) | count; a | count | jsonl(\"n\")");
    let why = "it reads `where(.n)`, and read `jsonl`: `keep count` keeps its state nevertheless";
    let lines = check(old, new, &Allowed::default());
    assert!(lines.contains(&format!("refused  count: {why}")), "{lines:?}");
    // A state after another one that has changed.
    let old = "let few = jsonl | take(3); let n = few | count; n";
    let why = "it reads `take(4)`, and read `take(3)`: `keep n` keeps its state nevertheless";
    let lines = check(old, &old.replace('3', "4"), &keeps(&["few"]));
    assert_eq!(lines[..2], ["kept     few, with its state".to_owned(), format!("refused  n: {why}")]);
}

#[test]
fn a_state_that_would_be_lost_is_dropped_by_name() {
    let gone = "jsonl | where(.n > 3) | csv(\"sums\")";
    let lost = "refused  total: the new text has no such stage to take the state of `sum(.n, by: .k)`";
    is_so(OLD, gone, &Allowed::default(), &["kept     csv sums, with its state", lost]);
    let dropped = ["kept     csv sums, with its state", "dropped  total (scan_finish), with its state"];
    is_so(OLD, gone, &drops(&["total"]), &dropped);
    let fresh = [
        "new      total (scan_finish), with a state that begins fresh",
        "kept     csv sums, with its state",
        "dropped  total (scan_finish), with its state",
    ];
    is_so(OLD, OLD, &drops(&["total"]), &fresh);
}

#[test]
fn a_state_of_another_stage_is_another_state() {
    let of = |stage: &str| format!("let x = jsonl | {stage}; x");
    for (old, new) in [
        ("sum(.n)", "count"),
        ("min(.n)", "max(.n)"),
        ("take(3)", "skip(3)"),
        ("count", "count(by: .k)"),
        ("count(every: 1m, at: .t)", "count(every: 2m, at: .t)"),
        ("count(every: 1m, at: .t)", "count(session: 1m, at: .t)"),
        ("count", "distinct(.k)"),
        ("fold({a: sum(.n)})", "fold({b: sum(.n)})"),
        ("fold({a: sum(.n), b: count})", "fold({b: count, a: sum(.n)})"),
    ] {
        let why = format!("refused  x: its state is that of `{old}`, and `{new}` keeps a different state");
        let print = "kept     print, with its state";
        is_so(&of(old), &of(new), &keeps(&["x"]), &[&why, print]);
        let fresh = [
            "new      x (scan_finish), with a state that begins fresh",
            print,
            "dropped  x (scan_finish), with its state",
        ];
        is_so(&of(old), &of(new), &drops(&["x"]), &fresh);
    }
    for (old, new) in [("top(2, .n)", "top(3, .n)"), ("quantile(.n, 0.5)", "quantile(.n, 0.9)")] {
        is_so(&of(old), &of(new), &keeps(&["x"]), &["kept     x, with its state", "kept     print, with its state"]);
    }
}

#[test]
fn a_sink_goes_with_its_file() {
    let text = |sink: &str| format!("jsonl | where(.n > 3) | {sink}");
    let fresh = |name: &str| format!("new      {name} (scan_finish), with a state that begins fresh");
    let gone = "dropped  csv a (scan_finish), with its state";
    is_so(&text("csv(\"a\")"), &text("csv(\"b\")"), &Allowed::default(), &[&fresh("csv b"), gone]);
    is_so(&text("csv(\"a\")"), &text("jsonl"), &Allowed::default(), &[gone]);
    let other = text("csv(\"a\", separator: \";\")");
    let why = "refused  csv a: its parameter `separator` was not given and is now `\";\"`: \
               `keep \"csv a\"` keeps its state nevertheless";
    is_so(&text("csv(\"a\")"), &other, &Allowed::default(), &[why]);
    // What it reads does not matter.
    let more = "jsonl | where(.n > 9) | map({n}) | csv(\"a\")";
    is_so(&text("csv(\"a\")"), more, &Allowed::default(), &["kept     csv a, with its state"]);
    let named = |file: &str| format!("let x = jsonl | csv(\"{file}\"); x");
    let lines =
        ["new      x (scan_finish), with a state that begins fresh", "dropped  x (scan_finish), with its state"];
    is_so(&named("a"), &named("b"), &Allowed::default(), &lines);
    let why = "refused  table a: it may have rows that are not written yet, \
               and the new text has no such stage to write them";
    is_so(&text("table(\"a\")"), &text("jsonl"), &Allowed::default(), &[why]);
    let dropped = "dropped  table a (scan_finish), with its state";
    is_so(&text("table(\"a\")"), &text("jsonl"), &drops(&["table a"]), &[dropped]);
}

#[test]
fn the_sources_are_those_of_the_run() {
    let old = "let a = csv(\"a\"); let b = jsonl(\"b\", dead: \"d\"); a | jsonl(\"x\"); b | jsonl(\"y\")";
    let refused = |new: &str, expected: &[&str]| {
        let lines: Vec<_> = expected.iter().map(|why| format!("refused  the ends: {why}")).collect();
        assert_eq!(check(old, new, &Allowed::default()), lines, "{new}");
    };
    refused("jsonl(\"b\") | jsonl(\"y\"); csv(\"a\") | lines(\"z\")", &[]);
    let strange = |call: &str| format!("the run cannot add the source `{call}`: it goes on with its own");
    let gone = |call: &str| format!("the run goes on reading `{call}`, and the new text has no such source");
    refused(
        "csv(\"a\", sample: 5) | jsonl(\"x\")",
        &[&strange("csv(\"a\", sample: 5)"), &gone("csv(\"a\")"), &gone("jsonl(\"b\", dead: \"d\")")],
    );
    let twice = "csv(\"a\") | jsonl(\"x\"); csv(\"a\") | jsonl(\"y\"); jsonl(\"b\") | jsonl(\"z\")";
    refused(twice, &[&strange("csv(\"a\")")]);
    // `a` is read first.
    let join = "csv(\"a\") | join(jsonl(\"b\"), on: .k) | jsonl(\"z\")";
    let order =
        "a join needs `jsonl(\"b\", dead: \"d\")` before `csv(\"a\")`, and the run reads them in the other order";
    assert!(check(old, join, &Allowed::default()).contains(&format!("refused  the ends: {order}")));
    let lines = check(old, "jsonl(\"b\") | join(csv(\"a\"), on: .k) | jsonl(\"z\")", &Allowed::default());
    assert_eq!(lines, ["new      join (scan_finish), with a state that begins fresh"]);
}

#[test]
fn wrong_texts_are_refused_with_all_mistakes() {
    let program = load(OLD, 1);
    let wrong = program.next("jsonl | cuont | where(.n >); keep all").map(drop).unwrap_err().to_string();
    for part in ["there is no stage `cuont`", "expected term, found the end"] {
        assert!(wrong.contains(part), "{wrong}");
    }
    for (text, what) in [
        ("let all = jsonl | count; all; keep al", "no stage is named `al`"),
        ("let all = jsonl | count; all; keep all, nosuch;", "no stage is named `nosuch`"),
        ("jsonl | count; keep ;", "nothing"),
    ] {
        let wrong = Program::load(text, 1, false).map(drop).expect_err(text).to_string();
        assert!(what == "nothing" || wrong.contains(what), "{text}: {wrong}");
    }
    // Alone it is a name as any other.
    load("let keep = jsonl | count; keep; keep keep", 1);
}

/// A text that took the place of others has the same numbers in another process.
#[test]
fn the_numbers_of_a_text_can_be_stored() {
    let texts = [
        "let a = jsonl(\"a\", dead: \"d\"); let b = jsonl(\"b\"); a | join(b, on: .k) | csv(\"x\"); b | jsonl(\"y\")",
        "let b = jsonl(\"b\", dead: \"e\"); let a = jsonl(\"a\", dead: \"d\"); b | jsonl(\"z\"); a | csv(\"x\")",
        "let b = jsonl(\"b\", dead: \"e\"); let a = jsonl(\"a\", dead: \"f\"); b | jsonl(\"y\"); a | map(.k)",
        "let a = jsonl(\"a\", dead: \"d\"); let b = jsonl(\"b\"); a | csv(\"x\"); b | jsonl(\"y\")",
    ];
    let mut program = load(texts[0], 1);
    for (n, text) in texts.into_iter().enumerate() {
        let before = program.numbers();
        if n > 0 {
            program = next(&program, text);
        }
        let numbers = program.numbers();
        assert!(numbers.go_on_from(&before) && (n == 0 || !before.go_on_from(&numbers)));
        let again = Program::load_again(text, &numbers, 1, false).expect("the same text");
        assert_eq!(
            (again.numbers(), again.writes(), &again.order),
            (numbers.clone(), program.writes(), &program.order)
        );
        assert_eq!((&again.sources, &again.sinks, &again.dead), (&program.sources, &program.sinks, &program.dead));
        let to = |program: &Program| (0..program.dead.len()).map(|n| program.dead_to(n)).collect::<Vec<_>>();
        assert_eq!(to(&again), to(&program));
        assert!(again.check_upgrade(&next(&again, text), &Allowed::default()).is_allowed());
        let other = Program::load_again("jsonl(\"a\") | count", &numbers, 1, false).map(drop).unwrap_err();
        assert!(other.to_string().contains("belong to another text"), "{other}");
        // Another text of the same sources.
        let text = format!("{text}; b | jsonl(\"another\")");
        assert!(Program::load_again(&text, &numbers, 1, false).is_err());
        program = again;
    }
    assert_eq!(program.dead.len(), 6);
    assert_eq!((0..6).map(|n| program.dead_to(n)).collect::<Vec<_>>(), [4, 5, 5, 4, 4, 5]);
}
