use crate::key::string_length;
use crate::parameters::{Each, Filter};
use millstream_core::Window;
use millstream_jq::{Expression, Scalar, scalar_of};
use millstream_registry::{Literal, Parameter, WrongCode};
use std::sync::Arc;

/// The specification of a fold.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    pub(crate) stage: Arc<str>,
    pub(crate) aggregates: Vec<Aggregate>,
    /// `None` for one answer of all rows.
    pub(crate) key: Option<Expression>,
    /// The name of the key if it is a path. Another one has the names of its fields, or no name of its own.
    pub(crate) key_name: Option<String>,
    /// Without a bound: the fold has its own.
    pub(crate) windows: Option<Window>,
    /// Whether its windows wait for rows that come late.
    pub(crate) waits: bool,
    /// When it answers before the end, if it has no windows.
    pub(crate) each: Option<Each>,
    /// The time of a row, if it reads one.
    pub(crate) at: Option<Expression>,
    /// The most keys, or keys of open windows.
    pub(crate) most: usize,
}

/// A value that a fold computes of each key's rows.
#[derive(Clone, Debug)]
pub(crate) struct Aggregate {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// `None` for the row itself.
    pub(crate) of: Option<Expression>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Count,
    Sum,
    Mean,
    Min,
    Max,
    Quantile(f64),
    /// The last row.
    Latest,
    /// The rows with the greatest values.
    Top(usize),
}

impl Kind {
    /// Whether the answer is rows, and not a field of a row.
    pub(crate) fn is_rows(self) -> bool {
        matches!(self, Kind::Latest | Kind::Top(_))
    }

    /// Whether it adds numbers.
    pub(crate) fn is_numeric(self) -> bool {
        matches!(self, Kind::Sum | Kind::Mean | Kind::Quantile(_))
    }
}

/// The name of a key that has none.
pub(super) const NO_NAME: &str = "key";

impl Fold {
    /// The last name in a key's path, if it is no more than a path.
    pub(crate) fn path_name(key: &Expression) -> Option<String> {
        let text = key.text().trim();
        let in_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let (mut name, mut rest) = ("", text);
        while let Some(path) = rest.strip_prefix('.') {
            let length = if path.starts_with('"') {
                string_length(path.as_bytes())
            } else {
                path.find(|letter| !in_name(letter)).unwrap_or(path.len())
            };
            (name, rest) = path.split_at(length);
        }
        let name = name.trim_matches('"');
        let is_path = rest.is_empty() && !name.is_empty() && name.chars().all(in_name);
        is_path.then(|| name.to_owned())
    }
}

/// Whether the parameters that say when a fold answers do not fit together.
pub(crate) fn ill_timed(stage: &str, given: &dyn Fn(&str) -> Option<Literal>) -> Option<(String, String)> {
    let is_given = |name: &str| given(name).is_some();
    let both = |one: &str, other: &str| is_given(one) && is_given(other);
    let not_both = |one, other, help: &str| {
        both(one, other).then(|| (format!("`{stage}` takes `{one}` or `{other}`, not both"), help.to_owned()))
    };
    let once = "a window answers once, when it closes; `each` is for answers of all rows so far";
    let needs_at = |literal: &str| {
        let help = "`at: .time`, the time of a row, an expression of jq";
        (!is_given("at")).then(|| (format!("`{stage}` with `{literal}` needs `at`"), help.to_owned()))
    };
    let has_windows = is_given("every") || is_given("session");
    not_both("each", "every", once)
        .or_else(|| not_both("each", "session", once))
        .or_else(|| not_both("each", "late", "a row that comes late is in the next answer"))
        .or_else(|| not_both("every", "session", "a window has a length, or it ends when no row comes"))
        .or_else(|| {
            let needs = || format!("`{stage}` with `late` needs `every` or `session`");
            (is_given("late") && !has_windows)
                .then(|| (needs(), "`every: 1m`: a window waits for late rows".to_owned()))
        })
        .or_else(|| ["every", "session"].into_iter().filter(|name| is_given(name)).find_map(needs_at))
        .or_else(|| {
            let literal = given("each")?;
            match Each::read(&literal)? {
                Each::Time(_) => needs_at(&format!("each: {literal}")),
                Each::Rows(_) => is_given("at").then(|| {
                    let help = format!("leave `at` out, or write `each: {literal}s` for a time");
                    (format!("`each: {literal}` counts rows, and reads no time"), help)
                }),
            }
        })
        .or_else(|| {
            let needs = || format!("`{stage}` with `at` needs `every`, `session` or `each`");
            let help = "`every: 1m`; leave `at` out for one answer of all rows";
            (is_given("at") && !has_windows && !is_given("each")).then(|| (needs(), help.to_owned()))
        })
}

/// Whether two fields of the answer have one name: of when it was made, of the key, and of what is computed.
pub(crate) fn same_names(stage: &str, given: &dyn Fn(&str) -> Option<Literal>) -> Option<(String, String)> {
    let code = |name: &str| match given(name) {
        Some(Literal::Code(code)) => code,
        _ => String::new(),
    };
    let mut names = Vec::new();
    if given("every").is_some() || given("session").is_some() {
        names.extend(["start".to_owned(), "end".to_owned()]);
    } else {
        names.extend(given("each").and_then(|each| Each::read(&each)).map(|each| each.field().to_owned()));
    }
    if let Ok(key) = Expression::new(&code("by")) {
        names.extend(names_of(&key));
    }
    let (computed, help) = match (given("as"), Aggregates::of(&code("to"))) {
        (_, Ok(all)) => (all.0.into_iter().map(|aggregate| aggregate.name).collect(), "an aggregate takes any name"),
        (Some(Literal::Text(name)), _) => (vec![name], "`as: \"n\"` takes any name"),
        _ => (vec![stage.to_owned()], "`as: \"n\"` takes any name"),
    };
    let others = names.len();
    names.extend(computed);
    let (n, name) = names.iter().enumerate().find(|(n, name)| names[..*n].contains(name))?;
    let help = if n < others { "a key takes any name, as in `by: {of: .k}`" } else { help };
    Some((format!("two fields of the answer have the name `{name}`"), help.to_owned()))
}

/// The names of the fields that a key has in the answer, as far as its text has them.
fn names_of(key: &Expression) -> Vec<String> {
    let text = key.text().trim();
    let Some(fields) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
        return if text.is_empty() {
            Vec::new()
        } else {
            vec![Fold::path_name(key).unwrap_or_else(|| NO_NAME.to_owned())]
        };
    };
    let name = |field: &str| field.split(':').next().unwrap_or("").trim().trim_matches(['"', '$']).to_owned();
    split(fields).into_iter().map(name).filter(|name| !name.is_empty() && !name.starts_with('(')).collect()
}

/// Several aggregates, as `{n: count, total: sum(.qty), p99: quantile(.ms, 0.99)}`.
#[derive(Clone, Debug)]
pub(crate) struct Aggregates(pub(crate) Vec<Aggregate>);

impl Aggregates {
    fn of(code: &str) -> Result<Self, WrongCode> {
        let inner = code.strip_prefix('{').and_then(|code| code.strip_suffix('}'));
        let Some(inner) = inner else {
            let what = "aggregates are written as `{n: count, total: sum(.qty)}`".to_owned();
            return Err(WrongCode { at: 0..code.len(), what });
        };
        let (mut all, mut at): (Vec<Aggregate>, _) = (Vec::new(), 1);
        for part in split(inner) {
            let here = at + part.len() - part.trim_start().len();
            let wrong = |what: &str| WrongCode { at: here..here + part.trim().len(), what: what.to_owned() };
            at += part.len() + 1;
            let (name, call) = match named(part) {
                Some(named) => named,
                // As `{user}` is `{user: .user}` in jq.
                None if part.trim() == "count" => ("count".to_owned(), part),
                None => {
                    return Err(wrong(
                        "an aggregate has a name, as `total: sum(.qty)`; `count` alone is `count: count`",
                    ));
                }
            };
            let call = call.trim();
            let (kind, arguments) = match call.split_once('(') {
                Some((kind, rest)) => {
                    let rest = rest.strip_suffix(')').ok_or_else(|| wrong("a `)` is missing"))?;
                    (kind, split(rest).into_iter().map(str::trim).collect())
                }
                None => (call, Vec::new()),
            };
            let (kind, of) = match (kind.trim(), &arguments[..]) {
                ("count", []) => (Kind::Count, None),
                ("sum", [of]) => (Kind::Sum, Some(*of)),
                ("mean", [of]) => (Kind::Mean, Some(*of)),
                ("min", [of]) => (Kind::Min, Some(*of)),
                ("max", [of]) => (Kind::Max, Some(*of)),
                ("quantile", [of, part]) => match part.parse() {
                    Ok(part) if (0.0..=1.0).contains(&part) => (Kind::Quantile(part), Some(*of)),
                    _ => return Err(wrong("a quantile is a number from 0 to 1")),
                },
                _ => {
                    return Err(wrong(
                        "an aggregate is `count`, `sum(E)`, `mean(E)`, `min(E)`, `max(E)` or `quantile(E, 0.9)`, \
                         where E is an expression",
                    ));
                }
            };
            let of = match of {
                Some(text) => {
                    let begin = here + part.trim().find(text).unwrap_or(0);
                    let moved = |wrong: &millstream_jq::Wrong| {
                        let first = wrong.mistakes().first().cloned().unwrap_or((0..0, String::new()));
                        WrongCode { at: begin + first.0.start..begin + first.0.end, what: first.1 }
                    };
                    Some(Expression::new(text).map_err(|wrong| moved(&wrong))?)
                }
                None => None,
            };
            if all.iter().any(|other| other.name == name) {
                return Err(wrong("each aggregate needs its own name"));
            }
            all.push(Aggregate { name, kind, of });
        }
        Ok(Aggregates(all))
    }
}

/// What the state of a stage `fold` is of: the names of its aggregates and their kinds.
pub(crate) fn kept_by(aggregates: Option<&Literal>) -> String {
    let Some(Literal::Code(code)) = aggregates else { return String::new() };
    let all = Aggregates::of(code).map(|all| all.0).unwrap_or_default();
    let kept = |Aggregate { name, kind, .. }: &Aggregate| match kind {
        // The part is that of the answer.
        Kind::Quantile(_) => format!("{name}: quantile"),
        kind => format!("{name}: {kind:?}"),
    };
    all.iter().map(kept).collect::<Vec<_>>().join(", ")
}

/// The parts between commas that stand in no brackets and no quotes.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut open, mut at) = (Vec::new(), 0, 0_usize, 0);
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => {
                at += string_length(&text.as_bytes()[at..]);
                continue;
            }
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            b',' if open == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(&text[from..]);
    parts
}

/// The name before a colon, and what is behind it. A name in quotes is a text of JSON.
pub(crate) fn named(part: &str) -> Option<(String, &str)> {
    let part = part.trim_start();
    let quoted = if part.starts_with('"') { string_length(part.as_bytes()) } else { 0 };
    let colon = quoted + part[quoted..].find(':')?;
    let name = part[..colon].trim();
    let name = match scalar_of(name.as_bytes()) {
        Some(Scalar::Text(text)) => String::from_utf8_lossy(&text).into_owned(),
        _ => name.to_owned(),
    };
    Some((name, &part[colon + 1..]))
}

impl Parameter for Aggregates {
    const WANTED: &'static str = "aggregates, such as `{n: count, total: sum(.qty)}`";
    fn read(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Code(code) => Aggregates::of(code).ok(),
            _ => None,
        }
    }
    fn wrong(code: &str) -> Vec<WrongCode> {
        Aggregates::of(code).err().into_iter().collect()
    }
}

/// The aggregate of a stage that is called after it.
pub(crate) fn single(stage: &str, kind: Kind, of: Option<Filter>, named: Option<String>) -> Aggregate {
    Aggregate { name: named.unwrap_or_else(|| stage.to_owned()), kind, of: of.map(|of| of.0) }
}
