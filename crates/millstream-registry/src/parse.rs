//! Parses words to a block: names and places, without any knowledge of stages.

mod guess;
mod keep;
mod tree;

pub(crate) use guess::Stages;
pub(crate) use keep::Kept;
pub(crate) use tree::{Block, Call, Given, Name, Program, Statement, Step, Value};

use crate::words::{Word, words};
use crate::wrong::Mistake;
use crate::{Literal, Span};

const PARAMETER: &str = "a parameter is a number, a time, a text in quotes, an expression, `true` or `false`";

/// How deep calls may be nested.
const DEEPEST: usize = 64;

/// Parses a text as a block, as far as it is one, and returns its mistakes.
pub(crate) fn parse(text: &str) -> (Option<Block<'_>>, Vec<Mistake>) {
    let (words, mistakes) = words(text);
    let mut parser = Parser::new(text, words, mistakes, None);
    let block = parser.block().ok();
    (block, parser.mistakes)
}

/// Parses a text as a program, as far as it is one, and returns its mistakes.
pub(crate) fn parse_program<'a>(text: &'a str, stages: &'a dyn Stages) -> (Program<'a>, Vec<Mistake>) {
    let (words, mistakes) = words(text);
    let mut parser = Parser::new(text, words, mistakes, Some(stages));
    let program = parser.program();
    (program, parser.mistakes)
}

/// The parser has noted a mistake.
struct Noted;
type Parsed<T> = Result<T, Noted>;

struct Parser<'a> {
    text: &'a str,
    words: Vec<(Word<'a>, Span)>,
    next: usize,
    /// The length of the text.
    end: usize,
    depth: usize,
    mistakes: Vec<Mistake>,
    /// The stages of a program; `None` in a block.
    stages: Option<&'a dyn Stages>,
    /// Whether arguments of the value were skipped, so it is incomplete.
    is_guessed: bool,
}

impl<'a> Parser<'a> {
    fn new(
        text: &'a str,
        words: Vec<(Word<'a>, Span)>,
        mistakes: Vec<Mistake>,
        stages: Option<&'a dyn Stages>,
    ) -> Self {
        Parser { text, words, next: 0, end: text.len(), depth: 0, mistakes, stages, is_guessed: false }
    }

    fn program(&mut self) -> Program<'a> {
        let mut steps = Vec::new();
        while self.peek().is_some() {
            if self.peek() == Some(&Word::Name("let")) {
                if let Ok(statement) = self.statement() {
                    steps.push(Step::Bind(statement));
                }
                continue;
            }
            let step = if self.is_keep() { self.keep().map(Step::Keep) } else { self.value().map(Step::Leave) };
            let step = step.and_then(|step| {
                if self.peek().is_some() {
                    self.sign(b';', "a stage follows after `|`, and `;` ends a statement")?;
                }
                Ok(step)
            });
            match step {
                Ok(_) if std::mem::take(&mut self.is_guessed) => {}
                Ok(step) => steps.push(step),
                Err(Noted) => {
                    // Skips at least one word, so the loop ends.
                    self.next += usize::from(self.peek() != Some(&Word::Name("let")));
                    self.skip_statement();
                }
            }
        }
        Program { steps }
    }

    /// `let NAME = VALUE;`
    fn statement(&mut self) -> Parsed<Statement<'a>> {
        self.next += 1;
        let name = match self.name("a statement is `let NAME = VALUE;`") {
            Ok(name) => name,
            Err(noted) => {
                self.skip_statement();
                return Err(noted);
            }
        };
        let value = self.bound();
        if value.is_err() {
            self.skip_statement();
        }
        let is_guessed = std::mem::take(&mut self.is_guessed);
        Ok(Statement { name, value: value.ok().filter(|_| !is_guessed) })
    }

    fn block(&mut self) -> Parsed<Block<'a>> {
        const BEGINNING: &str = "a text begins with `|NAME| {`, where NAME is its input";
        self.sign(b'|', BEGINNING)?;
        let input = self.name(BEGINNING)?;
        self.sign(b'|', BEGINNING)?;
        self.sign(b'{', BEGINNING)?;
        let mut statements = Vec::new();
        while self.peek() == Some(&Word::Name("let")) {
            statements.push(self.statement()?);
        }
        let result = if self.is_sign(b'}') {
            let at = self.at();
            self.note(Mistake::new("the text has no output", at, "").help("a value without `;` stands before the `}`"));
            None
        } else {
            self.value().ok()
        };
        if result.is_some() {
            self.sign(b'}', "the block ends with a value and `}`")?;
            if self.peek().is_some() {
                let at = self.at();
                self.note(Mistake::new("more after the end of the block", at, ""));
            }
        }
        Ok(Block { input, statements, result })
    }

    /// The part of a statement after its name.
    fn bound(&mut self) -> Parsed<Value<'a>> {
        self.sign(b'=', "a statement is `let NAME = VALUE;`")?;
        let value = self.value()?;
        self.sign(b';', "a statement ends with `;`")?;
        Ok(value)
    }

    /// Skips the rest of a statement, to find the mistakes in later ones.
    fn skip_statement(&mut self) {
        while let Some(word) = self.peek() {
            let is_end = *word == Word::Sign(b';');
            if *word == Word::Name("let") || *word == Word::Sign(b'}') && self.stages.is_none() {
                return;
            }
            self.next += 1;
            if is_end {
                return;
            }
        }
    }

    /// A value, and the stages that it is piped through: `a | f(b)` is `f(a, b)`.
    fn value(&mut self) -> Parsed<Value<'a>> {
        let mut value = self.unit()?;
        while self.is_sign(b'|') {
            self.next += 1;
            if self.expression_as_stage() {
                continue;
            }
            let stage = self.name("after `|` comes a stage, such as `count`, `where(.qty > 3)` or `map({id, qty})`")?;
            value = Value::Call(self.call(stage, Some(value))?);
        }
        Ok(value)
    }

    fn unit(&mut self) -> Parsed<Value<'a>> {
        let begins = self.stages.filter(|_| self.depth == 0).map(Stages::begins);
        let name =
            self.name(begins.unwrap_or("a value is a wire, a wire's field, or a call of a stage, `stage(wire)`"))?;
        let mut value = if self.is_sign(b'(') || self.is_sign(b'@') {
            Value::Call(self.call(name, None)?)
        } else {
            if self.stages.is_some() {
                self.without_brackets(&name, true);
            }
            Value::Wire(name)
        };
        while self.is_sign(b'.') {
            self.next += 1;
            let field = self.name("a field has a name")?;
            self.is_shallow(value.height() + 1, field.at.clone())?;
            value = Value::Field(Box::new(value), field);
        }
        Ok(value)
    }

    /// Notes a mistake if calls and fields are nested deeper than the limit.
    fn is_shallow(&mut self, height: usize, at: Span) -> Parsed<()> {
        if height <= DEEPEST {
            return Ok(());
        }
        let what = format!("calls are nested more than {DEEPEST} deep");
        self.fail(Mistake::new(what, at, "").help("`let` gives a part a name"))
    }

    /// A call of a stage, which reads `first` before the wires in parentheses; without `first` it needs parentheses.
    fn call(&mut self, stage: Name<'a>, first: Option<Value<'a>>) -> Parsed<Call<'a>> {
        let version = if self.is_sign(b'@') {
            self.next += 1;
            self.version()?
        } else {
            1
        };
        self.is_shallow(self.depth + 1, stage.at.clone())?;
        let end = self.words[self.next - 1].1.end;
        let (more, parameters, end) = if first.is_some() && !self.is_sign(b'(') {
            if self.stages.is_some() {
                self.without_brackets(&stage, false);
            }
            (Vec::new(), Vec::new(), end)
        } else {
            self.depth += 1;
            let arguments = self.arguments(&stage, first.is_some());
            self.depth -= 1;
            arguments?
        };
        let reads: Vec<_> = first.into_iter().chain(more).collect();
        let height = 1 + reads.iter().map(Value::height).max().unwrap_or(0);
        self.is_shallow(height, stage.at.clone())?;
        let at = stage.at.start..end;
        Ok(Call { stage, version, reads, parameters, at, height })
    }

    fn version(&mut self) -> Parsed<u32> {
        let at = self.at();
        match self.word() {
            Some((Word::Literal(Literal::Whole(version)), _)) if *version > 0 && *version <= i64::from(u32::MAX) => {
                Ok(*version as u32)
            }
            _ => self.fail(Mistake::new("a version is a number, at least 1", at, "")),
        }
    }

    /// The arguments in parentheses, and where the parentheses end.
    fn arguments(&mut self, stage: &Name<'a>, is_piped: bool) -> Parsed<(Vec<Value<'a>>, Vec<Given<'a>>, usize)> {
        self.sign(b'(', "a call is `stage(wire)`")?;
        let (mut reads, mut parameters) = (Vec::new(), Vec::new());
        while !self.is_sign(b')') {
            if matches!(self.words.get(self.next + 1), Some((Word::Sign(b':'), _))) {
                parameters.extend(self.parameter(stage)?);
            } else if is_piped && self.bare_expression(stage, false) {
                // The expression was skipped, with a note.
            } else if let Some((Word::Literal(literal), at)) = self.words.get(self.next) {
                parameters.push(Given { name: None, literal: literal.clone(), at: at.clone() });
                self.next += 1;
            } else {
                self.is_argument()?;
                reads.push(self.value()?);
            }
            if self.peek().is_none() {
                self.sign(b')', "it ends the call")?;
            } else if !self.is_sign(b')') {
                self.sign(b',', "`,` or `)` follows")?;
            }
        }
        let end = self.at().end;
        self.next += 1;
        Ok((reads, parameters, end))
    }

    /// A parameter with a name; `None` if its value was an expression without brackets.
    fn parameter(&mut self, stage: &Name<'a>) -> Parsed<Option<Given<'a>>> {
        let name = self.name("a parameter has a name")?;
        self.next += 1;
        if self.bare_expression(stage, true) {
            return Ok(None);
        }
        let at = self.at();
        match self.word() {
            Some((Word::Literal(literal), _)) => Ok(Some(Given { name: Some(name), literal: literal.clone(), at })),
            _ => self.no_literal(at, PARAMETER),
        }
    }

    fn name(&mut self, help: &str) -> Parsed<Name<'a>> {
        let at = self.at();
        match self.word() {
            Some((Word::Name(text), _)) if *text != "let" => Ok(Name { text, at }),
            _ => {
                self.next = self.next.saturating_sub(1);
                self.fail(Mistake::new("a name is expected here", at, "").help(help))
            }
        }
    }

    fn sign(&mut self, sign: u8, help: &str) -> Parsed<()> {
        if self.is_sign(sign) {
            self.next += 1;
            return Ok(());
        }
        let at = self.at();
        self.fail(Mistake::new(format!("`{}` is expected here", char::from(sign)), at, "").help(help))
    }

    fn is_sign(&self, sign: u8) -> bool {
        self.peek() == Some(&Word::Sign(sign))
    }

    fn peek(&self) -> Option<&Word<'a>> {
        self.words.get(self.next).map(|(word, _)| word)
    }

    fn word(&mut self) -> Option<&(Word<'a>, Span)> {
        self.next += 1;
        self.words.get(self.next - 1)
    }

    /// The place of the next word, or of the end.
    fn at(&self) -> Span {
        self.words.get(self.next).map_or(self.end..self.end, |(_, at)| at.clone())
    }

    fn note(&mut self, mistake: Mistake) {
        self.mistakes.push(mistake);
    }

    fn fail<T>(&mut self, mistake: Mistake) -> Parsed<T> {
        self.note(mistake);
        Err(Noted)
    }
}
