//! Guesses the meaning of words that are not a call: arguments without brackets, as in a shell, and expressions that
//! begin with a name, as in jq. One message says what to write, and replaces the others.

use super::{Name, Noted, Parsed, Parser};
use crate::code::{expression, stage_expression};
use crate::words::Word;
use crate::wrong::Mistake;
use crate::{Literal, Span};

/// What the parser must know of the stages to guess what was meant.
pub(crate) trait Stages {
    /// What a program begins with.
    fn begins(&self) -> &str;
    /// Whether there is a stage of this name.
    fn is_stage(&self, name: &str) -> bool;
    /// Whether there is no stage of this name, but a help for it.
    fn has_help(&self, name: &str) -> bool;
    /// Whether a stage reads only what is piped into it, and has a parameter for expressions.
    fn takes_expressions(&self, stage: &str) -> bool;
    /// The stage that makes values by an expression; `None` if this is not an expression.
    fn of_expression(&self, code: &str) -> Option<&'static str>;
}

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
            Word::Sign(b'=') if !self.is_compared() => {
                let help = format!("a parameter and its value are written as `{name}: .user`");
                let at = beyond.clone();
                return self.fail(Mistake::new("`:` is expected here", at, "").help(help));
            }
            Word::Sign(b'.') if is_near => return Ok(()),
            // Characters that are no words may separate the two.
            Word::Sign(b'(' | b')' | b'|' | b',' | b'@' | b';' | b'}' | b':')
                if self.text[at.end..beyond.start].trim().is_empty() =>
            {
                return Ok(());
            }
            _ => {}
        }
        let (to, name) = (from + self.argument(from), *name);
        let given = &self.text[from..to];
        let help = format!("write `.{given}` if `{name}` is a field; any other expression needs brackets: `({given})`");
        self.instead(from..to, Mistake::new(EXPRESSION, from..to, "").help(help));
        Err(Noted)
    }

    /// Skips an argument that is an expression without brackets, and notes how to write it. With `is_sure` it skips
    /// only a valid expression, since a parameter with a name need not be an expression.
    pub(super) fn bare_expression(&mut self, outer: &Name<'a>, is_sure: bool) -> bool {
        let Some(stages) = self.stages.filter(|stages| stages.takes_expressions(outer.text)) else { return false };
        let Some((word, at)) = self.words.get(self.next) else { return false };
        let (from, end) = (at.start, at.end);
        let to = from + self.argument(from);
        let given = &self.text[from..to];
        let next = self.words.get(self.next + 1).map(|(word, _)| word);
        let maker = stages.of_expression(given);
        let brackets = || format!("write `({given})`");
        let help = match word {
            Word::Literal(Literal::Code(_)) => return false,
            Word::Literal(_) | Word::Name(_) if to <= end => return false,
            Word::Name("not") if given[3..].trim_start().starts_with(['.', '(']) => {
                let of = given["not".len()..].trim();
                return self.pass_over(from..to, EXPRESSION, format!("`not` comes last: write `({of} | not)`"));
            }
            Word::Literal(_) | Word::Sign(b'@') => brackets(),
            Word::Name(_) if next == Some(&Word::Sign(b'(')) || maker.is_some() => brackets(),
            Word::Name(name) if next != Some(&Word::Sign(b'=')) || self.is_compared() => {
                format!("write `.{given}` if `{name}` is a field; any other expression needs brackets: `({given})`")
            }
            Word::Name(_) | Word::Sign(_) => return false,
        };
        if is_sure && maker.is_none() {
            return false;
        }
        if let Word::Name(name) = word
            && maker == Some(outer.text)
            && stages.is_stage(name)
            && is_one_call(given, name)
        {
            let what = format!("`{name}` is a stage, and stands in `{}`", outer.text);
            let help = format!(
                "write `{given}` in the place of `{0}({given})`; as an expression it needs brackets: `{0}(({given}))`",
                outer.text
            );
            return self.pass_over(from..to, &what, help);
        }
        self.pass_over(from..to, EXPRESSION, help)
    }

    /// Skips an expression that is written after `|` in place of a stage, and notes how to write it.
    pub(super) fn expression_as_stage(&mut self) -> bool {
        let Some(stages) = self.stages else { return false };
        if let Some((Word::Name(name), _)) = self.words.get(self.next)
            && (stages.is_stage(name) || stages.has_help(name))
        {
            return false;
        }
        let behind = self.words[self.next - 1].1.end;
        let rest = self.text[behind..].trim_start();
        let code = &rest[..stage_expression(rest)];
        let Some(stage) = stages.of_expression(code) else { return false };
        let is_argument = code.starts_with(['.', '{', '[', '(', '$']) && expression(code) == code.len();
        let written = if is_argument { code.to_owned() } else { format!("({code})") };
        let from = self.text.len() - rest.len();
        let what = "an expression stands in the place of a stage";
        self.pass_over(from..from + code.len(), what, format!("write `{stage}({written})`"))
    }

    /// Skips words, and notes one mistake in place of all others there.
    fn pass_over(&mut self, at: Span, what: &str, help: String) -> bool {
        self.next += self.words[self.next..].iter().take_while(|(_, word)| word.start < at.end).count();
        self.instead(at.clone(), Mistake::new(what, at, "").help(help));
        self.is_guessed = true;
        true
    }

    /// Whether `==` follows the next word.
    fn is_compared(&self) -> bool {
        let sign = |n: usize| matches!(self.words.get(self.next + n), Some((Word::Sign(b'='), _)));
        sign(1) && sign(2)
    }

    /// Refuses the last word, which is the value of a parameter but no literal.
    pub(super) fn no_literal<T>(&mut self, at: Span, what: &str) -> Parsed<T> {
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
        expression(&self.text[from..])
    }

    /// Notes a mistake, and drops all others in the same place.
    fn instead(&mut self, at: Span, mistake: Mistake) {
        self.mistakes.retain(|other| !at.contains(&other.at.start));
        self.mistakes.push(mistake);
    }
}

/// Whether this is one call of `name`, and nothing after it.
fn is_one_call(given: &str, name: &str) -> bool {
    let arguments = given[name.len()..].strip_prefix('(');
    arguments.is_some_and(|arguments| expression(arguments) + 1 == arguments.trim_end().len())
}
