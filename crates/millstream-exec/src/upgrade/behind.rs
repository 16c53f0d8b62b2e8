//! The snapshot that an upgrade leaves at its own number.
//!
//! Its mark is planned at the number of the change, when the mark of the change is laid. So the source publishes
//! nothing from that number on before both are over: no number is between the old version's last one and the snapshot.

use crate::marks::{Change, Retired};
use crate::snapshot::Snapshot;
use crate::upgrade::UpgradeError;
use millstream_core::SequenceNumber;
use millstream_core::failure::{caught, into_message};
use millstream_ring::MarkKind;
use std::sync::{Arc, Mutex, PoisonError};

/// The function that a change calls when its version begins, and the snapshot that it leaves.
pub(crate) struct Behind {
    begins: Option<Box<dyn FnOnce(SequenceNumber) + Send>>,
    left: Left,
}

/// The snapshot that a change has left.
#[derive(Clone, Default)]
pub(crate) struct Left(Arc<Mutex<State>>);

#[derive(Default)]
enum State {
    #[default]
    Waits,
    There(Snapshot),
    /// Its version does not begin.
    Refused,
}

impl Left {
    pub(crate) fn take(&self) -> Option<Snapshot> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::take(&mut *state) {
            State::There(snapshot) => Some(snapshot),
            other => {
                *state = other;
                None
            }
        }
    }
}

impl Behind {
    pub(crate) fn new(begins: impl FnOnce(SequenceNumber) + Send + 'static) -> (Self, Left) {
        let left = Left::default();
        (Behind { begins: Some(Box::new(begins)), left: left.clone() }, left)
    }

    /// The change that takes the snapshot.
    pub(super) fn change(&self) -> Box<dyn Change> {
        Box::new(Takes(self.left.clone()))
    }

    /// Calls the program's function: the version begins.
    ///
    /// # Errors
    ///
    /// If that function panics.
    pub(super) fn begin(&mut self, at: SequenceNumber) -> Result<(), UpgradeError> {
        let Some(begins) = self.begins.take() else { return Ok(()) };
        caught(|| begins(at)).map_err(|payload| UpgradeError::Begins(into_message(payload)))
    }

    /// The version does not begin.
    pub(super) fn refuse(&self) {
        *self.left.0.lock().unwrap_or_else(PoisonError::into_inner) = State::Refused;
    }
}

struct Takes(Left);

impl Change for Takes {
    fn kind(&self) -> MarkKind {
        MarkKind::Snapshot
    }

    /// The snapshot reads nothing, and a reader that is left untaken would hold the source back.
    fn forks(&self) -> bool {
        false
    }

    fn is_moot(&self) -> bool {
        matches!(*self.0.0.lock().unwrap_or_else(PoisonError::into_inner), State::Refused)
    }

    fn carry_out(self: Box<Self>, retired: Retired) -> Option<usize> {
        let mut state = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Waits) {
            *state = State::There(Snapshot::left(retired));
        }
        None
    }
}
