//! How many bytes a journal, its segments and its values may have.

use super::record::HEADER;
use super::{Journal, JournalError, JournalOptions};
use std::path::Path;

/// A value may have this number of bytes.
const LONGEST: usize = 1 << 30;
/// The bytes before a value in a group.
pub(super) const LENGTH: usize = 4;
/// A journal has at least this many segments when it is full, so that some of them can be trimmed.
const SEGMENTS: u64 = 8;

/// The most bytes of a value in a journal that may have this many.
pub(super) fn longest(max_bytes: u64) -> usize {
    let all = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    LONGEST.min(all.saturating_sub(HEADER + LENGTH))
}

impl JournalOptions {
    /// Refuses a journal that could hold no value.
    pub(super) fn check(&self, dir: &Path) -> Result<(), JournalError> {
        let (max, least) = (self.max_bytes, (HEADER + LENGTH) as u64 + 1);
        if max < least { Err(JournalError::TooSmall { path: dir.to_owned(), max, least }) } else { Ok(()) }
    }

    /// The most bytes of a group that has several values.
    pub(super) fn group(&self) -> usize {
        self.group_bytes.min(LONGEST)
    }

    /// A segment with this many bytes ends.
    pub(super) fn segment(&self) -> u64 {
        self.segment_bytes.min(self.max_bytes / SEGMENTS)
    }
}

impl Journal {
    /// Whether more than this many eighths of it are taken.
    pub(crate) fn has_eighths(&self, eighths: u64) -> bool {
        self.bytes() > self.options.max_bytes / 8 * eighths
    }
}
