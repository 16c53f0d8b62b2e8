use crate::order::reading_order;
use crate::raw::Raw;
use crate::sink::SinkOf;
use crate::source::SourceOf;
use crate::stages::{Building, stages};
use crate::written::Written;
use millstream_exec::{OnDurable, OnQueues};
use millstream_registry::{Called, Ends, Mistake, StageInfo, TextPipeline, Wrong};
use std::sync::{Arc, Mutex, PoisonError};

/// A text as a pipeline, with what it reads and writes.
#[derive(Clone, Debug)]
pub struct Program {
    /// From blocks of all sources to what leaves.
    pub pipeline: TextPipeline<Raw, Written, Boxes>,
    /// The sources, in the order of the text. They are read one after the other, in [`order`](Program::order).
    pub sources: Vec<SourceOf>,
    /// The numbers of the sources in the order in which they are read: that of the text, but for what a join looks up,
    /// which is read before the rows that it looks up for.
    pub order: Vec<usize>,
    /// The sinks, by their numbers.
    pub sinks: Vec<SinkOf>,
    /// What the text calls. Two texts with the same calls are one program.
    pub calls: Vec<Called>,
}

/// The kind of all boxes: a program runs on every deployment, and its states can be written. Its stages are compiled
/// once for rings of both kinds.
pub type Boxes = OnQueues<OnDurable>;

/// The sources and sinks that a text has named so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected(Arc<Mutex<(Vec<SourceOf>, Vec<SinkOf>)>>);

impl Collected {
    /// Adds a source, and returns its number.
    pub(crate) fn source(&self, source: SourceOf) -> usize {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.0.push(source);
        all.0.len() - 1
    }

    /// Adds a sink, and returns its number. As a source `-` is standard input, and as a sink standard output.
    pub(crate) fn sink(&self, sink: SinkOf) -> usize {
        let sink = SinkOf { file: sink.file.filter(|file| file != "-") };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.1.push(sink);
        all.1.len() - 1
    }

    /// What two sinks write to, if there are such.
    fn twice(&self) -> Option<Option<String>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let twice = all.1.iter().enumerate().find(|(n, sink)| all.1[..*n].contains(sink));
        twice.map(|(_, sink)| sink.file.clone())
    }
}

const ENDS: Ends = Ends { print: "print", both: "both" };

impl Program {
    /// A program of a text. Its stages without a state have `shards` tasklets; with `terminal`, what is printed at the
    /// end is aligned for eyes.
    ///
    /// # Errors
    ///
    /// All mistakes in the text, in one pass.
    ///
    /// # Panics
    ///
    /// If `shards` is 0.
    pub fn load(text: &str, shards: usize, terminal: bool) -> Result<Self, Wrong> {
        let collected = Collected::default();
        let building = Building { shards, terminal, collected: collected.clone() };
        let (pipeline, calls) = stages(&building).program_of_calls(text, &ENDS)?;
        if let Some(file) = collected.twice() {
            let to = file.map_or_else(|| "standard output".to_owned(), |file| format!("{file:?}"));
            let help = "one of them can write a file, as `jsonl(\"rows.jsonl\")`; else it would depend on the blocks that \
                        are read which of them comes first";
            let mistake = Mistake {
                what: format!("two outputs go to {to}"),
                at: text.len()..text.len(),
                label: String::new(),
                because: None,
                help: Some(help.to_owned()),
            };
            return Err(Wrong::of(text, vec![mistake]));
        }
        let (sources, sinks) = collected.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let order = reading_order(&calls, sources.len()).map_err(|mistakes| Wrong::of(text, mistakes))?;
        Ok(Program { pipeline, sources, order, sinks, calls })
    }

    /// All stages, for people and editors.
    #[must_use]
    pub fn stages() -> Vec<StageInfo> {
        stages(&Building { shards: 1, terminal: false, collected: Collected::default() }).stages()
    }
}
