use crate::Violation;
use crate::wire::{LENGTH, first_frame};
use std::io::{self, Read};

const USUAL: usize = 16 << 10;
const LEAST: usize = 4 << 10;

/// A longer buffer is freed once it is empty. The room for a longer message grows as its bytes arrive, so an
/// announcement alone takes no memory.
const LARGE: usize = 16 << 20;

/// Bytes that were received and not yet taken. Messages are borrowed from the buffer.
#[derive(Debug)]
pub(crate) struct Received {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    most: usize,
}

impl Received {
    /// `most` is the length of the longest message.
    pub(crate) fn new(most: usize) -> Self {
        Received { bytes: vec![0; USUAL], start: 0, end: 0, most }
    }

    pub(crate) fn allow(&mut self, most: usize) {
        self.most = most;
    }

    /// Reads once. 0 means that the peer sends no more.
    pub(crate) fn read(&mut self, from: &mut impl Read) -> io::Result<usize> {
        self.make_room();
        let read = from.read(&mut self.bytes[self.end..])?;
        self.end += read;
        Ok(read)
    }

    /// Whether the last read left no room: the source may have more.
    pub(crate) fn is_full(&self) -> bool {
        self.end == self.bytes.len()
    }

    /// The next message that has arrived as a whole.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, Violation> {
        let Some((body, length)) = first_frame(&self.bytes[self.start..self.end], self.most)? else { return Ok(None) };
        self.start += length;
        Ok(Some(body))
    }

    /// Bytes that were received and not taken.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let rest = self.bytes[self.start..self.end].to_vec();
        self.start = self.end;
        rest
    }

    /// Makes room for a read. Moves the rest of a message only if there is no room after it.
    fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.bytes.len() > LARGE {
                self.bytes = vec![0; USUAL];
            }
        }
        let pending = &self.bytes[self.start..self.end];
        let announced = pending.first_chunk::<LENGTH>().map_or(0, |length| u32::from_le_bytes(*length) as usize);
        let come = LARGE.max(2 * pending.len());
        let whole = (LENGTH + announced.min(self.most)).min(come).max(pending.len() + LEAST);
        if self.start + whole > self.bytes.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if whole > self.bytes.len() {
                self.bytes.resize(whole.next_power_of_two(), 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Frame;
    use proptest::prelude::*;

    /// Returns at most this many bytes in one read.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let some = self.0.len().min(self.1).min(bytes.len());
            bytes[..some].copy_from_slice(&self.0[..some]);
            self.0 = &self.0[some..];
            Ok(some)
        }
    }

    proptest! {
        #[test]
        fn messages_arrive_whole_from_any_pieces(
            lengths in prop::collection::vec(prop_oneof![0..100_usize, 0..60_000_usize], 0..20),
            piece in prop_oneof![Just(1_usize), 2..100_usize, Just(100_000_usize)],
        ) {
            let mut sent = Vec::new();
            for (i, length) in lengths.iter().enumerate() {
                Frame::begin(&mut sent).put_raw(&vec![i as u8; *length]).end();
            }
            let (mut received, mut pieces) = (Received::new(60_000), Pieces(&sent, piece));
            let mut found = Vec::new();
            while received.read(&mut pieces).unwrap() > 0 {
                while let Some(body) = received.next().unwrap() {
                    prop_assert!(body.iter().all(|byte| usize::from(*byte) == found.len()));
                    found.push(body.len());
                }
            }
            prop_assert_eq!(found, lengths);
        }
    }

    #[test]
    fn a_too_long_message_takes_no_memory() {
        let mut received = Received::new(1000);
        received.read(&mut &[255; 100][..]).unwrap();
        assert!(received.next().is_err());
        received.make_room();
        assert!(received.bytes.len() <= USUAL);
    }
}
