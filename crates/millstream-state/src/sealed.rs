//! JSON that shows whether it is whole: a line of JSON, and a last line with its kind, format, length and checksum.
//!
//! The last line has the same shape in every format, so that a program can say that a file is later than itself.

use crate::StateError;
use crate::disk::{DiskFile, read_exact};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::path::Path;

/// A kind of sealed JSON.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// The last format that this version reads.
    pub(crate) format: u32,
}

/// Why there is no value.
#[derive(Debug)]
pub(crate) enum Unsealed {
    Later(u32),
    Damaged(String),
    Io(io::Error),
}

impl Unsealed {
    /// The error for the file of this kind.
    pub(crate) fn at(self, path: &Path, kind: &Kind) -> StateError {
        match self {
            Unsealed::Later(format) => StateError::LaterFormat { path: path.to_owned(), format, known: kind.format },
            Unsealed::Damaged(why) => StateError::damaged(path, why),
            Unsealed::Io(error) => StateError::io("read", path)(error),
        }
    }
}

impl Kind {
    /// The length of the last line.
    fn seal_length(&self) -> usize {
        self.name.len() + " 0001 000000000000 00000000\n".len()
    }

    /// The value as JSON between two line ends, and its seal.
    pub(crate) fn write(&self, value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
        Ok(self.seal_json(&serde_json::to_vec(value)?))
    }

    /// These bytes of JSON between two line ends, and their seal.
    pub(crate) fn seal_json(&self, json: &[u8]) -> Vec<u8> {
        let mut bytes = [b"\n", json, b"\n"].concat();
        let seal = format!("{} {:04} {:012} ", self.name, self.format, bytes.len());
        bytes.extend(seal.as_bytes());
        let sum = crc32fast::hash(&bytes);
        bytes.extend(format!("{sum:08x}\n").as_bytes());
        bytes
    }

    /// The value at the end of a file, and the offset where its bytes begin.
    pub(crate) fn read<T: DeserializeOwned>(&self, file: &mut dyn DiskFile) -> Result<(T, u64), Unsealed> {
        let length = file.length().map_err(Unsealed::Io)?;
        let damaged = |why: String| Unsealed::Damaged(why);
        let Some(end) = length.checked_sub(self.seal_length() as u64) else {
            return Err(damaged(format!("it has {length} bytes, fewer than its last line")));
        };
        let mut seal = vec![0; self.seal_length()];
        read_exact(file, &mut seal, end).map_err(Unsealed::Io)?;
        let Some((format, within, sum)) = self.parse(&seal) else {
            return Err(damaged(format!("its last line is not that of a {}", self.name)));
        };
        let Some(begin) = end.checked_sub(within) else {
            return Err(damaged(format!("it has {length} bytes, fewer than its last line says")));
        };
        let mut bytes = vec![0; usize::try_from(length - begin).map_err(|e| Unsealed::Io(io::Error::other(e)))?];
        read_exact(file, &mut bytes, begin).map_err(Unsealed::Io)?;
        let summed = bytes.len() - "00000000\n".len();
        if crc32fast::hash(&bytes[..summed]) != sum {
            return Err(damaged("its checksum does not match".to_owned()));
        }
        if format > self.format {
            return Err(Unsealed::Later(format));
        }
        let json = &bytes[..bytes.len() - self.seal_length()];
        let value = serde_json::from_slice(json).map_err(|error| damaged(error.to_string()))?;
        Ok((value, begin))
    }

    /// Format, length and checksum of a last line.
    fn parse(&self, seal: &[u8]) -> Option<(u32, u64, u32)> {
        let rest = seal.strip_prefix(self.name.as_bytes())?.strip_prefix(b" ")?.strip_suffix(b"\n")?;
        let rest = std::str::from_utf8(rest).ok()?;
        let mut words = rest.split(' ');
        let (format, length, sum) = (words.next()?, words.next()?, words.next()?);
        let digits = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if words.next().is_some() || ![format, length, sum].into_iter().all(digits) {
            return None;
        }
        Some((format.parse().ok()?, length.parse().ok()?, u32::from_str_radix(sum, 16).ok()?))
    }
}
