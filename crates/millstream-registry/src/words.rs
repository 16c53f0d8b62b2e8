//! Text as words, each with its place.

use crate::wrong::Mistake;
use crate::{Literal, Span};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Word<'a> {
    Name(&'a str),
    Literal(Literal),
    Sign(u8),
}

/// The words, and what is none.
pub(crate) fn words(text: &str) -> (Vec<(Word<'_>, Span)>, Vec<Mistake>) {
    let (mut words, mut mistakes, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match letter {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            letter if letter.is_whitespace() => letter.len_utf8(),
            letter if letter.is_ascii_alphabetic() || letter == '_' => {
                let length = run(rest, |letter| letter.is_ascii_alphanumeric() || letter == '_');
                let name = &rest[..length];
                let word = match name {
                    "true" | "false" => Word::Literal(Literal::Truth(name == "true")),
                    name => Word::Name(name),
                };
                words.push((word, at..at + length));
                length
            }
            letter if letter.is_ascii_digit() || letter == '-' => {
                let length = 1 + run(&rest[1..], |letter| letter.is_ascii_digit() || matches!(letter, '.' | '_'));
                match number(&rest[..length]) {
                    Some(number) => words.push((Word::Literal(number), at..at + length)),
                    None => mistakes.push(Mistake::new("this is no number", at..at + length, "")),
                }
                length
            }
            '"' => match quoted(rest) {
                Some((text, length)) => {
                    words.push((Word::Literal(Literal::Text(text)), at..at + length));
                    length
                }
                None => {
                    let mistake = Mistake::new("a text has no end", at..at + 1, "it begins here");
                    mistakes.push(
                        mistake.help("a text ends with `\"`; in it `\\\"`, `\\\\` and `\\n` are escape sequences"),
                    );
                    rest.len()
                }
            },
            '(' | ')' | '{' | '}' | '|' | ',' | ':' | ';' | '=' | '.' | '@' => {
                words.push((Word::Sign(letter as u8), at..at + 1));
                1
            }
            letter => {
                let length = letter.len_utf8();
                mistakes.push(Mistake::new(format!("`{letter}` means nothing here"), at..at + length, ""));
                length
            }
        };
        at += length;
    }
    (words, mistakes)
}

/// The length of the letters at the beginning that `is_in`.
fn run(text: &str, is_in: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !is_in(letter)).unwrap_or(text.len())
}

fn number(text: &str) -> Option<Literal> {
    let digits = text.replace('_', "");
    match digits.parse() {
        Ok(whole) => Some(Literal::Whole(whole)),
        Err(_) if digits.contains('.') => digits.parse().ok().map(Literal::Real),
        Err(_) => None,
    }
}

/// The text in quotes at the beginning, and its length with them.
fn quoted(rest: &str) -> Option<(String, usize)> {
    let (mut text, mut letters) = (String::new(), rest.char_indices().skip(1));
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((text, at + 1)),
            '\\' => text.push(match letters.next()?.1 {
                'n' => '\n',
                letter @ ('"' | '\\') => letter,
                _ => return None,
            }),
            letter => text.push(letter),
        }
    }
    None
}
