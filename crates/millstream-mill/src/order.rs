//! In which order the sources of a program are read: what a join looks up comes before the rows that it looks up for.
//!
//! A wire has the rows of one source, since a join passes on those of its first wire. They come while the source is
//! read, or at the end of all input, after a fold that answers only there.

use millstream_registry::{Called, Mistake, Span};
use std::collections::HashMap;

/// Where the rows of a wire come from.
#[derive(Clone, Copy, Debug)]
struct From {
    /// The number of the source.
    source: usize,
    /// Whether all of them come at the end.
    at_end: bool,
}

/// A source that is read before another one, for the join at this place.
#[derive(Debug)]
struct Before {
    first: usize,
    then: usize,
    at: Span,
}

/// Whether a call folds rows.
pub(crate) fn is_fold(call: &Called) -> bool {
    call.parameters.iter().any(|(name, _)| *name == "session")
}

/// The numbers of the sources in the order in which they are read: that of the text, as far as no join needs another
/// one. A join that could find nothing is a mistake.
pub(crate) fn reading_order(called: &[Called], sources: usize) -> Result<Vec<usize>, Vec<Mistake>> {
    let (before, mut mistakes) = needed(called);
    let mut order: Vec<usize> = Vec::with_capacity(sources);
    while order.len() < sources {
        let waits = |source: usize| before.iter().find(|one| one.then == source && !order.contains(&one.first));
        let left = || (0..sources).filter(|source| !order.contains(source));
        match left().find(|source| waits(*source).is_none()) {
            Some(source) => order.push(source),
            None => {
                mistakes.extend(left().find_map(waits).map(in_a_circle));
                break;
            }
        }
    }
    if mistakes.is_empty() { Ok(order) } else { Err(mistakes) }
}

/// Two sources of which a join needs the rows of the first one first, and a run reads them in another order. A text has
/// the sources `reads`.
pub(crate) fn other_order(called: &[Called], reads: &[Option<usize>], order: &[usize]) -> Option<(usize, usize)> {
    let place = |source: usize| order.iter().position(|other| *other == source);
    let mut needed = needed(called).0.into_iter().filter_map(|one| Some((reads[one.first]?, reads[one.then]?)));
    needed.find(|(first, then)| place(*first) > place(*then))
}

/// Which sources joins need before which others, and the joins that could find nothing.
fn needed(called: &[Called]) -> (Vec<Before>, Vec<Mistake>) {
    let (mut from, mut next) = (HashMap::new(), 0);
    let (mut before, mut mistakes) = (Vec::new(), Vec::new());
    for call in called {
        let first = call.reads.first().and_then(|wire| from.get(wire)).copied();
        let of = first.unwrap_or_else(|| {
            next += 1;
            From { source: next - 1, at_end: false }
        });
        let answers_before = || ["every", "session", "each"].iter().any(|name| call.given(name).is_some());
        let at_end = of.at_end || (is_fold(call) && !answers_before());
        from.insert(call.writes, From { at_end, ..of });
        if let ("join", Some(other)) = (&*call.stage, call.reads.get(1).and_then(|wire| from.get(wire))) {
            match (of.at_end, other.at_end) {
                (false, true) => mistakes.push(too_late(call)),
                (false, false) if other.source != of.source => {
                    before.push(Before { first: other.source, then: of.source, at: call.at.clone() });
                }
                _ => {}
            }
        }
    }
    (before, mistakes)
}

fn too_late(call: &Called) -> Mistake {
    Mistake {
        what: "`join` would find nothing: the other rows come from a fold, which answers at the end of all input"
            .to_owned(),
        at: call.at.clone(),
        label: String::new(),
        because: None,
        help: Some(
            "a join finds rows that came before: a fold answers before the end with `each: 1000` or `every: 1m`; \
             answers can be joined with answers, or be written to a file that another run joins with"
                .to_owned(),
        ),
    }
}

fn in_a_circle(one: &Before) -> Mistake {
    Mistake {
        what: "`join` needs the other rows first, and another join needs them last".to_owned(),
        at: one.at.clone(),
        label: String::new(),
        because: None,
        help: Some(
            "sources are read one after the other: name the file of one of them twice, in two sources".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::Program;

    #[track_caller]
    fn check(text: &str, order: &[usize]) {
        let program = Program::load(text, 1, false).unwrap_or_else(|wrong| panic!("{wrong}"));
        assert_eq!(program.order, order, "{text}");
    }

    #[track_caller]
    fn refused(text: &str, part: &str) {
        let wrong = Program::load(text, 1, false).map(drop).expect_err(text).to_string();
        assert!(wrong.contains(part), "{wrong}");
    }

    #[test]
    fn the_rows_that_a_join_looks_up_are_read_first() {
        check("csv(\"a\") | count; csv(\"b\") | count | jsonl(\"c\")", &[0, 1]);
        check("csv(\"a\") | join(jsonl(\"b\"), on: .k)", &[1, 0]);
        check("let b = csv(\"b\"); csv(\"a\") | join(b, on: .k)", &[0, 1]);
        check("csv(\"a\") | where(.n) | join(csv(\"b\") | map({k}), on: .k) | join(csv(\"c\"), on: .k)", &[1, 2, 0]);
        check("csv(\"a\") | join(csv(\"b\") | join(csv(\"c\"), on: .k), on: .k)", &[2, 1, 0]);
        // What is not joined keeps its place.
        check("csv(\"x\") | jsonl(\"y\"); csv(\"a\") | join(csv(\"b\"), on: .k)", &[0, 2, 1]);
        // One source, whose rows come before others of its own.
        check("let a = csv; a | join(a | where(.n), on: .k)", &[0]);
    }

    #[test]
    fn answers_are_joined_with_answers() {
        check("csv(\"a\") | sum(.n, by: .k) | join(csv(\"b\"), on: .k)", &[0, 1]);
        check("csv(\"a\") | sum(.n, by: .k) | join(csv(\"b\") | count(by: .k) | where(.count), on: .k)", &[0, 1]);
        check("csv(\"a\") | join(csv(\"b\") | count(by: .k, every: 1m, at: .t), on: .k)", &[1, 0]);
        let too_late = "the other rows come from a fold, which answers at the end";
        refused("csv(\"a\") | join(csv(\"b\") | count(by: .k), on: .k)", too_late);
        refused("let a = csv; a | join(a | top(1, .n) | map({k}), on: .k, keep: true)", too_late);
        refused("csv(\"a\") | join(csv(\"b\") | join(csv(\"c\") | latest, on: .k), on: .k)", too_late);
    }

    #[test]
    fn two_sources_are_not_each_before_the_other() {
        let text = "let a = csv(\"a\"); let b = csv(\"b\"); a | join(b, on: .k); b | join(a, on: .k) | jsonl(\"c\")";
        refused(text, "another join needs them last");
    }
}
