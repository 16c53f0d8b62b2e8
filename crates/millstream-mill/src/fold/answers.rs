use super::accumulator::Accumulator;
use super::spec::{Aggregate, Fold, NO_NAME};
use crate::rows::{RowAt, Rows};
use crate::time;
use millstream_core::failure::fail;
use millstream_jq::{Outputs, Scalar};

/// Rows of an answer.
#[derive(Debug, Default)]
pub(super) struct Answers {
    text: Vec<u8>,
    at: Vec<RowAt>,
}

/// Of which rows an answer is.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// Of all.
    AtEnd,
    /// Of a window: its first time and the first one after it, and whether they are written as texts.
    Window(u64, u64, bool),
    /// Of the first n.
    Rows(u64),
    /// Of those that came before the first one whose time is at least this; `None` before the first row.
    Before(Option<(u64, bool)>),
}

/// Whether a key that is an object has a field with a name that the answer has as well. A text cannot be refused for a
/// name that comes with the rows.
fn has_own_name(fold: &Fold, key: &[u8], when: When) -> bool {
    let of_when: &[&str] = match when {
        When::AtEnd => &[],
        When::Window(..) => &["start", "end"],
        When::Rows(_) => &["rows"],
        When::Before(_) => &["end"],
    };
    let computed = fold.aggregates.iter().map(|aggregate| &*aggregate.name);
    let mut fields = Outputs::default();
    let mut is_read = false;
    of_when.iter().copied().chain(computed).any(|name| {
        let mut quoted = Vec::new();
        Scalar::Text(name.as_bytes().into()).write(&mut quoted);
        if !key.windows(quoted.len()).any(|part| part == quoted) {
            return false;
        }
        is_read = is_read || millstream_jq::entries(key, &mut fields);
        fields.iter().step_by(2).any(|field| field == quoted)
    })
}

impl Answers {
    fn end(&mut self, from: usize, number: u64) {
        let Ok(to) = u32::try_from(self.text.len()) else {
            fail("more than 4 GB of answers come at once: fewer keys, or smaller answers, are less")
        };
        self.at.push(RowAt { from: from as u32, to, cells: 0, number });
    }

    /// The row, or the rows, of a key.
    pub(super) fn row(&mut self, fold: &Fold, key: &[u8], all: &[Accumulator], when: When, number: u64) {
        if let ([accumulator], [Aggregate { kind, .. }]) = (all, &fold.aggregates[..])
            && kind.is_rows()
        {
            for row in accumulator.rows(*kind) {
                let from = self.text.len();
                self.text.extend_from_slice(row);
                self.end(from, number);
            }
            return;
        }
        let from = self.text.len();
        self.text.push(b'{');
        self.when(when);
        if fold.key.is_some() {
            match key.strip_prefix(b"{").and_then(|key| key.strip_suffix(b"}")) {
                Some([]) if fold.key_name.is_none() => {}
                Some(fields) if fold.key_name.is_none() && !has_own_name(fold, key, when) => {
                    self.text.extend_from_slice(fields);
                    self.text.push(b',');
                }
                _ => {
                    self.name(fold.key_name.as_deref().unwrap_or(NO_NAME));
                    self.text.extend_from_slice(key);
                    self.text.push(b',');
                }
            }
        }
        for (n, (aggregate, accumulator)) in fold.aggregates.iter().zip(all).enumerate() {
            if n > 0 {
                self.text.push(b',');
            }
            self.name(&aggregate.name);
            accumulator.write(aggregate.kind, &mut self.text);
        }
        self.text.push(b'}');
        self.end(from, number);
    }

    /// The fields that say of which rows the answer is.
    fn when(&mut self, when: When) {
        match when {
            When::AtEnd => return,
            When::Window(start, end, is_text) => {
                self.text.extend_from_slice(b"\"start\":");
                time::write(start, is_text, &mut self.text);
                self.text.extend_from_slice(b",\"end\":");
                time::write(end, is_text, &mut self.text);
            }
            When::Rows(rows) => {
                self.text.extend_from_slice(b"\"rows\":");
                self.text.extend_from_slice(rows.to_string().as_bytes());
            }
            When::Before(None) => self.text.extend_from_slice(b"\"end\":null"),
            When::Before(Some((end, is_text))) => {
                self.text.extend_from_slice(b"\"end\":");
                time::write(end, is_text, &mut self.text);
            }
        }
        self.text.push(b',');
    }

    fn name(&mut self, name: &str) {
        Scalar::Text(name.as_bytes().into()).write(&mut self.text);
        self.text.push(b':');
    }

    pub(super) fn rows(self, of: &Rows) -> Rows {
        of.with_json(self.text, self.at, Vec::new())
    }
}
