//! Finds the parts of its input that a filter can read.
//!
//! `.qty * .price` reads two fields, so jaq needs no others. The analysis works on the filter's text: it knows a few
//! forms, and takes all other forms to read everything. Its promise: outputs and messages are the same if the other
//! fields are left out of *objects*. A form that could tell the difference (`keys`, `length`, `.[]`, a call of an
//! unknown filter, the output itself) demands everything. A message shows a value only if the value is not an object,
//! or was demanded whole.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Term};
use jaq_core::path::{Part, Path};
use std::collections::BTreeMap;

/// The parts of a value that a filter reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    All,
    /// These fields of an object; the whole of any other value.
    Fields(BTreeMap<Vec<u8>, Demand>),
}

/// No field of an object.
impl Default for Demand {
    fn default() -> Self {
        Demand::Fields(BTreeMap::new())
    }
}

impl Demand {
    /// The fields that the filter reads if the whole of its output is used.
    pub(crate) fn of(filter: &str) -> Self {
        crate::syntax::parse(filter).map_or(Demand::All, |(term, _)| of(&term, &Demand::All))
    }

    fn field(name: &str, of_it: Demand) -> Self {
        Demand::Fields(BTreeMap::from([(name.as_bytes().to_vec(), of_it)]))
    }

    fn and(self, other: Demand) -> Self {
        match (self, other) {
            (Demand::Fields(mut fields), Demand::Fields(others)) => {
                for (name, demand) in others {
                    let both = match fields.remove(&name) {
                        Some(before) => before.and(demand),
                        None => demand,
                    };
                    fields.insert(name, both);
                }
                Demand::Fields(fields)
            }
            _ => Demand::All,
        }
    }
}

/// The part of its input that `term` reads, if `output` is the used part of its outputs.
fn of(term: &Term<&str>, output: &Demand) -> Demand {
    let whole = |term| of(term, &Demand::All);
    match term {
        Term::Id => output.clone(),
        Term::Num(_) | Term::Var(_) | Term::Arr(None) => Demand::default(),
        Term::Str(None, parts) => parts.iter().fold(Demand::default(), |demand, part| match part {
            StrPart::Term(term) => demand.and(whole(term)),
            StrPart::Str(_) | StrPart::Char(_) => demand,
        }),
        Term::Arr(Some(inner)) | Term::Neg(inner) => whole(inner),
        Term::Obj(fields) => fields.iter().fold(Demand::default(), |demand, field| demand.and(of_field(field))),
        Term::BinOp(left, how, right) => of_both(left, how, right, output),
        Term::IfThenElse(cases, rest) => {
            let rest = rest.as_ref().map_or_else(|| output.clone(), |rest| of(rest, output));
            cases.iter().fold(rest, |demand, (condition, then)| {
                demand.and(of(condition, &Demand::default())).and(of(then, output))
            })
        }
        // `catch` gets a message, not a part of the input.
        Term::TryCatch(inner, _) => of(inner, output),
        Term::Call("empty" | "true" | "false" | "null", arguments) if arguments.is_empty() => Demand::default(),
        Term::Call("not", arguments) if arguments.is_empty() => Demand::default(),
        Term::Call("select", arguments) if arguments.len() == 1 => {
            of(&arguments[0], &Demand::default()).and(output.clone())
        }
        Term::Path(inner, path) => of_path(path, output).map_or(Demand::All, |demand| of(inner, &demand)),
        _ => Demand::All,
    }
}

fn of_field((key, value): &(Term<&str>, Option<Term<&str>>)) -> Demand {
    match (key, value) {
        (key, Some(value)) => of(key, &Demand::All).and(of(value, &Demand::All)),
        (Term::Var(_), None) => Demand::default(),
        (key, None) => constant(key).map_or(Demand::All, |name| Demand::field(&name, Demand::All)),
    }
}

fn of_both(left: &Term<&str>, how: &BinaryOp<&str>, right: &Term<&str>, output: &Demand) -> Demand {
    let whole = |term| of(term, &Demand::All);
    match how {
        BinaryOp::Pipe(None) => of(left, &of(right, output)),
        BinaryOp::Comma | BinaryOp::Alt => of(left, output).and(of(right, output)),
        BinaryOp::And | BinaryOp::Or => of(left, &Demand::default()).and(of(right, &Demand::default())),
        BinaryOp::Math(_) | BinaryOp::Cmp(_) => whole(left).and(whole(right)),
        _ => Demand::All,
    }
}

/// The part that a path reads of the value at which it begins; `None` if it reads everything, the input included.
fn of_path(path: &Path<Term<&str>>, output: &Demand) -> Option<Demand> {
    path.0.iter().rev().try_fold(output.clone(), |demand, (part, _)| match part {
        Part::Index(Term::Str(None, parts)) => Some(Demand::field(&plain(parts)?, demand)),
        _ => None,
    })
}

/// The text of a string without anything to evaluate.
fn constant(term: &Term<&str>) -> Option<String> {
    match term {
        Term::Str(None, parts) => plain(parts),
        _ => None,
    }
}

pub(crate) fn plain(parts: &[StrPart<&str, Term<&str>>]) -> Option<String> {
    parts.iter().try_fold(String::new(), |mut text, part| {
        match part {
            StrPart::Str(more) => text.push_str(more),
            StrPart::Char(letter) => text.push(*letter),
            StrPart::Term(_) => return None,
        }
        Some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The demand as text: `*` for everything, `{a{b*}c*}` for fields.
    fn shown(demand: &Demand) -> String {
        match demand {
            Demand::All => "*".to_owned(),
            Demand::Fields(fields) => {
                let fields = fields.iter().map(|(name, of)| String::from_utf8_lossy(name).into_owned() + &shown(of));
                format!("{{{}}}", fields.collect::<String>())
            }
        }
    }

    #[track_caller]
    fn check(filter: &str, expected: &str) {
        assert_eq!(shown(&Demand::of(filter)), expected, "{filter}");
    }

    #[test]
    fn a_filter_asks_for_the_fields_that_it_names() {
        check(".", "*");
        check(".a", "{a*}");
        check(".a.b, .\"c d\"", "{a{b*}c d*}");
        check(".a | .b", "{a{b*}}");
        check(".a * .b > 3", "{a*b*}");
        check("select(.qty * .price > 500) | {id, user, total: (.qty * .price)}", "{id*price*qty*user*}");
        check("if .a then .b else .c.d end", "{a{}b*c{d*}}");
        check("if .a then .b end", "*");
        check("[.a, .b] | length", "{a*b*}");
        check("\"\\(.a) of \\(.b)\"", "{a*b*}");
        check("{($x): .a, \"b\": 1}", "{a*}");
        check(".a? // \"none\"", "{a*}");
        check("select(.a) | .b", "{a{}b*}");
        check("1", "{}");
        check(".a[0]", "*");
    }

    #[test]
    fn a_filter_that_can_see_other_fields_asks_for_everything() {
        for filter in [
            "keys",
            "length",
            ".[]",
            ".[0]",
            "..",
            ".a = 1",
            "del(.a)",
            "map(.a)",
            "select(.a)",
            "tostring",
            "($x | keys), .",
            "reduce .a as $x (0; .)",
            "def f: .; .a | f",
            ".[.a]",
            "try error(.) catch .",
            "{(.a): .}",
            "@json",
            ". as $x | .a",
            "to_entries",
            "input_filename, .",
            "path(.a)",
        ] {
            check(filter, "*");
        }
    }

    #[test]
    fn an_unknown_filter_after_a_field_asks_for_all_of_the_field() {
        check(".a | keys", "{a*}");
        check(".a | test(\"x\")", "{a*}");
    }
}
