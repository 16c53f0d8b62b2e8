//! Expressions in the languages of stages. Strings have quotes, in which `\(..)` is an expression again, and comments
//! begin with `#`.

use crate::Span;

/// Whether an argument that begins with this text is an expression. A minus sign may come first, but not before digits.
pub(crate) fn begins_expression(rest: &str) -> bool {
    match rest.as_bytes() {
        [b'.' | b'{' | b'[' | b'(' | b'$', ..] | [b'-', b'(' | b'$', ..] => true,
        [b'-', b'.', next, ..] => !next.is_ascii_digit(),
        _ => false,
    }
}

/// The length of an expression, which ends before a comma or bracket that closes what is around it. Spaces and comments
/// at its end are no part of it.
pub(crate) fn expression(rest: &str) -> usize {
    up_to(rest, &[','])
}

/// As [`expression`], for one in place of a stage: it ends before the next stage or statement.
pub(crate) fn stage_expression(rest: &str) -> usize {
    up_to(rest, &['|', ';'])
}

/// An expression with spaces in place of its comments, so that a stage that reads the text itself finds none. The other
/// parts keep their places.
pub(crate) fn without_comments(code: &str) -> String {
    let mut text = code.to_owned();
    for (_, at) in Parts::of(code).filter(|(part, _)| *part == Part::Comment) {
        text.replace_range(at.clone(), &" ".repeat(at.len()));
    }
    text
}

/// An expression without comments, and with spaces only in strings and between names: the same text for expressions
/// that differ in nothing else.
pub(crate) fn plain(code: &str) -> String {
    let (mut plain, mut is_apart, mut parts) = (String::with_capacity(code.len()), false, Parts::of(code));
    for (part, at) in parts.by_ref() {
        let text = &code[at];
        if matches!(part, Part::Space | Part::Comment) {
            is_apart = true;
            continue;
        }
        // `. and .b` is not `.and.b`.
        if is_apart && plain.ends_with(is_in_name) && text.starts_with(is_in_name) {
            plain.push(' ');
        }
        plain.push_str(text);
        is_apart = false;
    }
    plain + &code[parts.at..]
}

fn is_in_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '.' | '$' | '@')
}

fn up_to(rest: &str, ends: &[char]) -> usize {
    let (mut parts, mut end) = (Parts::of(rest), 0);
    loop {
        let text = &rest[parts.at..];
        // `|=` is an update, no pipe.
        if parts.open.is_empty() && text.starts_with(ends) && !text.starts_with("|=") {
            break;
        }
        match parts.next() {
            Some((Part::Space | Part::Comment, _)) => {}
            Some((_, at)) => end = at.end,
            None => break,
        }
    }
    end
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// A character outside of strings.
    Code,
    Space,
    /// A character of a string, or an escape sequence.
    Text,
    /// A comment, without the end of its line.
    Comment,
}

/// The parts of an expression, up to a bracket that closes what is around it.
struct Parts<'a> {
    code: &'a str,
    at: usize,
    /// The brackets and strings that are open.
    open: Vec<char>,
}

impl<'a> Parts<'a> {
    fn of(code: &'a str) -> Self {
        Parts { code, at: 0, open: Vec::new() }
    }
}

impl Iterator for Parts<'_> {
    type Item = (Part, Span);

    fn next(&mut self) -> Option<(Part, Span)> {
        let begin = self.at;
        let mut letters = self.code[begin..].chars();
        let letter = letters.next()?;
        let (mut length, mut part) = (letter.len_utf8(), Part::Code);
        match letter {
            // Within a string only its end and interpolations count.
            '"' if self.open.last() == Some(&'"') => {
                part = Part::Text;
                self.open.pop();
            }
            '\\' if self.open.last() == Some(&'"') => {
                part = Part::Text;
                let escaped = letters.next();
                length += escaped.map_or(0, char::len_utf8);
                self.open.extend(escaped.filter(|escaped| *escaped == '('));
            }
            _ if self.open.last() == Some(&'"') => part = Part::Text,
            '#' => {
                part = Part::Comment;
                length = self.code[begin..].find('\n').unwrap_or(self.code.len() - begin);
            }
            '"' => {
                part = Part::Text;
                self.open.push('"');
            }
            '(' | '[' | '{' => self.open.push(letter),
            _ if letter.is_whitespace() => part = Part::Space,
            ')' | ']' | '}' if self.open.pop().is_none() => return None,
            _ => {}
        }
        self.at += length;
        Some((part, begin..self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_spaces_are_no_part_of_the_end() {
        for (text, code) in [
            (".a # b, c\n, d", ".a"),
            (
                "{a: \"#\\\"\", # b }\n c: \"\\( [1, # )\n 2] )\" } # c\n)",
                "{a: \"#\\\"\", # b }\n c: \"\\( [1, # )\n 2] )\" }",
            ),
            (".a |= 3, .b", ".a |= 3"),
            ("\"\u{e9}\\\u{e9}", "\"\u{e9}\\\u{e9}"),
            ("\"\\", "\"\\"),
            ("# a", ""),
            (".a \u{a0}, b", ".a"),
        ] {
            assert_eq!(&text[..expression(text)], code);
        }
        assert_eq!(stage_expression(".a |= (1 | 2) # |\n | b"), 13);
    }

    #[test]
    fn a_comment_becomes_spaces_and_a_hash_in_a_string_stays() {
        let code = "{n: 1, # \u{e9}, }\n m: \"# \\( 2 # x\n )\"}";
        let expected = "{n: 1,        \n m: \"# \\( 2    \n )\"}";
        assert_eq!(without_comments(code), expected);
        assert_eq!(without_comments(code).len(), code.len());
    }

    #[test]
    fn expressions_that_differ_in_comments_and_spaces_have_one_plain_text() {
        for (one, other) in [
            (".a*2", ".a * 2"),
            ("{a}", "{ a # b\n }"),
            ("if .a then 1 else 2 end", "if  .a\nthen 1 else 2 end"),
            ("\"a b\" + \"\\(.c+1)\"", "\"a b\"+\"\\( .c + 1 )\""),
        ] {
            assert_eq!(plain(one), plain(other));
        }
        for (one, other) in [
            (".and.b", ". and .b"),
            ("\"a b\"", "\"ab\""),
            ("\"#a\"", "\"#b\""),
            (". .a", "..a"),
            ("1 2", "12"),
            (") b", ") c"),
        ] {
            assert_ne!(plain(one), plain(other));
        }
    }
}
