//! Times of events: seconds since 1970 as a number, or a date and time of RFC 3339 as a text.

use millstream_jq::Scalar;
use millstream_registry::Literal;
use std::time::Duration;

/// Milliseconds since 1970, and whether it was a text. The value is that of the expression `of`.
pub(crate) fn time_of(value: &Scalar<'_>, of: &str) -> Result<(u64, bool), String> {
    match value {
        Scalar::Text(text) => {
            let parsed = std::str::from_utf8(text).ok().and_then(parsed);
            let shown = || String::from_utf8_lossy(text).into_owned();
            let unread = || match shown() {
                before if is_before_1970(&before) => too_early(&before),
                other => format!("{other:?} is not a time like 2026-01-31T12:00:00Z"),
            };
            parsed.map(|time| (time, true)).ok_or_else(unread)
        }
        Scalar::Int(seconds) => match u64::try_from(*seconds) {
            Ok(seconds) if seconds < YEAR_10000 => Ok((seconds * 1000, false)),
            Ok(_) => Err(finer(&seconds.to_string(), of)),
            Err(_) => Err(too_early(&format!("{seconds} seconds"))),
        },
        other => match other.as_f64() {
            Some(seconds) if (0.0..YEAR_10000 as f64).contains(&seconds) => {
                Ok(((seconds * 1000.0).round() as u64, false))
            }
            Some(seconds) if seconds >= YEAR_10000 as f64 => Err(finer(&shown(seconds), of)),
            Some(seconds) if seconds < 0.0 => Err(too_early(&format!("{} seconds", shown(seconds)))),
            _ => {
                Err("a time must be a number of seconds since 1970, or a text such as 2026-01-31T12:00:00Z".to_owned())
            }
        },
    }
}

/// Why a row that is this many milliseconds behind the latest one is in no window, with a lateness that would take it.
pub(crate) fn late(behind: u64) -> String {
    const MINUTE: u64 = 60_000;
    const DAY: u64 = 1440 * MINUTE;
    let minutes = [1, 2, 5, 10, 30, 60, 120, 360, 720].map(|minutes| minutes * MINUTE);
    let lengths = [1000, 2000, 5000, 10_000, 30_000].into_iter().chain(minutes);
    let wanted = lengths.into_iter().find(|length| *length > behind).unwrap_or((behind / DAY + 1) * DAY);
    let written = |ms| Literal::Time(Duration::from_millis(ms));
    format!(
        "it is late: it is {} behind the latest row, and its window has closed; `late: {}` would wait for it",
        written(behind),
        written(wanted)
    )
}

/// Seconds from 1970 to the year 10000. A time that is later is one of milliseconds or less.
const YEAR_10000: u64 = 253_402_300_800;

/// A number as people write it.
fn shown(number: f64) -> String {
    if number < 1e18 { number.to_string() } else { format!("{number:e}") }
}

fn finer(number: &str, of: &str) -> String {
    let is_path = of.chars().all(|char| char.is_alphanumeric() || matches!(char, '.' | '_'));
    let of = if is_path { of.to_owned() } else { format!("({of})") };
    format!("{number} seconds since 1970 are after the year 9999: if they are milliseconds, write `{of} / 1000`")
}

fn too_early(time: &str) -> String {
    format!("{time} is before 1970, and times begin there")
}

/// Whether a text would be a time if times began earlier.
fn is_before_1970(text: &str) -> bool {
    let (Some(year), Some(rest)) = (text.get(..4), text.get(4..)) else { return false };
    // A leap year has all days that another year has.
    year.bytes().all(|byte| byte.is_ascii_digit()) && year <= "1970" && parsed(&format!("2000{rest}")).is_some()
}

/// `2026-01-31T12:00:00.250+01:00`, with a space in the place of the `T` if one likes; without a zone it is UTC.
fn parsed(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let digits = |from: usize, to: usize| -> Option<u64> {
        let part = bytes.get(from..to)?;
        part.iter().all(u8::is_ascii_digit).then(|| part.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0')))
    };
    let sign = |at: usize, sign: u8| (bytes.get(at) == Some(&sign)).then_some(());
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    sign(4, b'-').and(sign(7, b'-'))?;
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    let days = days_before(year, month) + day - 1;
    if bytes.len() == 10 {
        return Some(days * 86_400_000);
    }
    if !matches!(bytes[10], b'T' | b't' | b' ') {
        return None;
    }
    let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
    sign(13, b':').and(sign(16, b':'))?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut at = 19;
    let mut milliseconds = 0;
    if bytes.get(at) == Some(&b'.') {
        let fraction = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let first = &bytes[at + 1..at + 1 + fraction.min(3)];
        milliseconds =
            first.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0')) * 10_u64.pow(3 - first.len() as u32);
        at += 1 + fraction;
    }
    let offset = match &bytes[at..] {
        [] | [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), rest @ ..] if rest.len() == 5 && rest[2] == b':' => {
            let (hours, minutes) = (digits(at + 1, at + 3)?, digits(at + 4, at + 6)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let minutes = (hours * 60 + minutes) as i64;
            if *sign == b'+' { minutes } else { -minutes }
        }
        _ => return None,
    };
    let time = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + milliseconds;
    time.checked_add_signed(-offset * 60_000)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const MONTHS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

fn days_in(year: u64, month: u64) -> u64 {
    MONTHS[month as usize - 1] + u64::from(month == 2 && is_leap(year))
}

/// The days from 1970 to the first of a month.
fn days_before(year: u64, month: u64) -> u64 {
    let before = year - 1;
    let leaps = before / 4 - before / 100 + before / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
    (year - 1970) * 365 + leaps + (1..month).map(|month| days_in(year, month)).sum::<u64>()
}

/// Writes a time as it came: as a text, or as seconds.
pub(crate) fn write(time: u64, is_text: bool, out: &mut Vec<u8>) {
    use std::io::Write;
    let (seconds, milliseconds) = (time / 1000, time % 1000);
    let mut put = |text: std::fmt::Arguments<'_>| out.write_fmt(text).expect("writing to a vector cannot fail");
    if !is_text {
        return if milliseconds == 0 {
            put(format_args!("{seconds}"))
        } else {
            put(format_args!("{}", time as f64 / 1000.0))
        };
    }
    let (mut days, of_day) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    while days >= days_in(year, month) {
        days -= days_in(year, month);
        month += 1;
    }
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    put(format_args!("\"{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}", days + 1));
    if milliseconds > 0 {
        put(format_args!(".{milliseconds:03}"));
    }
    put(format_args!("Z\""));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, written: &str) {
        let time = parsed(text).unwrap_or_else(|| panic!("{text}"));
        let mut out = Vec::new();
        write(time, true, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("{written:?}"));
    }

    #[test]
    fn a_number_of_milliseconds_is_no_time() {
        assert_eq!(time_of(&Scalar::Int(1_795_613_223), ".t"), Ok((1_795_613_223_000, false)));
        let why = time_of(&Scalar::Int(1_795_613_223_000), ".t").unwrap_err();
        assert!(why.starts_with("1795613223000 seconds since 1970 are after the year 9999"), "{why}");
        assert!(time_of(&Scalar::Float(1.8e12), ".at.ms").unwrap_err().contains("`.at.ms / 1000`"));
        assert!(time_of(&Scalar::Float(1.8e12), ".a + .b").unwrap_err().contains("`(.a + .b) / 1000`"));
    }

    #[test]
    fn a_time_before_1970_is_said_to_be_one() {
        let why = |value: Scalar<'_>| time_of(&value, ".t").unwrap_err();
        for text in ["1969-12-31", "1969-12-31T23:59:59.5Z", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00+01:00"] {
            assert_eq!(
                why(Scalar::Text(text.as_bytes().into())),
                format!("{text} is before 1970, and times begin there")
            );
        }
        assert_eq!(why(Scalar::Int(-5)), "-5 seconds is before 1970, and times begin there");
        assert_eq!(why(Scalar::Float(-0.5)), "-0.5 seconds is before 1970, and times begin there");
        for text in ["", "1969-13-01", "1969", "\u{e9}\u{e9}69-01-01"] {
            assert!(why(Scalar::Text(text.as_bytes().into())).contains("is not a time like"), "{text}");
        }
    }

    #[test]
    fn times_are_read_and_written() {
        check("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z");
        check("2024-02-29 23:59:59.5", "2024-02-29T23:59:59.500Z");
        check("2026-11-25T13:00:00.123456+01:30", "2026-11-25T11:30:00.123Z");
        check("2000-12-31T20:00:00-05:00", "2001-01-01T01:00:00Z");
        check("2100-03-01", "2100-03-01T00:00:00Z");
        assert_eq!(parsed("2026-11-25T13:27:03Z"), Some(1_795_613_223_000));
        for wrong in
            ["", "2026", "2026-13-01", "2026-11-25T", "2026-11-25T25:00:00Z", "2026-11-25T13:27:03X", "1969-01-01"]
        {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
        for impossible in
            ["2026-02-29", "2026-04-31", "2026-01-32", "2026-11-25T13:27:03+24:00", "2026-11-25T13:27:03-01:60"]
        {
            assert_eq!(parsed(impossible), None, "{impossible}");
        }
    }
}
