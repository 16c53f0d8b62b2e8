//! Products with a limit.
//!
//! A string times a number is the string that often, and the number may come from the input. jaq then asks for all the
//! memory at once, and a process that does not get it is aborted. So products go through a function of ours, which
//! refuses what jq refuses. A product of constants stays as it is.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::{Part, Path};
use jaq_json::{Num, Val, ValR};

/// The function behind `*`, and the variable behind `*=`. No text can contain these names.
pub(crate) const PRODUCT: &str = "!product";
const FACTOR: &str = "$!factor";

/// The most bytes of a repeated string, as in jq.
const MOST: usize = i32::MAX as usize;

/// The product of two values, with the limit.
pub(crate) fn product(left: Val, right: Val) -> ValR {
    let repeated = match (&left, &right) {
        (Val::TStr(text), Val::Num(times)) | (Val::Num(times), Val::TStr(text)) => Some((text.len(), times)),
        (Val::BStr(bytes), Val::Num(times)) | (Val::Num(times), Val::BStr(bytes)) => Some((bytes.len(), times)),
        _ => None,
    };
    let bytes = match repeated {
        Some((len, Num::Int(times))) => len.saturating_mul(usize::try_from(*times).unwrap_or(0)),
        // It is beyond an integer of the machine, and jaq takes the nearest one.
        Some((len, Num::BigInt(times))) if **times > 0.into() => len.saturating_mul(usize::MAX),
        _ => 0,
    };
    if bytes > MOST {
        return Err(jaq_core::Error::str("Repeat string result too long"));
    }
    left * right
}

/// Replaces the products in a filter by calls of [`PRODUCT`]. Returns whether there were any.
pub(crate) fn limit(term: &mut Term<&str>) -> bool {
    let inner = each(term);
    let number = |term: &Term<&str>| matches!(term, Term::Num(_));
    match term {
        Term::BinOp(left, BinaryOp::Math(Math::Mul), right) if !(number(left) && number(right)) => {
            let (left, right) = (std::mem::take(&mut **left), std::mem::take(&mut **right));
            *term = Term::Call(PRODUCT, vec![left, right]);
            true
        }
        Term::BinOp(path, BinaryOp::UpdateMath(Math::Mul), right) => {
            let (path, right) = (std::mem::take(path), std::mem::take(right));
            let times = Box::new(Term::Call(PRODUCT, vec![Term::Id, Term::Var(FACTOR)]));
            let update = Box::new(Term::BinOp(path, BinaryOp::Update, times));
            *term = Term::BinOp(right, BinaryOp::Pipe(Some(Pattern::Var(FACTOR))), update);
            true
        }
        _ => inner,
    }
}

/// The same for every term of this one.
fn each(term: &mut Term<&str>) -> bool {
    match term {
        Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) | Term::Arr(None) => false,
        Term::Str(_, parts) => any(parts, |part| match part {
            StrPart::Term(term) => limit(term),
            StrPart::Str(_) | StrPart::Char(_) => false,
        }),
        Term::Arr(Some(inner)) | Term::Neg(inner) | Term::Label(_, inner) => limit(inner),
        Term::Obj(fields) => any(fields, |(key, value)| limit(key) | value.as_mut().is_some_and(limit)),
        Term::BinOp(left, how, right) => {
            let bound = if let BinaryOp::Pipe(Some(pattern)) = how { in_pattern(pattern) } else { false };
            limit(left) | limit(right) | bound
        }
        Term::Fold(_, source, pattern, arguments) => limit(source) | in_pattern(pattern) | any(arguments, limit),
        Term::TryCatch(inner, caught) => limit(inner) | caught.as_mut().is_some_and(|caught| limit(caught)),
        Term::IfThenElse(cases, rest) => {
            let rest = rest.as_mut().is_some_and(|rest| limit(rest));
            any(cases, |(condition, then)| limit(condition) | limit(then)) | rest
        }
        Term::Def(definitions, inner) => any(definitions, |Def { body, .. }| limit(body)) | limit(inner),
        Term::Call(_, arguments) => any(arguments, limit),
        Term::Path(inner, Path(parts)) => {
            let parts = any(parts, |(part, _)| match part {
                Part::Index(index) => limit(index),
                Part::Range(from, to) => from.as_mut().is_some_and(limit) | to.as_mut().is_some_and(limit),
            });
            limit(inner) | parts
        }
    }
}

fn in_pattern(pattern: &mut Pattern<&str>) -> bool {
    match pattern {
        Pattern::Var(_) => false,
        Pattern::Arr(patterns) => any(patterns, in_pattern),
        Pattern::Obj(fields) => any(fields, |(key, pattern)| limit(key) | in_pattern(pattern)),
    }
}

/// Whether `found` is true for one of them. It is called for all.
fn any<T>(all: &mut [T], mut found: impl FnMut(&mut T) -> bool) -> bool {
    all.iter_mut().fold(false, |any, one| any | found(one))
}

#[cfg(test)]
mod tests {
    use crate::{Filter, What};

    fn answer(filter: &str, json: &str) -> String {
        let answer = Filter::new(filter).unwrap().answer(json.as_bytes());
        let said = answer.said.iter().map(|said| match &said.what {
            What::Failed(why) => why.clone(),
            what => format!("{what:?}"),
        });
        let out = String::from_utf8(answer.out).unwrap().replace(['\n', ' '], "");
        said.chain([out]).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_string_is_not_repeated_beyond_the_limit() {
        let why = "Repeat string result too long; ";
        let filters = [
            "\"x\" * .n",
            ".n * \"x\"",
            ".s *= .n",
            "\"\\(.s * .n)\"",
            "[.[] | strings] | map(. * 2147483648)",
            "{(.s * .n): 1}",
            "reduce .n as $n (.s; . * $n)",
            "def f(g): .s * g; f(.n)",
            ".s as [$a] ?// $s | if true then try error catch 1 else 1 end | \"x\" * 4294967296",
            "first(label $l | .s * .n)",
        ];
        for n in ["9223372036854775807", "123456789012345678901", "4294967296"] {
            for filter in filters {
                // Not all forms of jq are forms of jaq.
                if Filter::new(filter).is_ok() {
                    assert_eq!(answer(filter, &format!("{{\"s\": \"abc\", \"n\": {n}}}")), why, "{filter}, {n}");
                }
            }
        }
        let filters = filters.iter().filter(|filter| Filter::new(filter).is_ok());
        assert!(filters.count() > 8);
        // The failure can be caught.
        assert_eq!(answer("try (\"ab\" * .) catch \"no\"", "3 4294967296 -4294967296 0"), "\"ababab\"\"no\"nullnull");
    }

    #[test]
    fn products_are_those_of_jaq() {
        assert_eq!(
            answer("[.[0] * .[1], .[1] * .[0]]", "[3, 4] [\"ab\", 2] [{\"a\": {\"b\": 1}}, {\"a\": {\"c\": 2}}]"),
            "[12,12][\"abab\",\"abab\"][{\"a\":{\"b\":1,\"c\":2}},{\"a\":{\"c\":2,\"b\":1}}]"
        );
        // Of several factors, in the order of jaq.
        assert_eq!(answer("[(.[], 10) * (.[], 100)]", "[1, 2]"), "[1,2,100,2,4,200,10,20,1000]");
        assert_eq!(answer(".[] *= .[0]", "[2, 3]"), "[4,6]");
        assert_eq!(answer(".[] *= (1000, 2000)", "[2]"), "[2000][4000]");
        assert_eq!(answer("\"a\" * 1000 | length", "1"), "1000");
        assert_eq!(answer("{} * 1000", "1"), "cannot calculate {} * 1000; ");
    }

    #[test]
    fn mistakes_have_their_places_in_the_text() {
        let wrong = Filter::new(".a * .b | nosuch").unwrap_err().to_string();
        assert!(wrong.starts_with("there is no filter `nosuch`, at column 11"), "{wrong}");
    }
}
