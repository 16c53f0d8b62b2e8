//! The sources and sinks of a text, by their numbers in a run.

use crate::sink::SinkOf;
use crate::source::SourceOf;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The ends of a run, and which of them a text has. A number means the same in every text that the run goes on with, so
/// a value says itself where it goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    /// The sources of the run, by number.
    pub(crate) sources: Vec<SourceOf>,
    /// The sinks of all texts of the run, by number.
    pub(crate) sinks: Vec<SinkOf>,
    /// Where dead letters go, by number, in all texts of the run.
    pub(crate) dead: Vec<Option<String>>,
    /// For each of these numbers, the source of the run whose letters went there.
    pub(crate) dead_from: Vec<usize>,
    /// For each source of the run, where the dead letters of its rows go in the present text.
    pub(crate) dead_of: Vec<usize>,
    /// The numbers of the text's sources, in its order; `None` for one that the run does not read.
    pub(crate) reads: Vec<Option<usize>>,
    /// The numbers of the text's sinks, in its order.
    pub(crate) writes: Vec<usize>,
    /// Whether the run has begun with another text.
    goes_on: bool,
}

/// The numbers that a text has for its sources, sinks and dead letters, and that its states may have: what has to be
/// stored with those, since a text that took the place of others has the numbers of all of them. See
/// [`Program::numbers`](crate::Program::numbers).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    /// The numbers of the text's sources, in its order.
    pub(crate) reads: Vec<usize>,
    /// The files of the sinks, by number.
    pub(crate) sinks: Vec<Option<String>>,
    /// The sources of dead letters and their files, by number.
    pub(crate) dead: Vec<(usize, Option<String>)>,
    /// The order in which the sources are read.
    pub(crate) order: Vec<usize>,
}

impl Numbers {
    /// Whether all that `before` has is here, by the same numbers.
    #[must_use]
    pub fn go_on_from(&self, before: &Numbers) -> bool {
        self.sinks.starts_with(&before.sinks) && self.dead.starts_with(&before.dead) && self.order == before.order
    }

    /// The ends of a text with these sources, in its order; none if these are no numbers of it.
    pub(crate) fn ends(&self, sources: &[SourceOf]) -> Option<Ends> {
        let all = 0..sources.len();
        let each = |numbers: &[usize]| numbers.len() == sources.len() && all.clone().all(|n| numbers.contains(&n));
        let dead_of = |number| self.dead.iter().rposition(|(source, _)| *source == number);
        let dead_of: Vec<usize> = all.clone().map(dead_of).collect::<Option<_>>()?;
        if !each(&self.reads) || !each(&self.order) || self.dead.iter().any(|(source, _)| !all.contains(source)) {
            return None;
        }
        let source = |number| sources[self.reads.iter().position(|read| *read == number).unwrap_or_default()].clone();
        let (dead_from, dead) = self.dead.iter().cloned().unzip();
        let sinks = self.sinks.iter().cloned().map(|file| SinkOf { file }).collect();
        let sources = all.clone().map(source).collect();
        Some(Ends { sources, sinks, dead, dead_from, dead_of, goes_on: true, ..Ends::default() })
    }
}

/// The blocks that a source's readers take, by the source's number in the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    /// Blocks with this number.
    pub(crate) source: usize,
    /// Where their dead letters go.
    pub(crate) dead: usize,
}

impl Reads {
    /// Nothing: no block has this number.
    const NOTHING: Reads = Reads { source: usize::MAX, dead: 0 };
}

impl Ends {
    /// The ends of a text that replaces the present one.
    pub(crate) fn of_next(&self) -> Self {
        Ends { reads: Vec::new(), writes: Vec::new(), goes_on: true, ..self.clone() }
    }

    pub(crate) fn numbers(&self, order: &[usize]) -> Numbers {
        Numbers {
            reads: self.reads.iter().copied().flatten().collect(),
            sinks: self.sinks.iter().map(|sink| sink.file.clone()).collect(),
            dead: self.dead_from.iter().copied().zip(self.dead.iter().cloned()).collect(),
            order: order.to_vec(),
        }
    }

    fn source(&mut self, source: SourceOf) -> Reads {
        if !self.goes_on {
            let number = self.sources.len();
            self.dead.push(source.dead.clone());
            self.dead_from.push(number);
            self.dead_of.push(number);
            self.sources.push(source);
            self.reads.push(Some(number));
            return Reads { source: number, dead: number };
        }
        let mut free = (0..self.sources.len()).filter(|number| !self.reads.contains(&Some(*number)));
        let found = free.find(|number| self.sources[*number].reads_as(&source));
        self.reads.push(found);
        let Some(number) = found else { return Reads::NOTHING };
        if self.sources[number].dead != source.dead {
            self.dead_of[number] = self.dead.len();
            self.dead.push(source.dead.clone());
            self.dead_from.push(number);
            self.sources[number].dead = source.dead;
        }
        Reads { source: number, dead: self.dead_of[number] }
    }

    fn sink(&mut self, sink: SinkOf) -> usize {
        let number = self.sinks.iter().position(|other| *other == sink).unwrap_or_else(|| {
            self.sinks.push(sink);
            self.sinks.len() - 1
        });
        self.writes.push(number);
        number
    }

    /// What two sinks of the text write to, and the place of the second one among all sinks, if there are such.
    pub(crate) fn twice(&self) -> Option<(usize, Option<String>)> {
        let mut all = self.writes.iter().enumerate();
        let twice = all.find(|(n, sink)| self.writes[..*n].contains(sink));
        twice.map(|(n, sink)| (n, self.sinks[*sink].file.clone()))
    }
}

/// The ends of a text, while its stages are made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected(Arc<Mutex<Ends>>);

impl Collected {
    pub(crate) fn new(ends: Ends) -> Self {
        Collected(Arc::new(Mutex::new(ends)))
    }

    fn ends(&self) -> MutexGuard<'_, Ends> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a source, and returns its [`Reads`].
    pub(crate) fn source(&self, source: SourceOf) -> Reads {
        self.ends().source(source)
    }

    /// Adds a sink, and returns its number. As a source `-` is standard input, and as a sink standard output.
    pub(crate) fn sink(&self, sink: SinkOf) -> usize {
        self.ends().sink(SinkOf { file: sink.file.filter(|file| file != "-") })
    }

    /// All of them.
    pub(crate) fn all(&self) -> Ends {
        self.ends().clone()
    }
}
