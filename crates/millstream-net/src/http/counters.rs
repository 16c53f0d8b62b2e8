//! The counters of a server.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of a server: totals that only grow, and the present numbers of connections and requests.
#[derive(Debug, Default)]
pub struct Counters {
    pub(super) connections: AtomicU64,
    pub(super) open: AtomicU64,
    pub(super) under_way: AtomicU64,
    /// Responses by the first digit of the status; 202, 409, 413, 429 and 503 separately.
    pub(super) responses: [AtomicU64; KINDS.len()],
}

/// The kinds by which responses are counted.
const KINDS: [&str; 11] = ["1xx", "2xx", "3xx", "4xx", "5xx", "202", "409", "413", "429", "500", "503"];

impl Counters {
    pub(super) fn responded(&self, status: u16) {
        let text = [b'0' + (status / 100) as u8, b'0' + (status / 10 % 10) as u8, b'0' + (status % 10) as u8];
        let own = KINDS.iter().position(|kind| kind.as_bytes() == text);
        let kind = own.unwrap_or_else(|| usize::from((status / 100).clamp(1, 5)) - 1);
        self.responses[kind].fetch_add(1, Ordering::Relaxed);
    }

    /// The number of accepted connections.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// The number of open connections.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// The number of requests that have no response yet.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.under_way.load(Ordering::Relaxed)
    }

    /// The number of responses with this status, or in its class if the status is not counted separately. 202, 409,
    /// 413, 429, 500 and 503 are.
    #[must_use]
    pub fn responses(&self, status: &str) -> u64 {
        let kind = KINDS.iter().position(|kind| *kind == status);
        kind.map_or(0, |kind| self.responses[kind].load(Ordering::Relaxed))
    }

    /// The counters in the text format of Prometheus.
    #[must_use]
    pub fn metrics(&self) -> String {
        let mut text = String::new();
        let gauges = [
            ("connections_open", "The connections that are open.", self.open()),
            ("requests_under_way", "The requests that have no response yet.", self.under_way()),
        ];
        for (name, help, value) in gauges {
            let name = format!("millstream_http_{name}");
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n");
        }
        let name = "millstream_http_connections_total";
        let help = "The connections that were accepted.";
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {}\n", self.connections());
        let name = "millstream_http_responses_total";
        let _ = write!(text, "# HELP {name} The responses, by status.\n# TYPE {name} counter\n");
        for kind in KINDS {
            let _ = writeln!(text, "{name}{{status=\"{kind}\"}} {}", self.responses(kind));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_place() {
        let counters = Counters::default();
        [200, 204, 202, 404, 409, 503, 500, 502].into_iter().for_each(|status| counters.responded(status));
        let seen = ["2xx", "202", "4xx", "409", "5xx", "503", "500", "3xx"].map(|kind| counters.responses(kind));
        assert_eq!(seen, [2, 1, 1, 1, 1, 1, 1, 0]);
        assert!(counters.metrics().contains("millstream_http_responses_total{status=\"503\"} 1\n"));
    }
}
