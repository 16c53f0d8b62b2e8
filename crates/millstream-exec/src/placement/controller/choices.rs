//! Which numbers of workers a run may try.

/// Which numbers of workers may be tried.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choices {
    Only,
    /// From 1 to this many.
    UpTo(usize),
    /// Either of two: one worker a core, or the larger number that was asked for.
    Either {
        cores: usize,
        asked: usize,
    },
}

impl Choices {
    pub(super) fn more(self, workers: usize) -> Option<usize> {
        match self {
            Choices::UpTo(most) if workers < most => Some(workers + 1),
            Choices::Either { cores, asked } if workers == cores => Some(asked),
            _ => None,
        }
    }

    pub(super) fn fewer(self, workers: usize) -> Option<usize> {
        match self {
            Choices::UpTo(_) if workers > 1 => Some(workers - 1),
            Choices::Either { cores, asked } if workers == asked => Some(cores),
            _ => None,
        }
    }
}

/// The number of workers that was asked for, if one was, and the usable cores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) asked: Option<usize>,
    pub(crate) cores: usize,
}

impl Wanted {
    /// The most workers of tasklets that at most `entries` workers can share.
    pub(crate) fn most(self, entries: usize) -> usize {
        self.asked.unwrap_or(self.cores).min(entries).max(1)
    }

    /// The number of workers that such tasklets begin with.
    pub(crate) fn first(self, entries: usize) -> usize {
        if self.asked.is_some() { self.most(entries) } else { 1 }
    }

    pub(super) fn choices(self, entries: usize) -> Choices {
        let Wanted { asked, cores } = self;
        let most = self.most(entries);
        match asked {
            Some(_) if most > cores => Choices::Either { cores, asked: most },
            None if most > 1 => Choices::UpTo(most),
            _ => Choices::Only,
        }
    }
}
