//! Writes JSON on one line, without building values.

use super::{Invalid, Parser};
use crate::native::Scalar;
use crate::write::write_text;
use memchr::memchr2;

/// Only a full parse can tell what to write, or what is wrong.
pub(crate) struct Unsure;

impl From<Invalid> for Unsure {
    fn from(_: Invalid) -> Self {
        Unsure
    }
}

/// Objects with more fields need a full parse: each key is compared with all keys before it.
const MOST_FIELDS: usize = 24;

impl<'a> Parser<'a> {
    /// Skips the next value, and writes it as a compact writer would. If the answer is unsure, what was written has no
    /// meaning.
    pub(crate) fn compact(&mut self, out: &mut Vec<u8>) -> Result<(), Unsure> {
        let from = self.at;
        match self.peek().ok_or(Unsure)? {
            b'{' => self.nested_compact(|parser| parser.compact_object(out)),
            b'[' => self.nested_compact(|parser| parser.compact_array(out)),
            b'"' => {
                self.pass()?;
                let text = &self.bytes[from + 1..self.at - 1];
                if memchr2(b'\\', 0x7f, text).is_some() {
                    write_text(&super::unescaped(&self.bytes[from..self.at]), out);
                } else {
                    out.extend_from_slice(&self.bytes[from..self.at]);
                }
                Ok(())
            }
            b'0'..=b'9' | b'-' => {
                self.pass()?;
                let digits = &self.bytes[from..self.at];
                Scalar::number(digits).ok_or(Unsure)?;
                out.extend_from_slice(digits);
                Ok(())
            }
            _ => {
                self.pass()?;
                let word = &self.bytes[from..self.at];
                if !matches!(word, b"null" | b"true" | b"false") {
                    return Err(Unsure);
                }
                out.extend_from_slice(word);
                Ok(())
            }
        }
    }

    fn nested_compact(&mut self, inner: impl FnOnce(&mut Self) -> Result<(), Unsure>) -> Result<(), Unsure> {
        if self.depth == super::DEEPEST {
            return Err(Unsure);
        }
        self.depth += 1;
        self.at += 1;
        inner(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn compact_array(&mut self, out: &mut Vec<u8>) -> Result<(), Unsure> {
        out.push(b'[');
        if self.skip_white() == Some(b']') {
            self.at += 1;
            out.push(b']');
            return Ok(());
        }
        loop {
            self.compact(out)?;
            if !self.goes_on(b']')? {
                out.push(b']');
                return Ok(());
            }
            out.push(b',');
        }
    }

    fn compact_object(&mut self, out: &mut Vec<u8>) -> Result<(), Unsure> {
        let mut before = b'{';
        self.fields(|parser, key| {
            out.push(before);
            before = b',';
            write_key(key, out);
            out.push(b':');
            parser.compact(out)
        })?;
        out.extend_from_slice(if before == b'{' { b"{}" } else { b"}" });
        Ok(())
    }

    /// Calls `field` at the value of each field of an object, with the field's key. The parser is after the opening
    /// brace; `field` skips the value.
    pub(super) fn fields(
        &mut self,
        mut field: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Unsure>,
    ) -> Result<(), Unsure> {
        if self.skip_white() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        let (mut keys, mut many): ([&[u8]; MOST_FIELDS], _) = ([&[]; MOST_FIELDS], 0);
        loop {
            let key = self.plain_key().filter(|key| !key.contains(&0x7f)).ok_or(Unsure)?;
            // If two fields have the same name, the second one's value is written at the first one's place.
            if many == MOST_FIELDS || keys[..many].contains(&key) {
                return Err(Unsure);
            }
            keys[many] = key;
            many += 1;
            self.pass()?;
            self.colon()?;
            field(self, key)?;
            if !self.goes_on(b'}')? {
                return Ok(());
            }
        }
    }

    /// Whether another item follows; otherwise the brackets end.
    fn goes_on(&mut self, end: u8) -> Result<bool, Unsure> {
        let next = self.skip_white().ok_or(Unsure)?;
        self.at += 1;
        if next == b',' {
            self.skip_white();
            return Ok(true);
        }
        if next != end {
            return Err(Unsure);
        }
        Ok(false)
    }
}

/// Writes a key without escape sequences, in quotes.
pub(super) fn write_key(key: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(key);
    out.push(b'"');
}
