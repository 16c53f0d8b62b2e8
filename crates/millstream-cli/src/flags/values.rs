//! What the values of flags are read as, and what is said of those that cannot be.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

/// More threads or tasklets than this are a slip of the finger.
const MOST_TASKLETS: usize = 1024;

/// A larger ring is one too: its slots are there from the start.
const MOST_SLOTS: usize = 1 << 20;

/// A block or a line is in memory, several times.
const MOST_BYTES: usize = 1 << 30;

pub(super) fn whole(text: &str) -> Result<u64, String> {
    number(text)
}

/// What counts from 0.
pub(super) fn index(text: &str) -> Result<usize, String> {
    number(text)
}

pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match number(text)? {
        0 => Err("must be at least 1".into()),
        n => Ok(n),
    }
}

/// What a process can end with.
pub(super) fn status(text: &str) -> Result<u8, String> {
    u8::try_from(whole(text)?).map_err(|_| "must be at most 255".into())
}

fn number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "is too large".into(),
        _ => "must be a whole number".into(),
    })
}

/// A number of bytes that are in memory several times.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let size = bytes(text)?;
    usize::try_from(size).ok().filter(|size| *size <= MOST_BYTES).ok_or_else(|| "must be at most 1G".into())
}

/// A number of bytes.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 1 << 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    let bytes = (at_least_one(digits)? as u64).checked_mul(unit);
    bytes.ok_or_else(|| "is more than there are addresses".into())
}

/// Where something listens: `HOST:PORT`; without a host, on this machine alone.
#[cfg(any(feature = "page", feature = "top"))]
pub(super) fn address(text: &str) -> Result<String, String> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    if port.parse::<u16>().is_err() {
        return Err("must be HOST:PORT, or a port, which is at most 65535".into());
    }
    let host = if host.is_empty() { "127.0.0.1" } else { host };
    Ok(format!("{host}:{port}"))
}

pub(super) fn tasklets(text: &str) -> Result<usize, String> {
    match at_least_one(text)? {
        n if n <= MOST_TASKLETS => Ok(n),
        _ => Err(format!("must be at most {MOST_TASKLETS}")),
    }
}

pub(super) fn slots(text: &str) -> Result<usize, String> {
    match at_least_one(text)? {
        n if !n.is_power_of_two() => Err("must be a power of two".into()),
        n if n <= MOST_SLOTS => Ok(n),
        _ => Err(format!("must be at most {MOST_SLOTS}")),
    }
}
