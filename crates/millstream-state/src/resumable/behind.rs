//! A source that follows the one of another process, until its own process has the directory.

use crate::journal::{Journal, JournalError, JournalOptions, JournalReader, ReadTo, Records};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time between two looks at the other process's journal.
const LOOK: Duration = Duration::from_millis(5);

/// The state that the source of a follower shares with its process.
#[derive(Debug, Default)]
pub(crate) struct Behind {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// How often the source has begun a look at the journal, and how often it has passed on everything that a look
    /// found.
    begun: u64,
    done: u64,
    at: At,
    given: Given,
    /// How the source would have opened the journal, once there is one.
    options: Option<JournalOptions>,
    /// Whether the source waits in front of its first live value.
    holds: bool,
    /// Whether it has passed on the whole journal, whose writer it has.
    at_end: bool,
    over: bool,
}

/// The position of a source when it had last passed on everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct At {
    /// The number in the stream after the last value that it had passed on.
    pub(crate) passed: u64,
    /// The next number of the journal, and where that is.
    pub(crate) next: u64,
    pub(crate) place: Option<ReadTo>,
}

/// How a follower ends.
#[derive(Debug, Default)]
enum Given {
    #[default]
    NotYet,
    /// Its process has the directory, and this is the journal's writer.
    Writer(Box<Journal>),
    Over,
}

impl Behind {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The source waits in front of its first live value, until it is [released](Behind::release).
    pub(crate) fn held() -> Self {
        let behind = Behind::default();
        behind.lock().holds = true;
        behind
    }

    /// A source that has a journal follows.
    pub(crate) fn is_read_with(&self, options: JournalOptions) {
        self.lock().options = Some(options);
    }

    /// The options of the journal of the source that follows, if there is one.
    pub(crate) fn options(&self) -> Option<JournalOptions> {
        self.lock().options
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.lock().at_end
    }

    /// Lets the live values begin.
    pub(crate) fn release(&self) {
        self.lock().holds = false;
        self.changed.notify_all();
    }

    /// Waits until the source may go on with live values; `false` if it must end.
    pub(super) fn goes_live(&self) -> bool {
        let mut state = self.lock();
        state.at_end = true;
        let waits = |state: &mut State| state.holds && !state.over;
        let state = self.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        !state.holds
    }

    /// A look that begins from now on.
    pub(crate) fn next_look(&self) -> u64 {
        self.lock().begun + 1
    }

    /// Waits until this look is done. Returns the number in the stream up to which everything was passed on.
    pub(crate) fn passed(&self, look: u64, within: Duration) -> Option<u64> {
        let state = self.lock();
        let waits = |state: &mut State| state.done < look && matches!(state.given, Given::NotYet);
        let (state, _) = self.changed.wait_timeout_while(state, within, waits).unwrap_or_else(PoisonError::into_inner);
        (state.done >= look).then_some(state.at.passed)
    }

    pub(crate) fn place(&self) -> At {
        self.lock().at.clone()
    }

    /// Lets the source go on with the journal's further values, and then with live ones.
    pub(crate) fn give(&self, journal: Journal) {
        self.lock().given = Given::Writer(Box::new(journal));
        self.changed.notify_all();
    }

    /// Ends the source, unless it has the writer.
    pub(crate) fn over(&self) {
        let mut state = self.lock();
        state.over = true;
        if let Given::NotYet = state.given {
            state.given = Given::Over;
        }
        self.changed.notify_all();
    }
}

/// The values of another process's journal.
#[derive(Debug)]
pub(super) struct Followed {
    reader: JournalReader,
    values: Records,
    behind: Arc<Behind>,
    looked: Instant,
}

/// The next value, or the end of the following.
pub(super) enum Next {
    Value(u64, Vec<u8>),
    /// The writer is this process now.
    Writer(Box<Journal>),
    Over,
}

impl Followed {
    pub(super) fn begin(
        mut reader: JournalReader,
        (next, passed): (u64, u64),
        behind: Arc<Behind>,
    ) -> Result<Self, JournalError> {
        let values = reader.read_from(next)?;
        {
            let mut state = behind.lock();
            (state.begun, state.at) = (1, At { passed, next, place: None });
        }
        Ok(Followed { reader, values, behind, looked: Instant::now() })
    }

    /// Waits for the next value. `passed` is the number in the stream after the last one.
    pub(super) fn next(&mut self, passed: u64) -> Result<Next, JournalError> {
        loop {
            if let Some(value) = self.values.next() {
                let (number, bytes) = value?;
                // Even a follower that lags far behind ends in time.
                if self.looked.elapsed() >= LOOK {
                    self.looked = Instant::now();
                    if matches!(self.behind.lock().given, Given::Over) {
                        return Ok(Next::Over);
                    }
                }
                return Ok(Next::Value(number, bytes));
            }
            let mut state = self.behind.lock();
            state.done = state.begun;
            state.at = At { passed, next: self.values.next_number(), place: self.values.place() };
            self.behind.changed.notify_all();
            let waits = |state: &mut State| matches!(state.given, Given::NotYet);
            let waited = self.behind.changed.wait_timeout_while(state, LOOK, waits);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            match std::mem::take(&mut state.given) {
                Given::NotYet => {}
                Given::Writer(journal) => return Ok(Next::Writer(journal)),
                Given::Over => {
                    state.given = Given::Over;
                    return Ok(Next::Over);
                }
            }
            state.begun += 1;
            drop(state);
            self.looked = Instant::now();
            self.reader.read_on(&mut self.values)?;
        }
    }
}
