use super::answers::When;
use super::prepare::Entry;
use crate::bytes::Bytes;
use crate::parameters::Each;
use serde::{Deserialize, Serialize};

/// What the answers before the end depend on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Running {
    /// The rows so far. They are always counted: another text may ask for them.
    rows: u64,
    /// The greatest time so far, and whether it was a text.
    greatest: Option<(u64, bool)>,
    /// The keys that have changed since their last answers; `None` until a fold answers before the end.
    pub(super) changed: Option<Vec<Bytes>>,
}

impl Running {
    pub(super) fn count(&mut self, rows: usize) {
        self.rows += rows as u64;
    }

    /// The answers that are due before a row.
    pub(super) fn before(&mut self, each: Each, row: &Entry) -> Option<When> {
        let Each::Time(length) = each else { return None };
        let is_due = self.greatest.is_some_and(|(greatest, _)| row.time / length > greatest / length);
        let when = is_due.then(|| self.now(each));
        if self.greatest.is_none_or(|(greatest, _)| row.time > greatest) {
            self.greatest = Some((row.time, row.time_is_text));
        }
        when
    }

    /// Counts a row. Returns the answers that are due after it.
    pub(super) fn after(&mut self, each: Each) -> Option<When> {
        self.rows += 1;
        matches!(each, Each::Rows(many) if self.rows.is_multiple_of(many)).then_some(When::Rows(self.rows))
    }

    /// Of which rows the present answers are.
    pub(super) fn now(&self, each: Each) -> When {
        match each {
            Each::Rows(_) => When::Rows(self.rows),
            Each::Time(length) => {
                When::Before(self.greatest.map(|(time, is_text)| ((time / length + 1) * length, is_text)))
            }
        }
    }
}
