//! Guesses the meaning of words that are not a call: arguments without brackets, as in a shell, and expressions that
//! begin with a name, as in jq. One message says what to write, and replaces the others.

use super::{Given, Name, Noted, Parsed, Parser};
use crate::Span;
use crate::words::Word;
use crate::wrong::Mistake;

const EXPRESSION: &str = "an expression begins with `.`, or needs brackets";

impl<'a> Parser<'a> {
    /// Skips arguments without brackets after a name, and notes how to write them.
    pub(super) fn without_brackets(&mut self, stage: &Name<'a>, is_first: bool) {
        let Some((word, at)) = self.words.get(self.next) else { return };
        let begins = match word {
            Word::Literal(_) => true,
            Word::Name(name) => *name != "let",
            // A word after the first name is a field.
            Word::Sign(sign) => !is_first && matches!(sign, b'.' | b'{'),
        };
        let between = &self.text[stage.at.end..at.start];
        if !begins || self.depth > 0 || between.contains(|letter: char| letter == '\n' || !letter.is_whitespace()) {
            return;
        }
        let (from, is_name) = (at.start, matches!(word, Word::Name(_)));
        let is_whole = matches!(word, Word::Literal(_));
        let second = self.words.get(self.next + 1).map_or(from, |(_, at)| at.start);
        let line = self.text[from..].find('\n').map_or(self.end, |length| from + length);
        let is_end = |(word, at): &(Word<'_>, Span)| at.start >= line || matches!(word, Word::Sign(b'|' | b';'));
        self.next += self.words[self.next..].iter().take_while(|word| !is_end(word)).count();
        let to = from + self.text[from..self.at().start.min(line)].trim_end().len();
        let given = &self.text[from..to];
        let name =
            if is_name && second < to { self.text[from..second].trim_end_matches(char::is_whitespace) } else { "" };
        let given = if is_first && is_name {
            format!("\"{given}\"")
        } else if !name.is_empty() && from + name.len() < second && !name.contains(['.', '"']) {
            // `count by .user`
            format!("{name}: {}", &self.text[second..to])
        } else if is_whole && second < to && self.text[second..].starts_with('.') {
            // `top 3 .qty`
            format!("{}, {}", self.text[from..second].trim_end(), &self.text[second..to])
        } else {
            given.to_owned()
        };
        let what = format!("the arguments of `{}` need brackets", stage.text);
        let end = if is_name { "; a stage follows after `|`, and `;` ends a statement" } else { "" };
        let help = format!("write `{}({given})`{end}", stage.text);
        self.instead(from..to, Mistake::new(what, from..to, "").help(help));
        self.is_guessed = true;
    }

    /// Refuses an argument that is neither a wire nor a literal.
    pub(super) fn is_argument(&mut self) -> Parsed<()> {
        let (Some((Word::Name(name), at)), Some((next, beyond))) =
            (self.words.get(self.next), self.words.get(self.next + 1))
        else {
            return Ok(());
        };
        let (from, is_near) = (at.start, at.end == beyond.start);
        match next {
            Word::Sign(b'=') if !matches!(self.words.get(self.next + 2), Some((Word::Sign(b'='), _))) => {
                let help = format!("a parameter and its value are written as `{name}: .user`");
                let at = beyond.clone();
                return self.fail(Mistake::new("`:` is expected here", at, "").help(help));
            }
            Word::Sign(b'.') if is_near => return Ok(()),
            // There may be letters without a meaning between them.
            Word::Sign(b'(' | b')' | b'|' | b',' | b'@' | b';' | b'}' | b':')
                if self.text[at.end..beyond.start].trim().is_empty() =>
            {
                return Ok(());
            }
            _ => {}
        }
        let (to, name) = (from + self.argument(from), *name);
        let given = &self.text[from..to];
        let help = format!("write `({given})`, or `.{name}` if that is a field");
        self.instead(from..to, Mistake::new(EXPRESSION, from..to, "").help(help));
        Err(Noted)
    }

    /// Refuses the value of a parameter, which has been parsed and is not a literal.
    pub(super) fn no_literal(&mut self, at: Span, what: &str) -> Parsed<Given<'a>> {
        let help = match self.words.get(self.next - 1) {
            Some((Word::Name(name), _)) => {
                let given = &self.text[at.start..at.start + self.argument(at.start)];
                format!("a field is written as `.{name}`; any other expression needs brackets: `({given})`")
            }
            _ => EXPRESSION.to_owned(),
        };
        self.fail(Mistake::new(what, at, "").help(help))
    }

    /// The length of the argument that begins here, up to a comma or to the bracket that ends the call.
    fn argument(&self, from: usize) -> usize {
        crate::words::expression(&self.text[from..])
    }

    /// Notes a mistake, and drops all others in the same place.
    fn instead(&mut self, at: Span, mistake: Mistake) {
        self.mistakes.retain(|other| !at.contains(&other.at.start));
        self.mistakes.push(mistake);
    }
}
