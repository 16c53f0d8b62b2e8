//! How a process took over from another, in words and as metrics.

use std::fmt::{self, Write};
use std::time::Duration;

/// How a process followed another.
#[derive(Clone, Copy, Debug)]
pub(in crate::deploy) struct Followed {
    pub(in crate::deploy) took: Duration,
    /// The number that it had reached: a service when it asked, and a run when the other process had stopped.
    pub(in crate::deploy) to: u64,
}

/// How a process took over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TookOver {
    /// The number at which it took over; the snapshot's number, if it has not followed.
    pub(in crate::deploy) at: u64,
    pub(in crate::deploy) followed: Option<Followed>,
    /// The time from its request until it could answer.
    pub(in crate::deploy) paused: Duration,
}

impl fmt::Display for TookOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, paused) = (self.at, in_words(self.paused));
        match self.followed {
            Some(Followed { took, to }) => {
                let took = in_words(took);
                write!(f, "at number {at}: followed it to number {to} in {took}, and asked; the pause was {paused}")
            }
            None => write!(f, "from the snapshot at number {at}; the pause was {paused}"),
        }
    }
}

impl TookOver {
    /// The metrics, in the text format of Prometheus.
    pub(crate) fn metrics(&self) -> String {
        let mut text = String::new();
        let mut gauge = |name, help, value: f64| {
            let name = format!("millstream_take_over_{name}");
            // Writing to memory does not fail.
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n");
        };
        gauge("number", "The number at which this process took over from another one.", self.at as f64);
        if let Some(Followed { took, to }) = self.followed {
            gauge("followed_number", "The number up to which it had followed that one when it asked.", to as f64);
            gauge("followed_seconds", "The time in which it followed that one.", took.as_secs_f64());
        }
        gauge("pause_seconds", "The time from when it asked until it could answer.", self.paused.as_secs_f64());
        text
    }
}

/// A time in milliseconds or seconds.
pub(super) fn in_words(time: Duration) -> String {
    match time.as_millis() {
        ms @ ..10_000 => format!("{ms} ms"),
        ms => format!("{} s", ms / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_has_the_pause_and_what_was_outside_of_it() {
        let followed = Followed { took: Duration::from_millis(12_345), to: 995 };
        let took_over = TookOver { at: 1000, followed: Some(followed), paused: Duration::from_micros(71_999) };
        let said = "at number 1000: followed it to number 995 in 12 s, and asked; the pause was 71 ms";
        assert_eq!(took_over.to_string(), said);
        let metrics = took_over.metrics();
        let values: Vec<&str> = metrics.lines().filter(|line| !line.starts_with('#')).collect();
        let expected = [
            "millstream_take_over_number 1000",
            "millstream_take_over_followed_number 995",
            "millstream_take_over_followed_seconds 12.345",
            "millstream_take_over_pause_seconds 0.071999",
        ];
        assert_eq!(values, expected);
        let restored = TookOver { followed: None, ..took_over };
        assert_eq!(restored.to_string(), "from the snapshot at number 1000; the pause was 71 ms");
        assert!(!restored.metrics().contains("followed"));
    }
}
