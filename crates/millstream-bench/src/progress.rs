//! The number of the turn, for a reader at a terminal.

use std::io::{IsTerminal, stderr};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    bench: &'static str,
    shown: bool,
}

impl Progress {
    pub(crate) fn of(bench: &'static str) -> Self {
        Progress { bench, shown: stderr().is_terminal() }
    }

    /// Turn 0 warms up.
    pub(crate) fn turn(&self, turn: usize, turns: usize) {
        match turn {
            0 => self.say("warming up"),
            _ => self.say(&format!("turn {turn} of {turns}")),
        }
    }

    pub(crate) fn say(&self, what: &str) {
        if self.shown {
            eprint!("\r\x1b[K{}: {what}", self.bench);
        }
    }

    /// Erases the line.
    pub(crate) fn done(&self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}
