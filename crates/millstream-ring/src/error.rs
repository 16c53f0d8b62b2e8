use std::{error::Error, fmt};

/// A ring cannot have this many slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityError {
    /// The requested number of slots.
    pub slots: usize,
}

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = self.slots;
        write!(f, "a ring of {slots} slots: the capacity must be a power of two, and at least 1")?;
        match slots.checked_next_power_of_two() {
            Some(next) if slots > 0 => write!(f, "; {next} is the next one"),
            _ => Ok(()),
        }
    }
}

impl Error for CapacityError {}

/// A claim that can never succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimError {
    /// The claim asked for no slots.
    Zero,
    /// The stream has ended.
    Ended,
    /// The claim needs all of its slots at once, and the ring has fewer.
    TooLarge {
        /// The requested number of slots.
        slots: usize,
        /// The number of slots of the ring.
        capacity: usize,
    },
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimError::Zero => f.write_str("a claim of no slots: claim at least 1"),
            ClaimError::Ended => f.write_str("a claim after END: the stream has ended"),
            ClaimError::TooLarge { slots, capacity } => {
                write!(f, "a claim of all of {slots} slots on a ring of {capacity}: claim at most {capacity}")
            }
        }
    }
}

impl Error for ClaimError {}
