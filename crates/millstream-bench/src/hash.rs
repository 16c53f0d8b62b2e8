//! One number for any number of bytes, so that outputs of gigabytes can be compared.

use std::io::{self, Write};

/// A hash that does not depend on how the bytes are cut. It does not withstand an attacker.
#[derive(Debug, Default)]
pub(crate) struct Hash {
    sum: u64,
    length: u64,
    /// The bytes of an incomplete word. Their number is the last three bits of the length.
    word: [u8; WORD],
}

const WORD: usize = 8;

impl Hash {
    pub(crate) fn finish(mut self) -> u64 {
        let length = self.length;
        self.word[length as usize % WORD..].fill(0);
        self.mix(u64::from_le_bytes(self.word));
        self.mix(length);
        self.sum
    }

    fn mix(&mut self, word: u64) {
        self.sum = (self.sum.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let held = self.length as usize % WORD;
        self.length += bytes.len() as u64;
        let mut rest = bytes;
        if held > 0 {
            let (front, later) = bytes.split_at(bytes.len().min(WORD - held));
            self.word[held..held + front.len()].copy_from_slice(front);
            if held + front.len() < WORD {
                return Ok(bytes.len());
            }
            self.mix(u64::from_le_bytes(self.word));
            rest = later;
        }
        let (words, left) = rest.as_chunks();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        self.word[..left.len()].copy_from_slice(left);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&[u8]]) -> u64 {
        let mut hash = Hash::default();
        pieces.iter().for_each(|piece| hash.write_all(piece).unwrap());
        hash.finish()
    }

    #[test]
    fn the_hash_does_not_depend_on_the_cuts() {
        let text: Vec<u8> = (0..100).collect();
        for at in 0..text.len() {
            let (front, later) = text.split_at(at);
            assert_eq!(of(&[front, later]), of(&[&text]));
        }
        let single: Vec<_> = text.chunks(1).collect();
        assert_eq!(of(&single), of(&[&text]));
    }

    #[test]
    fn other_bytes_have_another_hash() {
        let all = [&b""[..], b"\0", b"\0\0", b"a", b"b", b"12345678", b"123456780", b"12345678\0", b"23456781"];
        let mut hashes: Vec<_> = all.map(|text| of(&[text])).to_vec();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), all.len());
    }
}
