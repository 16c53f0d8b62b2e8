//! What leaves a program, by slot.

use crate::rows::Dead;

/// What leaves at a number: text for its sinks, and the rows that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// For each sink that gets something, its number in the text and the bytes.
    pub parts: Vec<(usize, Vec<u8>)>,
    /// The rows that failed, each once.
    pub dead: Vec<Dead>,
}

impl Written {
    /// Two as one. A row that failed before two sinks parted has come to both.
    pub(crate) fn both(one: &Written, other: &Written) -> Written {
        let mut both = one.clone();
        both.parts.extend(other.parts.iter().cloned());
        both.dead.extend(other.dead.iter().filter(|dead| !one.dead.contains(dead)).cloned());
        both
    }

    /// What a step at END has written, and what comes after it.
    pub(crate) fn together(own: Option<Written>, last: Option<Written>) -> Option<Written> {
        match (own, last) {
            (Some(mut own), Some(last)) => {
                own.parts.extend(last.parts);
                own.dead.extend(last.dead);
                Some(own)
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

impl Dead {
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
