//! The operators of jq where jaq has others.
//!
//! A string times a number is the string that often, and the number may come from the input. jaq then asks for all the
//! memory at once, and a process that does not get it is aborted. A division by zero is a number in jaq, and a
//! remainder has a fraction. So these operators go through functions of ours, where constants do not show that jaq's
//! do the same. An update takes the first output of its filter, and a step of `reduce` the last one, or null.

use crate::syntax;
use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::{Opt, Part, Path};
use jaq_json::{Error, Num, Val, ValR};
use std::mem;

/// The functions behind `*`, `/`, `%`, `|=` and `reduce`, and the variable behind `*=`. No text can have these names.
pub(crate) const PRODUCT: &str = "!product";
pub(crate) const QUOTIENT: &str = "!quotient";
pub(crate) const REMAINDER: &str = "!remainder";
pub(crate) const FIRST: &str = "!first";
pub(crate) const LAST: &str = "!last";
const OPERAND: &str = "$!operand";

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
        return Err(Error::str("Repeat string result too long"));
    }
    left * right
}

/// The quotient of two values.
pub(crate) fn quotient(left: Val, right: Val) -> ValR {
    if matches!((&left, &right), (Val::Num(_), Val::Num(by)) if *by == Num::Int(0)) {
        return Err(Error::math(left, Math::Div, right));
    }
    left / right
}

/// The remainder of two values, of numbers without their fractions.
pub(crate) fn remainder(left: Val, right: Val) -> ValR {
    let (Val::Num(of), Val::Num(by)) = (&left, &right) else { return left % right };
    match (whole(of), whole(by)) {
        (Some(_), Some(Num::Int(0))) => Err(Error::math(left, Math::Rem, right)),
        (Some(of), Some(by)) => Ok(Val::Num(of % by)),
        _ => Ok(Val::from(f64::NAN)),
    }
}

/// A number without its fraction; `None` for `nan`. As in jq, one that is too large is the largest of the machine.
fn whole(number: &Num) -> Option<Num> {
    let x = match number {
        Num::Float(x) => *x,
        Num::Dec(digits) => digits.parse().unwrap_or(f64::NAN),
        number => return Some(number.clone()),
    };
    (!x.is_nan()).then_some(Num::Int(x as isize))
}

/// Replaces the operators in a filter by calls of functions of ours. Returns whether there were any.
pub(crate) fn replace(term: &mut Term<&str>) -> bool {
    syntax::each(term, |_| false, replace_one)
}

fn replace_one(term: &mut Term<&str>) -> bool {
    match term {
        Term::BinOp(left, BinaryOp::Math(op), right) => {
            let Some(name) = function(*op, left, right) else { return false };
            *term = Term::Call(name, vec![mem::take(&mut **left), mem::take(&mut **right)]);
        }
        Term::BinOp(path, BinaryOp::UpdateMath(op), right) => {
            let Some(name) = function(*op, &Term::Id, right) else { return false };
            let (path, right) = (mem::take(path), mem::take(right));
            let made = Box::new(Term::Call(name, vec![Term::Id, Term::Var(OPERAND)]));
            let update = Box::new(Term::BinOp(path, BinaryOp::Update, made));
            *term = Term::BinOp(right, BinaryOp::Pipe(Some(Pattern::Var(OPERAND))), update);
        }
        Term::BinOp(_, BinaryOp::Update, update) if !is_one(update) => {
            **update = Term::Call(FIRST, vec![mem::take(&mut **update)]);
        }
        Term::Fold("reduce", _, _, arguments) if arguments.len() == 2 && !is_one(&arguments[1]) => {
            arguments[1] = Term::Call(LAST, vec![mem::take(&mut arguments[1])]);
        }
        _ => return false,
    }
    true
}

/// The function behind an operator; `None` if jaq's operator does the same with these operands.
fn function(op: Math, left: &Term<&str>, right: &Term<&str>) -> Option<&'static str> {
    let number = |term: &Term<&str>| if let Term::Num(digits) = term { digits.parse::<f64>().ok() } else { None };
    let (name, is_same) = match op {
        Math::Mul => (PRODUCT, number(left).is_some() && number(right).is_some()),
        Math::Div => (QUOTIENT, number(right).is_some_and(|by| by != 0.0)),
        Math::Rem => (REMAINDER, false),
        Math::Add | Math::Sub => return None,
    };
    (!is_same).then_some(name)
}

/// Whether it is certain that a filter has one output for every input, or fails.
fn is_one(term: &Term<&str>) -> bool {
    match term {
        Term::Id | Term::Num(_) | Term::Var(_) | Term::Arr(_) => true,
        Term::Str(_, parts) => {
            parts.iter().all(|part| if let StrPart::Term(term) = part { is_one(term) } else { true })
        }
        Term::Obj(fields) => fields.iter().all(|(key, value)| is_one(key) && value.as_ref().is_none_or(is_one)),
        Term::Neg(inner) => is_one(inner),
        Term::BinOp(left, how, right) => match how {
            BinaryOp::Pipe(None | Some(Pattern::Var(_)))
            | BinaryOp::Math(_)
            | BinaryOp::Cmp(_)
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Alt => is_one(left) && is_one(right),
            BinaryOp::Update => is_place(left),
            BinaryOp::Assign | BinaryOp::UpdateMath(_) | BinaryOp::UpdateAlt => is_place(left) && is_one(right),
            BinaryOp::Comma | BinaryOp::Pipe(Some(_)) => false,
        },
        Term::IfThenElse(cases, rest) => {
            let rest = rest.as_ref().is_none_or(|rest| is_one(rest));
            rest && cases.iter().all(|(condition, then)| is_one(condition) && is_one(then))
        }
        Term::Path(inner, Path(parts)) => {
            let is_part = |(part, opt): &(Part<Term<&str>>, Opt)| match (part, opt) {
                (Part::Index(index), Opt::Essential) => is_one(index),
                (Part::Range(from, to), Opt::Essential) => {
                    (from.is_some() || to.is_some()) && from.iter().chain(to).all(is_one)
                }
                _ => false,
            };
            is_one(inner) && parts.iter().all(is_part)
        }
        Term::Call(PRODUCT | QUOTIENT | REMAINDER | "true" | "false" | "null" | "not", arguments) => {
            arguments.iter().all(is_one)
        }
        _ => false,
    }
}

/// Whether an update of this path has one output for each value.
fn is_place(path: &Term<&str>) -> bool {
    matches!(path, Term::Path(inner, _) if matches!(**inner, Term::Id))
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
