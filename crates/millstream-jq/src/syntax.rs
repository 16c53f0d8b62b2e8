//! The text of a filter, read as jq reads it where jaq reads it otherwise.

use jaq_core::load::lex::{StrPart, Tok, Token};
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::load::{Lexer, Parser};
use jaq_core::ops::Math;
use jaq_core::path::{Part, Path};
use memchr::memchr;
use std::mem;

/// The variable that marks a `%` while a text is parsed. No text can contain this name.
const REST: &str = "$!%";

/// The longest chain that stays as it is.
const CHAIN: usize = 32;

/// Parses a filter; `None` if it is none. Also returns whether it has long lists, which are [`balanced`].
///
/// In jaq `%` binds more tightly than `*` and `/`, in jq as tightly. So `a % b` is parsed as `a * $!% * b`.
pub(crate) fn parse(text: &str) -> Option<(Term<&str>, bool)> {
    let tokens = marked(Lexer::new(text).lex().ok()?);
    let mut term = Parser::new(&tokens).parse(|parser| parser.term()).ok()?;
    let is_long = each(&mut term, balanced, |_| false);
    each(&mut term, |_| false, remainder);
    Some((term, is_long))
}

/// Whether there is nothing but white space and comments.
pub(crate) fn is_empty(text: &str) -> bool {
    Lexer::new(text).lex().is_ok_and(|tokens| tokens.is_empty())
}

fn marked(tokens: Vec<Token<&str>>) -> Vec<Token<&str>> {
    let mut all = Vec::with_capacity(tokens.len());
    for Token(text, mut kind) in tokens {
        match &mut kind {
            Tok::Block(inner) => *inner = marked(mem::take(inner)),
            Tok::Str(parts) => parts.iter_mut().for_each(|part| {
                if let StrPart::Term(Token(_, Tok::Block(inner))) = part {
                    *inner = marked(mem::take(inner));
                }
            }),
            Tok::Sym if text == "%" => {
                all.extend([Token("*", Tok::Sym), Token(REST, Tok::Var), Token("*", Tok::Sym)]);
                continue;
            }
            _ => {}
        }
        all.push(Token(text, kind));
    }
    all
}

fn remainder(term: &mut Term<&str>) -> bool {
    let Term::BinOp(left, how, _) = term else { return false };
    let Term::BinOp(of, _, mark) = &mut **left else { return false };
    let is_marked = matches!(**mark, Term::Var(REST));
    if is_marked {
        let of = mem::take(&mut **of);
        (**left, *how) = (of, BinaryOp::Math(Math::Rem));
    }
    is_marked
}

/// Makes a balanced tree of a long chain of `,`, `or` or `and`, which is as deep as it is long: its evaluation calls
/// itself for each level. These three have the same outputs wherever the brackets are.
fn balanced(term: &mut Term<&str>) -> bool {
    let operator: fn() -> BinaryOp<&'static str> = match term {
        Term::BinOp(_, BinaryOp::Comma, _) => || BinaryOp::Comma,
        Term::BinOp(_, BinaryOp::Or, _) => || BinaryOp::Or,
        Term::BinOp(_, BinaryOp::And, _) => || BinaryOp::And,
        _ => return false,
    };
    let is_same = |other: &BinaryOp<&str>| mem::discriminant(other) == mem::discriminant(&operator());
    let (mut length, mut first) = (1, &*term);
    while let Term::BinOp(left, other, _) = first
        && is_same(other)
    {
        (length, first) = (length + 1, left);
    }
    if length <= CHAIN {
        return false;
    }
    let (mut items, mut rest) = (Vec::with_capacity(length), mem::take(term));
    loop {
        match rest {
            Term::BinOp(left, other, right) if is_same(&other) => {
                items.push(*right);
                rest = *left;
            }
            first => {
                items.push(first);
                break;
            }
        }
    }
    items.reverse();
    *term = tree(items, operator);
    true
}

fn tree(mut items: Vec<Term<&str>>, operator: fn() -> BinaryOp<&'static str>) -> Term<&str> {
    let right = items.split_off(items.len() / 2);
    match (items.len(), right.len()) {
        (0, _) => right.into_iter().next().unwrap_or_default(),
        _ => Term::BinOp(tree(items, operator).into(), operator(), tree(right, operator).into()),
    }
}

/// What is done to a term. Returns whether it was changed.
type How<'s> = fn(&mut Term<&'s str>) -> bool;

/// Calls `first` for this term, then does the same for every term in it, and then calls `how` for this one. Returns
/// whether one of them was true for any.
pub(crate) fn each<'s>(term: &mut Term<&'s str>, first: How<'s>, how: How<'s>) -> bool {
    let is_first = first(term);
    let each = move |term: &mut Term<&'s str>| each(term, first, how);
    let inner = match term {
        Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) | Term::Arr(None) => false,
        Term::Str(_, parts) => any(parts, |part| match part {
            StrPart::Term(term) => each(term),
            StrPart::Str(_) | StrPart::Char(_) => false,
        }),
        Term::Arr(Some(inner)) | Term::Neg(inner) | Term::Label(_, inner) => each(inner),
        Term::Obj(fields) => any(fields, |(key, value)| each(key) | value.as_mut().is_some_and(each)),
        Term::BinOp(left, operator, right) => {
            let bound = match operator {
                BinaryOp::Pipe(Some(pattern)) => in_pattern(pattern, first, how),
                _ => false,
            };
            each(left) | each(right) | bound
        }
        Term::Fold(_, source, pattern, arguments) => {
            each(source) | in_pattern(pattern, first, how) | any(arguments, each)
        }
        Term::TryCatch(inner, caught) => each(inner) | caught.as_mut().is_some_and(|caught| each(caught)),
        Term::IfThenElse(cases, rest) => {
            let rest = rest.as_mut().is_some_and(|rest| each(rest));
            any(cases, |(condition, then)| each(condition) | each(then)) | rest
        }
        Term::Def(definitions, inner) => any(definitions, |Def { body, .. }| each(body)) | each(inner),
        Term::Call(_, arguments) => any(arguments, each),
        Term::Path(inner, Path(parts)) => {
            let parts = any(parts, |(part, _)| match part {
                Part::Index(index) => each(index),
                Part::Range(from, to) => from.as_mut().is_some_and(each) | to.as_mut().is_some_and(each),
            });
            each(inner) | parts
        }
    };
    how(term) | inner | is_first
}

fn in_pattern<'s>(pattern: &mut Pattern<&'s str>, first: How<'s>, how: How<'s>) -> bool {
    match pattern {
        Pattern::Var(_) => false,
        Pattern::Arr(patterns) => any(patterns, |pattern| in_pattern(pattern, first, how)),
        Pattern::Obj(fields) => any(fields, |(key, pattern)| each(key, first, how) | in_pattern(pattern, first, how)),
    }
}

/// Whether `found` is true for one of them. It is called for all.
fn any<T>(all: &mut [T], mut found: impl FnMut(&mut T) -> bool) -> bool {
    all.iter_mut().fold(false, |any, one| any | found(one))
}

/// A text in which each pair of escape sequences that is one character, such as `\ud83d\ude00`, is this character. jaq
/// takes no half of a character.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(crate) text: String,
    /// Where each such character ends.
    ends: Vec<usize>,
}

impl Joined {
    /// `None` if there is no such pair.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (mut joined, mut copied, mut at) = (Joined { text: String::new(), ends: Vec::new() }, 0, 0);
        while let Some(found) = text.as_bytes().get(at..).and_then(|rest| memchr(b'\\', rest)) {
            let begin = at + found;
            // What follows a backslash does not begin a sequence.
            at = begin + 2;
            if let Some(letter) = pair(&text[begin..]) {
                joined.text.push_str(&text[copied..begin]);
                joined.text.push(letter);
                joined.ends.push(joined.text.len());
                (copied, at) = (begin + PAIR, begin + PAIR);
            }
        }
        joined.text.push_str(&text[copied..]);
        (copied > 0).then_some(joined)
    }

    /// The place in the text as it was.
    pub(crate) fn place(&self, at: usize) -> usize {
        at + self.ends.iter().filter(|end| **end <= at).count() * (PAIR - 4)
    }
}

/// The bytes of a pair. The character has four.
const PAIR: usize = 12;

fn pair(text: &str) -> Option<char> {
    let half = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        // `from_str_radix` takes a sign.
        u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
    };
    let units = [half(text)?, half(text.get(PAIR / 2..)?)?];
    char::decode_utf16(units).next()?.ok().filter(|letter| letter.len_utf16() == 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_characters_and_places_stay() {
        for text in ["", ".a", r#""\n\u00e9\u00e8 \\ud83d\ude00 \ud83d \ude00""#, r#""\ud83d\u00e9\\""#, "\\", "é\\"] {
            assert!(Joined::of(text).is_none(), "{text}");
        }
        let text = r#""é\\\ud83d\ude00 \uD83D\uDE00" | f"#;
        let joined = Joined::of(text).unwrap();
        assert_eq!(joined.text, r#""é\\😀 😀" | f"#);
        assert_eq!(joined.place(joined.text.find('f').unwrap()), text.find('f').unwrap());
        assert_eq!(joined.place(1), 1);
    }

    #[test]
    fn a_remainder_binds_as_a_product_does() {
        for (text, same) in [
            ("6 / 2 % 2", "(6 / 2) % 2"),
            ("2 * 3 % 4 * 5 % 7", "(((2 * 3) % 4) * 5) % 7"),
            ("1 + 2 % 3 - 4", "(1 + (2 % 3)) - 4"),
            ("2 * (3 % 4)", "2 * (3 % 4)"),
            ("f(1 % 2; \"\\(8 / 4 % 3)\")", "f(1 % 2; \"\\((8 / 4) % 3)\")"),
        ] {
            assert_eq!(format!("{:?}", parse(text)), format!("{:?}", parse(same)), "{text}");
        }
        assert!(parse("1 %").is_none() && parse("% 1").is_none() && parse("1 % % 2").is_none());
    }
}
