//! What texts read and write, by the numbers that it has in a run.

use crate::sink::SinkOf;
use crate::source::SourceOf;
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
    /// For each source of the run, where the dead letters of its rows go in the present text.
    pub(crate) dead_of: Vec<usize>,
    /// The numbers of the text's sources, in its order; `None` for one that the run does not read.
    pub(crate) reads: Vec<Option<usize>>,
    /// The numbers of the text's sinks, in its order.
    pub(crate) writes: Vec<usize>,
    /// Whether the run has begun with another text.
    goes_on: bool,
}

/// What a source of a text reads, by its numbers in the run.
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
    /// Those of a text that takes the place of the present one.
    pub(crate) fn of_next(&self) -> Self {
        Ends { reads: Vec::new(), writes: Vec::new(), goes_on: true, ..self.clone() }
    }

    fn source(&mut self, source: SourceOf) -> Reads {
        if !self.goes_on {
            let number = self.sources.len();
            self.dead.push(source.dead.clone());
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

    /// What two sinks of the text write to, if there are such.
    pub(crate) fn twice(&self) -> Option<Option<String>> {
        let mut all = self.writes.iter().enumerate();
        let twice = all.find(|(n, sink)| self.writes[..*n].contains(sink));
        twice.map(|(_, sink)| self.sinks[*sink].file.clone())
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

    /// Adds a source, and returns what it reads.
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
