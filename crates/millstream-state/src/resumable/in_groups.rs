//! Live values that are written in groups: one sync for all values that have come meanwhile.

use super::Recorded;
use super::journaled::Journaled;
use crate::StateDir;
use crate::journal::JournalOptions;
use std::collections::VecDeque;

/// A source of live values in groups, as those of many clients are: see [`journaled_in_groups`].
pub trait Groups {
    /// The values.
    type Item: Recorded;

    /// Appends the values that are there now; waits for one if there is none. `false` if no more come.
    fn next_group(&mut self, group: &mut VecDeque<Self::Item>) -> bool;

    /// Called when the group is in the journal, durable as the journal's [`Fsync`](crate::journal::Fsync) says. Its
    /// first value has the number `first`. The source can now confirm the values to their senders. They are passed on
    /// when this returns.
    fn committed(&mut self, first: u64) {
        let _ = first;
    }
}

/// As [`journaled`](super::journaled), for a live source whose values come in groups. Each group is one commit: while
/// one is being synced, the next one gathers. So the time of a sync does not limit the rate of values.
///
/// ```
/// use millstream::{io::FileSink, prelude::*};
/// use millstream::state::{Groups, Persistent, StateDir, journal::JournalOptions, journaled_in_groups};
/// use std::collections::VecDeque;
/// use std::sync::mpsc;
///
/// /// All lines that are in a channel.
/// struct Lines(mpsc::Receiver<String>);
///
/// impl Groups for Lines {
///     type Item = String;
///     fn next_group(&mut self, group: &mut VecDeque<String>) -> bool {
///         group.extend(self.0.recv());
///         group.extend(self.0.try_iter());
///         !group.is_empty()
///     }
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// let (sender, lines) = mpsc::channel();
/// ["a", "b", "c"].into_iter().try_for_each(|line| sender.send(line.to_owned()))?;
/// drop(sender);
/// let state = StateDir::open("state", "count")?;
/// let live = journaled_in_groups(&state, JournalOptions::default(), move || Lines(lines));
/// let count = pipeline::<String>().scan(0, |n, line| { *n += 1; format!("{n} {line}\n") }).named("count");
/// Persistent::new(Rings::new(), state).run(&count, live, FileSink::append("out"))?;
/// assert_eq!(std::fs::read_to_string("out")?, "1 a\n2 b\n3 c\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn journaled_in_groups<F, G>(state: &StateDir, options: JournalOptions, live: F) -> Journaled<F>
where
    F: FnOnce() -> G + Send + 'static,
    G: Groups,
{
    Journaled::of(state, options, live)
}
