/// Finds the worker with the highest level in amortised constant time. A level is the number of states that a worker
/// can spare, and has a list of workers.
#[derive(Debug, Default)]
pub(super) struct Load {
    /// By level, the first worker of its list.
    lists: Vec<Option<usize>>,
    /// By worker, its level and its neighbours.
    places: Vec<LoadIndex>,
    /// No worker has a higher level.
    highest: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct LoadIndex {
    level: usize,
    before: Option<usize>,
    after: Option<usize>,
}

impl Load {
    /// Reserves room for this many workers, and for levels up to this one.
    pub(super) fn reserve(&mut self, workers: usize, level: usize) {
        self.places.reserve(workers.saturating_sub(self.places.len()));
        self.lists.reserve((level + 1).saturating_sub(self.lists.len()));
    }

    /// Sets a worker's level. Workers at level 0 are in no list.
    pub(super) fn set(&mut self, worker: usize, level: usize) {
        if worker >= self.places.len() {
            self.places.resize(worker + 1, LoadIndex::default());
        }
        let LoadIndex { level: old, before, after } = self.places[worker];
        if old == level {
            return;
        }
        if old > 0 {
            match before {
                Some(before) => self.places[before].after = after,
                None => self.lists[old] = after,
            }
            if let Some(after) = after {
                self.places[after].before = before;
            }
        }
        if level >= self.lists.len() {
            self.lists.resize(level + 1, None);
        }
        let after = if level > 0 { self.lists[level].replace(worker) } else { None };
        if let Some(after) = after {
            self.places[after].before = Some(worker);
        }
        self.places[worker] = LoadIndex { level, before: None, after };
        self.highest = self.highest.max(level);
    }

    /// A worker of the highest level, and the level.
    ///
    /// The loop's steps down are paid for by `set`'s steps up.
    pub(super) fn most(&mut self) -> Option<(usize, usize)> {
        while self.highest > 0 {
            if let Some(worker) = self.lists[self.highest] {
                return Some((worker, self.highest));
            }
            self.highest -= 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Load;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_found_level_is_the_maximum(sets in prop::collection::vec((0..8_usize, 0..20_usize), 0..200)) {
            let (mut load, mut levels) = (Load::default(), [0; 8]);
            for (worker, level) in sets {
                load.set(worker, level);
                levels[worker] = level;
                let most = load.most();
                let expected = *levels.iter().max().unwrap();
                prop_assert_eq!(most.map_or(0, |(_, level)| level), expected);
                prop_assert!(most.is_none_or(|(worker, _)| levels[worker] == expected));
            }
        }
    }
}
