//! Random filters and random JSON.

use proptest::prelude::*;

/// A filter, and what it can make of a value at most: how many outputs, how large each is, and how large what it builds
/// in between, in units of the value.
#[derive(Clone, Debug)]
struct Bounded {
    text: String,
    outputs: f64,
    size: f64,
    most: f64,
}

/// The values in a value, itself among them.
const NODES: f64 = 20.0;

/// What a filter may make of a value, of which most have a hundred bytes and the largest one or two thousand. Without a
/// bound a filter can build gigabytes: `(. * length) | (. * length) | (. * length)` of a text of 12 letters repeats it
/// until the memory is full.
const MOST: f64 = 1000.0;

impl Bounded {
    fn new(text: String, outputs: f64, size: f64, parts: &[&Bounded]) -> Self {
        Bounded { text, outputs, size, most: parts.iter().fold(size, |most, part| most.max(part.most)) }
    }

    fn is_small(&self) -> bool {
        self.outputs * self.size <= MOST && self.most <= MOST
    }

    fn pipe(a: &Self, b: &Self) -> Self {
        // What lists the parts of a value has more to list in a larger one.
        let outputs = a.outputs * if b.outputs > 1.0 { b.outputs * a.size.max(1.0) } else { b.outputs };
        let all = Bounded::new(format!("({} | {})", a.text, b.text), outputs, a.size * b.size, &[a]);
        Bounded { most: all.most.max(a.size * b.most), ..all }
    }

    fn operator(a: &Self, how: &str, b: &Self) -> Self {
        let (outputs, size) = match how {
            "," => (a.outputs + b.outputs, a.size.max(b.size)),
            "+" | "-" => (a.outputs * b.outputs, a.size + b.size),
            // A text is split, into its letters perhaps.
            "/" => (a.outputs * b.outputs, 8.0 * a.size + b.size),
            // What takes the place of a part is part of what takes the place of the whole.
            "|=" if a.outputs > 1.0 => (b.outputs, b.size.max(1.0).powi(4)),
            "|=" => (b.outputs, 1.0 + b.size),
            _ => (a.outputs * b.outputs, a.size.max(b.size)),
        };
        let text = match how {
            "/" => format!("{QUOTIENT}{} {BY} {}{END}", a.text, b.text),
            "|=" => format!("({} |= {FIRST}{}{END})", a.text, b.text),
            how => format!("({} {how} {})", a.text, b.text),
        };
        Bounded::new(text, outputs, size, &[a, b])
    }
}

// Where jq and jaq differ: a quotient, and what an update takes.
const QUOTIENT: &str = "\u{1}";
const BY: &str = "\u{2}";
const FIRST: &str = "\u{3}";
const END: &str = "\u{4}";

/// jq's quotient, in jaq.
const IN_JAQ: &str = r#"def quotient($l; $r):
    if ($l | isnumber) and ($r | isnumber) and $r == 0 then error("cannot calculate \($l) / \($r)") else $l / $r end;
"#;

/// A valid filter, most parts of which have a meaning for [`json`], and which builds little.
pub(crate) fn filter() -> impl Strategy<Value = String> {
    both().prop_map(|(filter, _)| filter)
}

/// A filter, and the one that has the same answers in jaq.
pub(crate) fn both() -> impl Strategy<Value = (String, String)> {
    let with = |text: &str, marks: [&str; 4]| {
        [QUOTIENT, BY, FIRST, END].iter().zip(marks).fold(text.to_owned(), |text, (mark, is)| text.replace(mark, is))
    };
    bounded().prop_map(move |filter| {
        let in_jaq = IN_JAQ.to_owned() + &with(&filter.text, ["quotient(", ";", "first(", ")"]);
        (with(&filter.text, ["(", "/", "(", ")"]), in_jaq)
    })
}

fn bounded() -> impl Strategy<Value = Bounded> {
    let one = [
        ".",
        ".a",
        ".b",
        ".c",
        ".a.b",
        ".c.a",
        ".a?",
        ".[0]",
        "1",
        "-2",
        "0.5",
        "\"x\"",
        "null",
        "true",
        "[]",
        "{}",
        "length",
        "keys",
        "not",
        "type",
        "add",
        "first",
        "last",
        "sort",
        "floor",
        "{a}",
        "{a, c: .b}",
        "ascii_downcase",
        "error",
        "ascii",
        "empty",
    ];
    let larger = [
        ("tostring", 2.0),
        ("tojson", 2.0),
        ("\"\\(.a)-\\(.b)\"", 2.0),
        ("@csv", 2.0),
        ("@json", 2.0),
        ("to_entries", 10.0),
    ];
    let several = [".[]", ".[]?", ".."];
    let leaves = one.map(|text| (text, 1.0, 1.0)).into_iter();
    let leaves = leaves.chain(larger.map(|(text, size)| (text, 1.0, size)));
    let leaves: Vec<_> = leaves.chain(several.map(|text| (text, NODES, 1.0))).collect();
    let leaf = prop::sample::select(leaves);
    let leaf = leaf.prop_map(|(text, outputs, size)| Bounded::new(format!("({text})"), outputs, size, &[]));
    let any = leaf.prop_recursive(4, 24, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        let how = prop::sample::select(vec!["|", ",", "+", "-", "*", "/", "//", "==", "<", "and", "or", "|="]);
        // A text that is repeated as often as an input says can be of any size.
        let factors = prop::sample::select(vec!["0", "1", "2", "-2", "0.5", "null", "{b: 1}"]);
        prop_oneof![
            4 => (two.clone(), how, factors).prop_map(|((a, b), how, factor)| match how {
                "|" => Bounded::pipe(&a, &b),
                "*" => Bounded::new(format!("({} * {factor})", a.text), a.outputs, 2.0 * a.size, &[&a]),
                how => Bounded::operator(&a, how, &b),
            }),
            2 => inner.clone().prop_map(|a| Bounded::new(format!("select({})", a.text), a.outputs, 1.0, &[&a])),
            1 => inner.clone().prop_map(|a| Bounded::new(format!("[{}]", a.text), 1.0, a.outputs * a.size, &[&a])),
            1 => inner.clone().prop_map(|a| Bounded::new(format!("map({})?", a.text), 1.0, a.outputs * a.size, &[&a])),
            1 => two.clone().prop_map(|(a, b)| {
                let text = format!("{{a: {}, b: {}}}", a.text, b.text);
                Bounded::new(text, a.outputs * b.outputs, a.size + b.size, &[&a, &b])
            }),
            1 => two.clone().prop_map(|(a, b)| {
                let text = format!("(try {} catch {})", a.text, b.text);
                Bounded::new(text, a.outputs + b.outputs, a.size.max(b.size), &[&a, &b])
            }),
            1 => two.clone().prop_map(|(a, b)| {
                let text = format!("({} as $x | [$x, {}])", a.text, b.text);
                Bounded::new(text, a.outputs, a.size + b.outputs * b.size, &[&a, &b])
            }),
            1 => two.clone().prop_map(|(a, b)| {
                let text = format!("(reduce {} as $x (0; [., $x, {}] | length))", a.text, b.text);
                let built = a.size + b.outputs * b.size;
                Bounded { outputs: 1.0, size: 1.0, ..Bounded::new(text, 1.0, built, &[&a, &b]) }
            }),
            1 => (two, inner).prop_map(|((a, b), c)| {
                let text = format!("(if {} then {} else {} end)", a.text, b.text, c.text);
                Bounded::new(text, a.outputs * (b.outputs + c.outputs), b.size.max(c.size), &[&a, &b, &c])
            }),
        ]
    });
    any.prop_filter("it builds too much", Bounded::is_small)
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
