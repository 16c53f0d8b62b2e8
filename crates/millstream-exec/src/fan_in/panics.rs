use crate::RunError;
use std::collections::VecDeque;
use std::fmt;

/// The number of panics kept in detail.
const KEPT: usize = 64;

/// The producers of a [`fan_in`](crate::fan_in) that ended by a panic of their threads while
/// [`isolate_panics`](crate::FanIn::isolate_panics) was set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ProducerPanics {
    /// How many there were.
    pub count: u64,
    /// The last 64 of them, in the order in which they ended.
    pub last: VecDeque<ProducerPanic>,
}

/// A producer that ended because its thread panicked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ProducerPanic {
    /// The producer: 0, 1, ... in the order in which they began.
    pub producer: u32,
    /// How many values it had sent. They are in the stream.
    pub sent: u64,
    /// The name of its thread, if it has one.
    pub thread: Option<String>,
}

impl ProducerPanic {
    /// Describes the panic of the calling thread.
    pub(super) fn now(producer: u32, sent: u64) -> Self {
        ProducerPanic { producer, sent, thread: std::thread::current().name().map(str::to_owned) }
    }

    /// The failure of a run that ends with it.
    pub(super) fn into_failure(self) -> RunError {
        RunError::panicked(format!("producer {}", self.producer), self.sent)
    }
}

impl ProducerPanics {
    pub(super) fn note(&mut self, panic: ProducerPanic) {
        self.count += 1;
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(panic);
    }
}

impl fmt::Display for ProducerPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProducerPanic { producer, sent, thread } = self;
        let name = thread.as_ref().map_or(String::new(), |name| format!(" {name:?}"));
        write!(f, "producer {producer} ended after {sent} values: its thread{name} panicked")
    }
}
