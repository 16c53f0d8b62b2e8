//! The outputs of a program, by slot.

use crate::rows::{FailedRow, more_of};

/// The outputs at a number: text for its sinks, and the rows that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// For each sink that gets something, its number and the bytes.
    pub parts: Vec<(usize, Vec<u8>)>,
    /// For each sink whose text begins with the header of a table, its number and the header's bytes. A file that has
    /// them already, since an earlier text wrote it, is to get what is behind them.
    pub headers: Vec<(usize, usize)>,
    /// The rows that failed, each once.
    pub dead: Vec<FailedRow>,
}

impl Written {
    /// The rows that failed are put in their order: the stages of a slot have failed after each other, and how many
    /// rows are in a slot is to change nothing.
    pub(crate) fn new(parts: Vec<(usize, Vec<u8>)>, mut dead: Vec<FailedRow>) -> Self {
        dead.sort_by_key(|dead| dead.number);
        Written { parts, headers: Vec::new(), dead }
    }

    /// As [`new`](Written::new), for one sink whose text begins with a header, if it has one, of this length.
    pub(crate) fn table(sink: usize, text: Vec<u8>, header: Option<usize>, dead: Vec<FailedRow>) -> Self {
        let headers = header.map(|bytes| (sink, bytes)).into_iter().collect();
        Written { headers, ..Written::new(vec![(sink, text)], dead) }
    }

    /// The header at the beginning of the text of this sink, if there is one.
    #[must_use]
    pub fn header(&self, sink: usize) -> Option<&[u8]> {
        let (_, bytes) = self.headers.iter().find(|(of, _)| *of == sink)?;
        let (_, text) = self.parts.iter().find(|(of, _)| *of == sink)?;
        text.get(..*bytes)
    }

    /// Two as one. A row that failed before two sinks parted has come to both.
    pub(crate) fn both(one: &Written, other: &Written) -> Written {
        let parts = one.parts.iter().chain(&other.parts).cloned().collect();
        let headers = one.headers.iter().chain(&other.headers).copied().collect();
        let dead = one.dead.iter().chain(more_of(&one.dead, &other.dead)).cloned().collect();
        Written { headers, ..Written::new(parts, dead) }
    }

    /// The text that a step at END has written, and the outputs after it.
    pub(crate) fn together(own: Option<Written>, last: Option<Written>) -> Option<Written> {
        match (own, last) {
            (Some(own), Some(last)) => {
                let parts = own.parts.into_iter().chain(last.parts).collect();
                let headers = own.headers.into_iter().chain(last.headers).collect();
                Some(Written { headers, ..Written::new(parts, own.dead.into_iter().chain(last.dead).collect()) })
            }
            (own, last) => own.or(last),
        }
    }

    /// All bytes of it, for a hash.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (sink, part) in &self.parts {
            bytes.extend_from_slice(&(*sink as u32).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        for dead in &self.dead {
            bytes.extend_from_slice(&dead.number.to_le_bytes());
            bytes.extend_from_slice(dead.why.as_bytes());
        }
        bytes
    }

    /// Whether nothing leaves.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|(_, part)| part.is_empty()) && self.dead.is_empty()
    }
}

impl FailedRow {
    /// The dead letter as JSON on a line.
    #[must_use]
    pub fn json(&self) -> Vec<u8> {
        let text = |text: &str, out: &mut Vec<u8>| millstream_jq::Scalar::Text(text.as_bytes().into()).write(out);
        let mut out = b"{\"file\":".to_vec();
        text(&self.file, &mut out);
        out.extend_from_slice(format!(",\"number\":{},\"stage\":", self.number).as_bytes());
        text(&self.stage, &mut out);
        if !self.path.is_empty() {
            out.extend_from_slice(b",\"path\":");
            text(&self.path, &mut out);
        }
        out.extend_from_slice(b",\"why\":");
        text(&self.why, &mut out);
        if !self.row.is_empty() {
            out.extend_from_slice(b",\"row\":");
            text(&String::from_utf8_lossy(&self.row), &mut out);
        }
        out.extend_from_slice(b"}\n");
        out
    }
}
