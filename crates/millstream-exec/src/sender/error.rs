use std::fmt;

/// Why a value was not sent, with the value.
#[derive(Clone, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The ring is full.
    Full {
        /// The value.
        value: T,
        /// How many more slots it needs.
        missing: usize,
    },
    /// The run takes no more values.
    Ended(T),
}

/// The run takes no more values; holds the value that was not sent.
#[derive(Clone, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrySendError::Full { missing, .. } => write!(f, "the ring is full: {missing} more slots are needed"),
            TrySendError::Ended(_) => f.write_str("the run takes no more values"),
        }
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the run takes no more values")
    }
}

// Leaves the value out, which need not be `Debug`.
impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl<T> std::error::Error for TrySendError<T> {}
impl<T> std::error::Error for SendError<T> {}

/// Why a producer could not be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// There are as many producers as allowed. Producers that are gone count until their rings are empty: try again
    /// later, or allow more with [`FanIn::at_most`](crate::FanIn::at_most).
    Full(usize),
    /// The run takes no more values.
    Ended,
    /// This run has one producer: its source is no [`fan_in`](crate::fan_in).
    One,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Full(most) => write!(f, "there are {most} producers, and `at_most` allows no more"),
            JoinError::Ended => f.write_str("the run takes no more values"),
            JoinError::One => f.write_str("this run has one producer; `fan_in` is a source with many"),
        }
    }
}

impl std::error::Error for JoinError {}
