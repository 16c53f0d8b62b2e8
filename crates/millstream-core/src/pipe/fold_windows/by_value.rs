//! Windows for stages whose slots have several values each.

use super::{FoldedWindow, OpenFolds};
use crate::keys::{FoundKey, Key};
use crate::pipe::window::Window;

impl<K: Key + Ord, S: Clone> Default for OpenFolds<K, S> {
    fn default() -> Self {
        Self::new()
    }
}

/// For stages with several values in a slot: what [`fold_windows_by`](crate::WindowsExt::fold_windows_by) does with
/// each value, and at END.
impl<K: Key + Ord, S: Clone> OpenFolds<K, S> {
    /// Folds a value into its windows, and adds the results that are known then. Returns whether the value is in a
    /// window: one that comes late is dropped, and counted.
    ///
    /// `start` is the state of a window before its first value, and `join` joins those of two sessions.
    ///
    /// # Panics
    ///
    /// If there are more windows than allowed, or a value is late where that is to fail.
    #[expect(clippy::too_many_arguments, reason = "those of the combinator")]
    pub fn fold(
        &mut self,
        window: &Window,
        key: impl FoundKey<Key = K>,
        time: u64,
        start: &S,
        add: impl Fn(&mut S),
        join: impl Fn(&mut S, S),
        results: &mut Vec<FoldedWindow<S, K>>,
    ) -> bool {
        self.on(window, results).value(key, time, start, add, join)
    }

    /// Adds the results of all windows that are open. A result with the state `start` tells of late values alone.
    pub fn close(self, window: &Window, start: &S, results: &mut Vec<FoldedWindow<S, K>>) {
        self.finish(window, start, results);
    }
}
