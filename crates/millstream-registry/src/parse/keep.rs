//! `keep NAME;`

use super::{Parsed, Parser};
use crate::words::Word;
use crate::{Literal, Span};

/// A stage that keeps its state although it has changed.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) name: String,
    pub(crate) at: Span,
}

impl Parser<'_> {
    /// Whether a statement `keep NAME` begins here. Without a name after it, `keep` is a name like any other.
    pub(super) fn is_keep(&self) -> bool {
        let next = self.words.get(self.next + 1).map(|(word, _)| word);
        self.peek() == Some(&Word::Name("keep"))
            && matches!(next, Some(Word::Name(_) | Word::Literal(Literal::Text(_))))
    }

    /// `keep NAME, NAME`: names of wires, or of other stages in quotes.
    pub(super) fn keep(&mut self) -> Parsed<Vec<Kept>> {
        let mut kept = Vec::new();
        loop {
            self.next += 1;
            let at = self.at();
            let name = match self.words.get(self.next) {
                Some((Word::Literal(Literal::Text(name)), _)) => {
                    self.next += 1;
                    name.clone()
                }
                _ => self.name("`keep` is followed by names of stages")?.text.to_owned(),
            };
            kept.push(Kept { name, at });
            if !self.is_sign(b',') {
                return Ok(kept);
            }
        }
    }
}
