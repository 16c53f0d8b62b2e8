//! Splits text into words, each with its place.

use crate::code::{begins_expression, expression, without_comments};
use crate::wrong::Mistake;
use crate::{Literal, Span};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Word<'a> {
    Name(&'a str),
    Literal(Literal),
    Sign(u8),
}

/// The words, and a mistake for each part that is not a word.
pub(crate) fn words(text: &str) -> (Vec<(Word<'_>, Span)>, Vec<Mistake>) {
    let (mut words, mut mistakes, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match letter {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '#' => rest.find('\n').unwrap_or(rest.len()),
            _ if begins_argument(&words) && begins_expression(rest) => {
                let length = expression(rest);
                let code = without_comments(&rest[..length]);
                words.push((Word::Literal(Literal::Code(code)), at..at + length));
                length
            }
            '`' => match rest[1..].find('`') {
                Some(length) => {
                    let code = rest[1..=length].to_owned();
                    words.push((Word::Literal(Literal::Code(code)), at..at + length + 2));
                    length + 2
                }
                None => {
                    let mistake = Mistake::new("this expression is not closed", at..at + 1, "it begins here");
                    mistakes.push(mistake.help("an expression in backquotes ends with a backquote"));
                    rest.len()
                }
            },
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
                let digits = 1 + run(&rest[1..], |letter| letter.is_ascii_digit() || matches!(letter, '.' | '_'));
                let length = digits + run(&rest[digits..], |letter| letter.is_ascii_alphabetic());
                match number(&rest[..digits], &rest[digits..length]) {
                    Some(number) => words.push((Word::Literal(number), at..at + length)),
                    None if length > digits => {
                        let mistake = Mistake::new("this is neither a number nor a time", at..at + length, "");
                        mistakes.push(mistake.help("times are written as `500ms`, `30s`, `5m`, `2h` or `1d`"));
                    }
                    None => mistakes.push(Mistake::new("this is not a number", at..at + length, "")),
                }
                length
            }
            '"' => match quoted(rest, at, &mut mistakes) {
                Some((text, length)) => {
                    words.push((Word::Literal(Literal::Text(text)), at..at + length));
                    length
                }
                None => {
                    let mistake = Mistake::new("this text is not closed", at..at + 1, "it begins here");
                    mistakes.push(
                        mistake
                            .help("a text ends with `\"`; in it `\\\"`, `\\\\`, `\\n` and `\\t` are escape sequences"),
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
                let help = (letter == '\'').then(|| "texts are written in double quotes: `\"`".to_owned());
                let mistake = Mistake::new(format!("`{letter}` has no meaning here"), at..at + length, "");
                mistakes.push(mistake.help_if(help));
                length
            }
        };
        at += length;
    }
    (words, mistakes)
}

/// The length of the first letters that `is_in` accepts.
fn run(text: &str, is_in: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !is_in(letter)).unwrap_or(text.len())
}

/// Whether an argument of a call comes next.
fn begins_argument(words: &[(Word<'_>, Span)]) -> bool {
    matches!(words.last(), Some((Word::Sign(b'(' | b',' | b':'), _)))
}

fn number(text: &str, unit: &str) -> Option<Literal> {
    let digits = text.replace('_', "");
    if !unit.is_empty() {
        let milliseconds = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        return digits.parse::<u64>().ok()?.checked_mul(milliseconds).map(Duration::from_millis).map(Literal::Time);
    }
    match digits.parse() {
        Ok(whole) => Some(Literal::Whole(whole)),
        Err(_) if digits.contains('.') => digits.parse().ok().map(Literal::Real),
        Err(_) => None,
    }
}

/// The text in quotes at the beginning, which stands at a place, and its length with them; `None` if it has no end. A
/// wrong escape sequence is a mistake.
fn quoted(rest: &str, place: usize, mistakes: &mut Vec<Mistake>) -> Option<(String, usize)> {
    let (mut text, mut letters) = (String::new(), rest.char_indices().skip(1));
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((text, at + 1)),
            '\\' => match letters.next()?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                letter @ ('"' | '\\') => text.push(letter),
                letter => {
                    let at = place + at..place + at + 1 + letter.len_utf8();
                    let mistake = Mistake::new(format!("there is no escape sequence `\\{letter}`"), at, "");
                    mistakes.push(mistake.help("escape sequences are `\\\"`, `\\\\`, `\\n` and `\\t`"));
                }
            },
            letter => text.push(letter),
        }
    }
    None
}
