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
pub(super) struct Wanted {
    pub(super) asked: Option<usize>,
    pub(super) cores: usize,
}

impl Wanted {
    /// The choices for tasklets that at most `entries` workers can share, and the most workers of them.
    pub(super) fn choices(self, entries: usize) -> (Choices, usize) {
        let Wanted { asked, cores } = self;
        let most = asked.unwrap_or(cores).min(entries).max(1);
        let choices = match asked {
            Some(_) if most > cores => Choices::Either { cores, asked: most },
            None if most > 1 => Choices::UpTo(most),
            _ => Choices::Only,
        };
        (choices, most)
    }
}
