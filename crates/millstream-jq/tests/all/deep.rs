//! Filters that are nested or chained: each length that fits into a text of a program works on the stack of a thread,
//! or is refused with a message.

use millstream::jq::{Expression, Fields, Filter, Input, Options, Outputs};
use std::thread;

/// The longest text of a program.
const TEXT: usize = 1 << 16;

/// A name, and a filter with `n` levels, brackets or links.
type Deep = (&'static str, fn(usize) -> String);

fn nest(n: usize, before: &str, middle: &str, behind: &str) -> String {
    before.repeat(n) + middle + &behind.repeat(n)
}

fn chain(n: usize, link: &str, operator: &str) -> String {
    vec![link; n + 1].join(operator)
}

const DEEP: [Deep; 58] = [
    ("objects", |n| nest(n, "{a:", ".a", "}")),
    ("other objects", |n| nest(n, "{(\"a\"):", "length", "}")),
    ("arrays", |n| nest(n, "[", ".a", "]")),
    ("brackets", |n| nest(n, "(", ".a", ")")),
    ("pipes", |n| chain(n, ".", "|")),
    ("pipes of calls", |n| chain(n, "length", "|")),
    ("sums", |n| chain(n, "1", "+")),
    ("sums of calls", |n| chain(n, "length", "+")),
    ("products", |n| chain(n, ".a", "*")),
    ("quotients", |n| chain(n, ".a", "/")),
    ("remainders", |n| chain(n, ".a", "%")),
    ("commas", |n| chain(n, "1", ",")),
    ("an array", |n| format!("[{}]", chain(n, "1", ","))),
    ("an array of calls", |n| format!("[{}] | length", chain(n, "length", ","))),
    ("alternatives", |n| chain(n, ".b", "//")),
    ("or", |n| chain(n, ".b", " or ")),
    ("or of calls", |n| chain(n, "(length == 0)", " or ")),
    ("and", |n| chain(n, ".a", " and ")),
    ("comparisons", |n| chain(n, "length", "==")),
    ("updates", |n| chain(n, ".a", "|=")),
    ("assignments", |n| chain(n, ".a", "=")),
    ("sums in updates", |n| chain(n, ".a", "+=")),
    ("try", |n| nest(n, "try ", ".a", "")),
    ("catch", |n| nest(n, "try error catch ", ".", "")),
    ("signs", |n| nest(n, "-", ".a", "")),
    ("if", |n| nest(n, "if .a then ", "1", " else 2 end")),
    ("conditions", |n| nest(n, "if ", ".a", " then 1 else 2 end")),
    ("elif", |n| format!("if .b then 1 {} else 3 end", "elif .b then 2 ".repeat(n))),
    ("texts", |n| nest(n, "\"\\(", ".a", ")\"")),
    ("formats", |n| nest(n.min(20), "@json \"\\(", ".a", ")\"")),
    ("variables", |n| nest(n, ". as $x | ", "$x", "")),
    ("labels", |n| nest(n, "label $x | ", ".", "")),
    ("sources of reduce", |n| nest(n, "reduce ", ".", " as $x (0; 1)")),
    ("reduce", |n| nest(n, "reduce . as $x (0; ", ".", ")")),
    ("foreach", |n| nest(n, "foreach . as $x (0; ", ".", "; .)")),
    ("nested definitions", |n| nest(n, "def f: ", ".", "; f")),
    ("definitions behind each other", |n| nest(n, "def f: .; 1 | ", ".", "")),
    ("definitions that call each other", |n| {
        let each = (1..=n).map(|k| format!("def f{k}: f{};", k - 1));
        format!("def f0: .; {} f{n}", each.collect::<String>())
    }),
    ("definitions in definitions", |n| nest(n, "def f: def g: .; ", ".", "; f")),
    ("arguments", |n| nest(n, "def f(g): g; f(", ".", ")")),
    ("fields", |n| format!("{{{}}}", (0..n).map(|n| format!("f{n}:.a")).collect::<Vec<_>>().join(","))),
    ("other fields", |n| {
        format!("{{{}}} | length", (0..n).map(|n| format!("f{n}:length")).collect::<Vec<_>>().join(","))
    }),
    ("escape sequences", |n| format!("\"{}\" | length", "\\n".repeat(n))),
    ("interpolations", |n| format!("\"{}\"", "\\(.a)".repeat(n))),
    ("a path", |n| format!(".{}a", "b.".repeat(n))),
    ("a path of texts", |n| format!(".{}", "[\"b\"]".repeat(n + 1))),
    ("a changed path", |n| format!(".{}a |= 1", "b.".repeat(n))),
    ("question marks", |n| nest(n, "", ".a", "?")),
    ("calls", |n| nest(n, "map(", ".", ")")),
    ("conditions of rows", |n| nest(n, "select(", ".a", ")")),
    ("first", |n| nest(n, "first(", ".", ")")),
    ("limits", |n| nest(n, "limit(1; ", ".", ")")),
    ("map_values", |n| nest(n, "map_values(", ".", ")")),
    ("sub", |n| format!("\"a\" | {}", nest(n, "sub(\"a\"; \"a\" | ", ".", ")"))),
    ("indices", |n| nest(n, ".[", "\"a\"", "]")),
    ("patterns", |n| format!(". as {} | 1", nest(n, "[", "$x", "]"))),
    ("a pattern", |n| format!(". as [{}] | 1", (0..=n).map(|n| format!("$v{n}")).collect::<Vec<_>>().join(","))),
    ("arguments of a call", |n| format!("first({})", chain(n, ".a", ","))),
];

/// Runs on three quarters of the stack that a thread has unless set, whatever the environment says.
fn on_a_thread<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    thread::Builder::new().stack_size(3 << 19).spawn(f).expect("a thread").join().expect("no panic")
}

/// Whether there is such an expression. The message is checked.
fn is_accepted(name: &'static str, text: String) -> bool {
    on_a_thread(move || {
        let Err(wrong) = Expression::new(&text) else { return true };
        let (at, what) = &wrong.mistakes()[0];
        assert!(what.contains("200 levels deep") && at.len() == 1 && at.end <= text.len(), "{name}: {at:?}: {what}");
        assert!(wrong.to_string().len() < 1000, "{name}");
        false
    })
}

/// Evaluates an expression in all ways.
fn evaluate(text: String) {
    on_a_thread(move || {
        let expression = Expression::new(&text).expect("an expression");
        let (mut row, mut out) = (Fields::default(), Outputs::default());
        for json in ["{\"a\":1}", "null"] {
            row.read(&expression, json.as_bytes()).expect("a row");
            let _ = (expression.write(&row, &mut out), expression.holds(&row), expression.values(&row).map(drop));
        }
        for input in [Input::Null, Input::Values] {
            let filter = Filter::with(&text, &Options::default().input(input)).expect("a filter");
            assert!(filter.answer(b"{\"a\":1}").values <= 1);
        }
    });
}

#[test]
fn each_construct_works_up_to_a_length_and_is_refused_beyond_it() {
    thread::scope(|scope| DEEP.chunks(DEEP.len() / 4).for_each(|some| _ = scope.spawn(|| bounded(some))));
}

fn bounded(all: &[Deep]) {
    for &(name, text) in all {
        let one = text(30).len() - text(29).len();
        let most = if one == 0 { 20 } else { TEXT / one.max(2) };
        let mut works = most;
        if !is_accepted(name, text(most)) {
            let (mut low, mut high) = (5, most);
            while high - low > 1 {
                let middle = if low * 2 < high { low * 2 } else { low.midpoint(high) };
                *if is_accepted(name, text(middle)) { &mut low } else { &mut high } = middle;
            }
            works = low;
        }
        assert!(works >= 20, "{name}: {works}");
        evaluate(text(works));
    }
}

#[test]
fn long_lists_are_no_deep_filters() {
    let answer = |text: String| on_a_thread(move || Filter::new(&text).map(|filter| filter.answer(b"{\"a\":1}").out));
    let numbers: Vec<_> = (0..20_000).map(|n| n.to_string()).collect();
    let expected = format!("{}\n", 20_000 * 19_999 / 2);
    assert_eq!(answer(format!("[{}] | add", numbers.join(","))), Ok(expected.into_bytes()));
    let order = format!("[{}] == [range(20000)]", numbers.join(","));
    assert_eq!(answer(order), Ok(b"true\n".to_vec()));
    for (operator, expected) in [("or", "true\n"), ("and", "false\n")] {
        let terms: Vec<_> = (0..3000).map(|n| format!(".a == {}", if n == 2999 { 1 } else { n + 2 })).collect();
        assert_eq!(answer(terms.join(&format!(" {operator} "))), Ok(expected.into()), "{operator}");
    }
    let fields: Vec<_> = (0..2000).map(|n| format!("f{n}: ({n} + length)")).collect();
    let text =
        format!("{{{}}} | [length, .f0, .f1999], (keys_unsorted == [range(2000) | \"f\\(.)\"])", fields.join(", "));
    assert_eq!(answer(format!("[{text}] | flatten | tojson")), Ok(b"\"[2000,1,2000,true]\"\n".to_vec()));
    let parts: Vec<_> = (0..500).map(|n| format!("\\({n}, .a)\\n")).collect();
    let text = format!("first(\"{}\") == ([range(500) | \"\\(.)\\n\"] | add)", parts.join(""));
    assert_eq!(answer(text), Ok(b"true\n".to_vec()));
    // In the order of jaq: the first part changes last.
    let many = "\\(\"\")".repeat(40);
    assert_eq!(answer(format!("[\"\\(1, 2){many}\\(3, 4)\"] | join(\" \")")), Ok(b"\"13 14 23 24\"\n".to_vec()));
}

#[test]
fn a_mistake_in_a_long_list_has_its_place() {
    let text = format!("[{}, nosuch]", chain(20_000, "1", ","));
    let at = text.len() - 7;
    for text in [text.clone(), text.replace("nosuch", "1 1111")] {
        let place = on_a_thread(move || Filter::new(&text).map(drop).unwrap_err().mistakes()[0].0.start);
        assert!((at..at + 3).contains(&place), "{place}");
    }
    // Of many mistakes some are shown.
    let wrong = on_a_thread(|| Filter::new(&"[".repeat(5000)).map(drop).unwrap_err().to_string());
    assert!(wrong.ends_with("4980 further mistakes") && wrong.len() < 20_000, "{wrong}");
    // More than any stack can take.
    let text = format!("[{}]", chain(100_000, "1", ","));
    let wrong = on_a_thread(move || Filter::new(&text).map(drop).unwrap_err().to_string());
    assert!(wrong.starts_with("this is more than 200 levels deep"), "{wrong}");
}

#[test]
fn many_definitions_are_no_deep_filter() {
    let each: String =
        (0..5000).map(|n| format!("def f{n}($x; g): {n} + 1 - ($x | g) | if . then 1 else 2 end;\n")).collect();
    let filter = on_a_thread(move || Filter::new(&format!("{each} f4999(1; .)")).map(|filter| filter.answer(b"0").out));
    assert_eq!(filter, Ok(b"1\n".to_vec()));
}
