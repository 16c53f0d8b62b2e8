use std::fmt;

/// Why a value was not sent, and the value.
#[derive(Clone, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The ring is full.
    Full {
        /// What was to be sent.
        value: T,
        /// How many slots it would take.
        missing: usize,
    },
    /// The run takes no more.
    Ended(T),
}

/// The run takes no more; the value that was to be sent.
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

// Without the value: it need not be Debug.
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

/// Why there is not one producer more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// There are as many as there may be, those counted whose ring is not empty yet: try again later, or allow more by
    /// [`FanIn::at_most`](crate::FanIn::at_most).
    Full(usize),
    /// The run takes no more.
    Ended,
    /// This run has one producer: it was not started by [`Run::start_fan_in`](crate::Run::start_fan_in).
    One,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Full(most) => write!(f, "there are {most} producers, and `at_most` allows no more"),
            JoinError::Ended => f.write_str("the run takes no more values"),
            JoinError::One => f.write_str("this run has one producer; `start_fan_in` starts one with many"),
        }
    }
}

impl std::error::Error for JoinError {}
