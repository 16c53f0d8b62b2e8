//! Cuts bytes that come in any pieces into blocks of whole lines.

use memchr::{memchr_iter, memrchr};
use std::fmt;

/// The bytes that are appended and counted at a time.
const NEAR: usize = 16 << 10;

/// Cuts bytes that come in any pieces into blocks of whole lines.
///
/// ```
/// use millstream::net::WholeLines;
///
/// let mut lines = WholeLines::new(1024);
/// assert_eq!(lines.push(b"one\ntw")?, Some(b"one\n".to_vec()));
/// assert_eq!(lines.push(b"o")?, None);
/// assert_eq!(lines.push(b"\n\nthree")?, Some(b"two\n\n".to_vec()));
/// assert_eq!(lines.end(), Some(b"three".to_vec()));
/// # Ok::<(), millstream::net::LineTooLong>(())
/// ```
#[derive(Debug)]
pub struct WholeLines {
    longest: usize,
    /// The beginning of a line.
    begun: Vec<u8>,
}

/// A line is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineTooLong {
    /// The most bytes of a line, counting its end.
    pub longest: usize,
}

impl fmt::Display for LineTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a line has more than {} bytes", self.longest)
    }
}

impl std::error::Error for LineTooLong {}

impl WholeLines {
    /// Lines may have at most this many bytes, counting their ends.
    #[must_use]
    pub fn new(longest: usize) -> Self {
        WholeLines { longest, begun: Vec::new() }
    }

    /// The whole lines that these bytes complete, if there are any. Keeps less than a line for the next call.
    ///
    /// # Errors
    ///
    /// If a line is too long. The lines of this call before it are lost.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, LineTooLong> {
        let mut lines = Vec::new();
        Ok((self.push_onto(bytes, &mut lines)? > 0).then_some(lines))
    }

    /// As [`push`](WholeLines::push), but appends the lines to a buffer, whose memory can be reused. Returns the number
    /// of lines.
    pub(crate) fn push_onto(&mut self, bytes: &[u8], lines: &mut Vec<u8>) -> Result<u64, LineTooLong> {
        let Some(last) = memrchr(b'\n', bytes) else {
            self.begin(bytes)?;
            return Ok(0);
        };
        let (whole, rest) = bytes.split_at(last + 1);
        if !self.fit(whole) {
            return Err(LineTooLong { longest: self.longest });
        }
        lines.reserve(self.begun.len() + whole.len());
        lines.append(&mut self.begun);
        let mut count = 0;
        // In parts that fit a core's nearest cache, so that memory is read once.
        for part in whole.chunks(NEAR) {
            lines.extend_from_slice(part);
            count += bytecount::count(part, b'\n') as u64;
        }
        self.begin(rest)?;
        Ok(count)
    }

    /// Whether all of these lines are short enough, the first one together with its earlier part.
    fn fit(&self, whole: &[u8]) -> bool {
        if self.begun.len() + whole.len() <= self.longest {
            // A piece that is shorter than the limit, as most are, has no line that is too long.
            return true;
        }
        // The first line began in an earlier piece; each other line begins after the one before it.
        let (mut before, mut begins) = (self.begun.len(), 0);
        memchr_iter(b'\n', whole).all(|end| {
            let fits = before + end + 1 - begins <= self.longest;
            (before, begins) = (0, end + 1);
            fits
        })
    }

    fn begin(&mut self, bytes: &[u8]) -> Result<(), LineTooLong> {
        if self.begun.len() + bytes.len() > self.longest {
            return Err(LineTooLong { longest: self.longest });
        }
        self.begun.extend_from_slice(bytes);
        Ok(())
    }

    /// The last line, if it has no end.
    #[must_use]
    pub fn end(self) -> Option<Vec<u8>> {
        Some(self.begun).filter(|begun| !begun.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::{LineTooLong, WholeLines};
    use proptest::prelude::*;

    /// The lines of a text, with their ends.
    fn lines(text: &[u8]) -> Vec<&[u8]> {
        text.split_inclusive(|byte| *byte == b'\n').collect()
    }

    proptest! {
        #[test]
        fn whole_lines_are_the_lines_however_they_are_cut(
            text in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'a'), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(0_usize..20, 0..40),
            longest in 1_usize..30,
        ) {
            let mut whole = WholeLines::new(longest);
            let (mut rest, mut got, mut refused) = (&text[..], Vec::new(), false);
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, left) = rest.split_at(cut.min(rest.len()));
                rest = left;
                match whole.push(piece) {
                    Ok(Some(block)) => {
                        prop_assert_eq!(block.last(), Some(&b'\n'));
                        got.extend(block);
                    }
                    Ok(None) => {}
                    Err(LineTooLong { .. }) => {
                        refused = true;
                        break;
                    }
                }
            }
            let too_long = lines(&text).iter().any(|line| line.len() > longest);
            prop_assert_eq!(refused, too_long);
            if refused {
                // Whole lines from the beginning, all short enough.
                prop_assert!(text.starts_with(&got));
                prop_assert!(lines(&got).iter().all(|line| line.len() <= longest));
            } else {
                got.extend(whole.end().unwrap_or_default());
                prop_assert_eq!(got, text);
            }
        }
    }
}
