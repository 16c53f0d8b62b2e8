//! The messages at the end of a run.

use super::many;
use crate::message::{Complaints, quoted};
use millstream_mill::{JoinCount, Program, RowCounts};
use millstream_registry::Literal;
use std::ffi::OsStr;

/// The texts of a run.
pub(super) struct Texts {
    /// The last one.
    pub(super) program: Program,
    /// The counts of those that it has replaced.
    earlier: Vec<RowCounts>,
}

impl Texts {
    pub(super) fn of(program: Program) -> Self {
        Texts { program, earlier: Vec::new() }
    }

    /// The run goes on with another text.
    #[cfg(feature = "page")]
    pub(super) fn replace(&mut self, next: Program) {
        let before = std::mem::replace(&mut self.program, next);
        self.earlier.push(before.rows().clone());
    }

    fn counts(&self) -> impl Iterator<Item = &RowCounts> {
        self.earlier.iter().chain([self.program.rows()])
    }

    /// The rows that were read.
    fn read(&self) -> u64 {
        self.counts().filter_map(|rows| rows.of("source")).sum()
    }

    /// The joins of the last text, with the counts of their names in the texts before it.
    fn joins(&self) -> Vec<JoinCount> {
        let mut joins = self.program.rows().joins();
        for before in self.earlier.iter().rev().flat_map(RowCounts::joins) {
            for join in joins.iter_mut().filter(|join| join.name == before.name) {
                join.rows += before.rows;
                join.alone += before.alone;
                join.key = join.key.take().or_else(|| before.key.clone());
                join.other_key = join.other_key.take().or_else(|| before.other_key.clone());
            }
        }
        joins
    }
}

/// A signal has ended a run before it had read everything: how far it came, and what its answers are of.
pub(super) fn say_interrupted(texts: &Texts, within: Option<&OsStr>, complaints: &Complaints) {
    let Some(file) = within else { return };
    let program = &texts.program;
    let has = |what: &str| program.calls().iter().any(|call| call.given(what).is_some());
    let answers = if has("every") || has("session") {
        "windows that were still open have answered with the rows that had come"
    } else if has_folds(program) {
        "the answers are those of these rows"
    } else {
        "the output is that of these rows"
    };
    let file = if file == "-" { "standard input".to_owned() } else { quoted(file) };
    let rows = many(texts.read(), "row");
    complaints.note(&format!("interrupted within {file}, after {rows}: {answers}"));
}

/// A signal has ended a run that keeps its state: what becomes of its answers.
pub(super) fn say_left_off(program: &Program, complaints: &Complaints) {
    complaints.note(if has_folds(program) {
        "interrupted: folds and windows have answered with the rows that had come; the next start takes these answers \
         back, and goes on"
    } else {
        "interrupted: the next start goes on behind the rows that were read"
    });
}

/// Every fold has a parameter of this name.
fn has_folds(program: &Program) -> bool {
    program.calls().iter().any(|call| call.parameters.iter().any(|(name, _)| *name == "session"))
}

/// Says of joins that rows found no partner. With `keep` they are in the output, unless all of them are alone.
pub(super) fn say_alone(texts: &Texts, complaints: &Complaints) {
    for JoinCount { name, rows: all, alone, key, other_key } in texts.joins() {
        let call = texts.program.calls().iter().find(|call| call.name == name);
        let keeps = call.is_some_and(|call| call.given("keep") == Some(&Literal::Truth(true)));
        if alone == 0 || (alone < all && keeps) {
            continue;
        }
        if alone < all {
            complaints.note(&format!("{name}: {alone} of {} found no partner", many(all, "row")));
            continue;
        }
        let on = call.and_then(|call| call.given("on")).map_or_else(String::new, Literal::to_string);
        let with = call.and_then(|call| call.given("with")).map_or_else(|| on.clone(), Literal::to_string);
        let is_same = key == other_key;
        let why = match (key.map(shown), other_key.map(shown)) {
            (None, _) => format!("{on} is null in all of them"),
            (_, None) => format!("no other row with {with} came before them"),
            (Some(key), Some(other)) if kind(&key) != kind(&other) => format!(
                "{on} is {}, as {key}, and {with} of the other rows is {}, as {other}: compare {}",
                kind(&key),
                kind(&other),
                advised((&on, &with), (&key, &other))
            ),
            (Some(_), Some(other)) if is_same => match call.and_then(|call| call.given("within")) {
                Some(within) => format!("other rows with {with} {other} came after them, or not within {within}"),
                None => {
                    format!("other rows with {with} {other} came after them, and a join sees those that came before")
                }
            },
            (Some(key), Some(other)) => format!("{on} is as {key}, and {with} of the other rows is as {other}"),
        };
        complaints.note(&format!("{name}: none of {} found a partner: {why}", many(all, "row")));
    }
}

/// The most characters of a key that a message shows.
const SHOWN: usize = 160;

/// A key, of which a message shows the beginning.
fn shown(key: String) -> String {
    match key.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ..", &key[..end]),
        None => key,
    }
}

/// What a JSON value is.
fn kind(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'"') => "a text",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b't' | b'f') => "a truth value",
        _ => "a number",
    }
}

/// Parameters of a join whose keys are of two types.
fn advised((on, with): (&str, &str), (key, other): (&str, &str)) -> String {
    match (kind(key), kind(other)) {
        ("a text", "a number") => format!("texts by `with: ({with} | tostring)`"),
        ("a number", "a text") => format!("texts by `on: ({on} | tostring)`"),
        _ => "the same type".to_owned(),
    }
}
