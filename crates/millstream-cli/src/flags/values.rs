//! Parsers of the values of flags, and their messages.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;
use std::time::Duration;

/// More threads or tasklets than this are a typing mistake.
const MOST_TASKLETS: usize = 1024;

/// So is a larger ring: its slots are allocated at the start.
const MOST_SLOTS: usize = 1 << 20;

/// A block or a line is in memory several times.
const MOST_BYTES: usize = 1 << 30;

/// Nor does a connection last longer than a year.
#[cfg(feature = "serve")]
const MOST_SECONDS: u64 = 365 * 86_400;

pub(super) fn whole(text: &str) -> Result<u64, String> {
    number(text)
}

/// A count from 0.
pub(super) fn index(text: &str) -> Result<usize, String> {
    number(text)
}

pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match number(text)? {
        0 => Err("must be at least 1".into()),
        n => Ok(n),
    }
}

/// A time limit in seconds.
#[cfg(feature = "serve")]
pub(super) fn seconds(text: &str) -> Result<u64, String> {
    match whole(text)? {
        0 => Err("must be at least 1".into()),
        n if n <= MOST_SECONDS => Ok(n),
        _ => Err("must be at most 31536000, a year".into()),
    }
}

/// Spaces for a level of a JSON value.
#[cfg(feature = "jq")]
pub(super) fn indent(text: &str) -> Result<usize, String> {
    index(text).and_then(|spaces| if spaces <= 7 { Ok(spaces) } else { Err("must be at most 7".into()) })
}

/// The exit status of a process.
pub(super) fn status(text: &str) -> Result<u8, String> {
    u8::try_from(whole(text)?).map_err(|_| "must be at most 255".into())
}

fn number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    // Rust accepts a leading `+`; this does not.
    let text = if text.starts_with('+') { "" } else { text };
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "is too large".into(),
        _ => "must be a whole number".into(),
    })
}

/// A number of bytes, for something that is in memory several times.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let size = bytes(text)?;
    usize::try_from(size).ok().filter(|size| *size <= MOST_BYTES).ok_or_else(|| "must be at most 1G".into())
}

/// A number of bytes. K, M, G and T are powers of 1024, and so is KiB; KB and kB are 1000, as for GNU programs.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len()));
    let thousands = |letters: &str| "kmgt".find(&letters.to_ascii_lowercase()).map(|power| power as u32 + 1);
    let unit: u128 = match (unit.strip_suffix("iB"), unit.strip_suffix('B'), unit) {
        (_, _, "" | "B") => Some(1),
        (Some(letter), _, _) | (None, None, letter) if letter.len() == 1 => thousands(letter).map(|n| 1024_u128.pow(n)),
        (None, Some(letter), _) if letter.len() == 1 => thousands(letter).map(|n| 1000_u128.pow(n)),
        _ => None,
    }
    .ok_or(NO_SIZE)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
    if !digits(whole) || !digits(fraction) {
        return Err(NO_SIZE.into());
    }
    let too_many = || "is too large".to_owned();
    let whole = whole.parse::<u64>().map_err(|_| too_many())?;
    // Further digits are less than a byte.
    let fraction = &fraction[..fraction.len().min(18)];
    let part = fraction.parse::<u128>().expect("eighteen digits") * unit / 10_u128.pow(fraction.len() as u32);
    match u64::try_from(u128::from(whole) * unit + part).map_err(|_| too_many())? {
        0 => Err("must be at least 1".into()),
        bytes => Ok(bytes),
    }
}

const NO_SIZE: &str = "must be a number of bytes, such as 4096, 64K, 1.5MiB or 10MB";

/// A time other than 0, in seconds unless it has a unit.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len()));
    let unit = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return Err(NO_TIME.into()),
    };
    let time = number.parse().ok().and_then(|number: f64| Duration::try_from_secs_f64(number * unit).ok());
    match time {
        None => Err(NO_TIME.into()),
        Some(Duration::ZERO) => Err("must be more than 0".into()),
        Some(time) => Ok(time),
    }
}

const NO_TIME: &str = "must be a time, such as 10, 500ms, 1.5s, 2m or 1h";

/// A number of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Jobs {
    Exactly(usize),
    /// A share of the usable cores.
    Percent(usize),
    More(usize),
    Fewer(usize),
}

impl Jobs {
    /// The number on a machine with `cores` usable cores, at least 1.
    pub(crate) fn on(self, cores: usize) -> usize {
        let jobs = match self {
            Jobs::Exactly(jobs) => jobs,
            Jobs::Percent(percent) => cores.saturating_mul(percent) / 100,
            Jobs::More(more) => cores.saturating_add(more),
            Jobs::Fewer(fewer) => cores.saturating_sub(fewer),
        };
        jobs.clamp(1, MOST_TASKLETS)
    }
}

pub(super) fn jobs(text: &str) -> Result<Jobs, String> {
    if let Some(percent) = text.strip_suffix('%') {
        at_least_one(percent).map(Jobs::Percent)
    } else if let Some(more) = text.strip_prefix('+') {
        index(more).map(Jobs::More)
    } else if let Some(fewer) = text.strip_prefix('-') {
        index(fewer).map(Jobs::Fewer)
    } else {
        tasklets(text).map(Jobs::Exactly)
    }
}

/// The address of a server: `HOST:PORT`; without a host, on this machine alone.
#[cfg(any(feature = "page", feature = "run", feature = "top"))]
pub(crate) fn address(text: &str) -> Result<String, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_gnu() {
        for (text, expected) in [
            ("1", 1),
            ("512B", 512),
            ("64k", 65536),
            ("64K", 65536),
            ("64KiB", 65536),
            ("64kB", 64000),
            ("64KB", 64000),
            ("1.5M", 3 << 19),
            ("0.1K", 102),
            ("2MiB", 2 << 20),
            ("2MB", 2_000_000),
            ("1g", 1 << 30),
            ("3GB", 3_000_000_000),
            ("1T", 1 << 40),
            ("16777215T", 16_777_215 << 40),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for (text, why) in [
            ("", NO_SIZE),
            ("K", NO_SIZE),
            ("-1", NO_SIZE),
            ("1.K", NO_SIZE),
            (".5K", NO_SIZE),
            ("1e3", NO_SIZE),
            ("1KK", NO_SIZE),
            ("1km", NO_SIZE),
            ("1iB", NO_SIZE),
            ("1 K", NO_SIZE),
            ("1\u{1d542}", NO_SIZE),
            ("0", "must be at least 1"),
            ("0.0001K", "must be at least 1"),
            ("16777216T", "is too large"),
            ("99999999999999999999", "is too large"),
        ] {
            assert_eq!(bytes(text), Err(why.to_owned()), "{text}");
        }
        assert_eq!(size("1.1G"), Err("must be at most 1G".to_owned()));
    }

    #[test]
    fn times_have_units() {
        for (text, millis) in
            [("10", 10_000), ("0.5", 500), ("500ms", 500), ("1.5s", 1500), ("2m", 120_000), ("1h", 3_600_000)]
        {
            assert_eq!(time(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1", "1w", "1 s", "nan", "inf", "1e400"] {
            assert_eq!(time(text), Err(NO_TIME.to_owned()), "{text}");
        }
        assert_eq!(time("0"), Err("must be more than 0".to_owned()));
    }

    #[test]
    fn jobs_can_be_of_the_cores() {
        for (text, on_four) in
            [("3", 3), ("50%", 2), ("1%", 1), ("300%", 12), ("+1", 5), ("+0", 4), ("-1", 3), ("-9", 1), ("+5000", 1024)]
        {
            assert_eq!(jobs(text).map(|jobs| jobs.on(4)), Ok(on_four), "{text}");
        }
        for text in ["0", "0%", "x", "%", "+", "-", "1.5", "--1", "+-1", "++1"] {
            assert!(jobs(text).is_err(), "{text}");
        }
    }
}
