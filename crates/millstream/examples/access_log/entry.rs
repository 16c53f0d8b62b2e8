//! A line of the log, and what a report needs of it.
//!
//! ```text
//! 10.3.17.201 - - [1700000123] "GET /mill/wheel/12 HTTP/1.1" 200 5120 "Mozilla/5.0 (X11; Linux x86_64)" 1234
//! ```
//!
//! That is the host, the time in seconds, the request, the status, the bytes sent, the agent, and the response time in
//! microseconds.

use std::fmt;
use std::ops::Range;

/// A request. Its path is a part of the line, and is not copied.
///
/// Entries are parsed on all cores, and counted by one: so the parser also makes the path's hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Seconds.
    pub(crate) time: u64,
    pub(crate) bytes: u64,
    /// The response time.
    pub(crate) micros: u32,
    path: (u32, u32),
    /// A hash of the path's bytes.
    pub(crate) path_hash: u64,
}

/// Why a line is not a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    Time,
    Request,
    Status,
    Bytes,
    ResponseTime,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Time => "no time",
            Malformed::Request => "no request",
            Malformed::Status => "no status",
            Malformed::Bytes => "no bytes",
            Malformed::ResponseTime => "no response time",
        })
    }
}

impl std::error::Error for Malformed {}

impl Entry {
    pub(crate) fn parse(line: &[u8]) -> Result<Self, Malformed> {
        let open = position(line, b'[').ok_or(Malformed::Time)?;
        let (time, rest) = number(&line[open + 1..], Malformed::Time)?;
        let rest = rest.strip_prefix(b"] \"").ok_or(Malformed::Request)?;
        let method = position(rest, b' ').ok_or(Malformed::Request)?;
        let rest = &rest[method + 1..];
        let length = position(rest, b' ').ok_or(Malformed::Request)?;
        let start = line.len() - rest.len();
        let rest = &rest[length + 1..];
        let quote = position(rest, b'"').ok_or(Malformed::Request)?;
        let rest = rest[quote + 1..].strip_prefix(b" ").ok_or(Malformed::Status)?;
        let (status, rest) = number(rest, Malformed::Status)?;
        let rest = rest.strip_prefix(b" ").filter(|_| (100..600).contains(&status)).ok_or(Malformed::Status)?;
        let (bytes, rest) = number(rest, Malformed::Bytes)?;
        let rest = rest.strip_prefix(b" \"").ok_or(Malformed::Bytes)?;
        let quote = rest.iter().rposition(|byte| *byte == b'"').ok_or(Malformed::ResponseTime)?;
        let rest = rest[quote + 1..].strip_prefix(b" ").ok_or(Malformed::ResponseTime)?;
        let (micros, rest) = number(rest, Malformed::ResponseTime)?;
        let micros = u32::try_from(micros).ok().filter(|_| rest.is_empty()).ok_or(Malformed::ResponseTime)?;
        let path = start..start + length;
        Ok(Entry { time, bytes, micros, path: (path.start as u32, path.end as u32), path_hash: hash(&line[path]) })
    }

    /// The bytes of its path in its line.
    pub(crate) fn path(&self) -> Range<usize> {
        self.path.0 as usize..self.path.1 as usize
    }
}

/// The fields are short, so that a plain search is the fastest.
fn position(text: &[u8], wanted: u8) -> Option<usize> {
    text.iter().position(|byte| *byte == wanted)
}

/// The number that a text begins with, of 1 to 19 digits, and what follows it.
fn number(text: &[u8], otherwise: Malformed) -> Result<(u64, &[u8]), Malformed> {
    let mut number = 0;
    for (digits, byte) in text.iter().take(20).enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return if digits > 0 { Ok((number, &text[digits..])) } else { Err(otherwise) };
        }
        number = u64::wrapping_add(u64::wrapping_mul(number, 10), u64::from(digit));
    }
    if (1..20).contains(&text.len()) { Ok((number, &[])) } else { Err(otherwise) }
}

/// A hash of eight bytes at a time. Clients that choose their paths can make a table of it slow.
#[inline]
fn hash(text: &[u8]) -> u64 {
    let (words, rest) = text.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    let hash = words
        .fold(text.len() as u64, |hash, word| u64::wrapping_mul(hash.rotate_left(5) ^ word, 0x517c_c1b7_2722_0a95));
    hash ^ hash >> 32
}
