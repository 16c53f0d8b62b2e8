//! The inputs that a filter finds in a block.

use super::answer::{What, Where};
use super::{Flow, Run};
use crate::demand::Demand;
use crate::native::Unknown;
use crate::parse::Parser;
use jaq_json::Val;
use memchr::memchr;
use millstream_io::text::line_ends;

/// Counts the lines of a text up to a place that only moves forward, so each byte is looked at once.
struct LineCount<'a> {
    text: &'a [u8],
    at: usize,
    lines: u64,
}

impl<'a> LineCount<'a> {
    fn new(text: &'a [u8]) -> Self {
        LineCount { text, at: 0, lines: 0 }
    }

    /// The number of line feeds before `at`, which is not before the `at` of the last call.
    fn before(&mut self, at: usize) -> u64 {
        self.lines += line_ends(&self.text[self.at..at]);
        self.at = at;
        self.lines
    }
}

impl Run<'_> {
    /// Each JSON value is an input.
    pub(super) fn values(&mut self, blocks: &[(&str, &[u8])]) {
        for (block, (name, bytes)) in blocks.iter().enumerate() {
            self.block = block;
            self.begin(name);
            let (mut parser, mut lines) = (Parser::new(bytes), LineCount::new(bytes));
            while let Some(begin) = parser.begin() {
                if self.is_done_natively(&mut parser, bytes) {
                    self.answer.values += 1;
                    continue;
                }
                let place = Where { line: self.answer.lines + lines.before(begin), number: self.answer.values };
                match parser.value(&self.compiled.demand) {
                    Ok(value) => {
                        self.answer.values += 1;
                        if self.evaluate(value, place).is_break() {
                            return;
                        }
                    }
                    Err(invalid) => {
                        let line = self.answer.lines + lines.before(invalid.at.max(begin));
                        self.say(Where { line, ..place }, What::Invalid(invalid.why.to_string()));
                        return;
                    }
                }
            }
            self.answer.lines += lines.before(bytes.len());
        }
    }

    /// Answers the next value without jaq, and returns whether it did. If not, the parser is where it was.
    fn is_done_natively(&mut self, parser: &mut Parser<'_>, bytes: &[u8]) -> bool {
        let Some((native, tree)) = &self.compiled.native else { return false };
        let begin = parser.place();
        if native.has_no_conditions() && native.is_identity() {
            return self.is_copied(parser, begin);
        }
        let mut is_selected = false;
        let done = parser.find_all(tree, native.paths().len(), bytes, |fields| {
            if !native.selects(fields)? {
                return Ok(None);
            }
            if native.is_identity() {
                is_selected = true;
                return Err(Unknown);
            }
            native.write(fields, &mut self.answer.out).map(Some)
        });
        match done {
            Some(Ok(written)) => {
                if written.is_some() {
                    self.answer.out.push(b'\n');
                    self.answer.last = written;
                }
                true
            }
            _ => {
                parser.go_back(begin);
                is_selected && self.is_copied(parser, begin)
            }
        }
    }

    /// Writes the next value as it is, and returns whether it did. If not, the parser is where it was.
    fn is_copied(&mut self, parser: &mut Parser<'_>, begin: usize) -> bool {
        let before = self.answer.out.len();
        if parser.compact(&mut self.answer.out).is_err() {
            self.answer.out.truncate(before);
            parser.go_back(begin);
            return false;
        }
        self.answer.last = Some(!matches!(&self.answer.out[before..], b"null" | b"false"));
        self.answer.out.push(b'\n');
        true
    }

    /// Each line is an input, without its end.
    pub(super) fn lines(&mut self, blocks: &[(&str, &[u8])]) {
        for (block, (name, bytes)) in blocks.iter().enumerate() {
            self.block = block;
            self.begin(name);
            let mut rest = *bytes;
            while !rest.is_empty() {
                let end = memchr(b'\n', rest);
                let line = &rest[..end.unwrap_or(rest.len())];
                let place = Where { line: self.answer.lines, number: self.answer.values };
                self.answer.values += 1;
                if self.evaluate(Val::utf8_str(line.to_vec()), place).is_break() {
                    return;
                }
                self.answer.lines += u64::from(end.is_some());
                rest = &rest[end.map_or(rest.len(), |end| end + 1)..];
            }
        }
    }

    /// One input: all values of all blocks.
    pub(super) fn all_values(&mut self, blocks: &[(&str, &[u8])]) {
        let mut values = Vec::new();
        for (block, (_, bytes)) in blocks.iter().enumerate() {
            self.block = block;
            let (mut parser, mut lines) = (Parser::new(bytes), LineCount::new(bytes));
            while parser.begin().is_some() {
                match parser.value(&Demand::All) {
                    Ok(value) => values.push(value),
                    Err(invalid) => {
                        let line = self.answer.lines + lines.before(invalid.at);
                        self.say(Where { line, number: values.len() as u64 }, What::Invalid(invalid.why.to_string()));
                        return;
                    }
                }
            }
            self.answer.lines += lines.before(bytes.len());
        }
        self.answer.values = values.len() as u64;
        self.begin(blocks.last().map_or("", |(name, _)| name));
        let _: Flow = self.evaluate(values.into_iter().collect(), Where::default());
    }

    /// One input: the text of all blocks.
    pub(super) fn all_text(&mut self, blocks: &[(&str, &[u8])]) {
        let text: Vec<u8> = blocks.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        self.answer.lines = line_ends(&text);
        self.answer.values = 1;
        self.block = blocks.len().saturating_sub(1);
        self.begin(blocks.last().map_or("", |(name, _)| name));
        let _: Flow = self.evaluate(Val::utf8_str(text), Where::default());
    }
}
