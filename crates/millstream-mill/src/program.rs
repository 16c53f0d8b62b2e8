use crate::counted::{Counting, RowCounts};
use crate::ends::{Collected, Ends, Numbers};
use crate::order::reading_order;
use crate::raw::Raw;
use crate::sink::SinkOf;
use crate::source::SourceOf;
use crate::stages::{Building, stages};
use crate::written::Written;
use millstream_exec::{OnDurable, OnQueues};
use millstream_registry::{self as registry, Called, Mistake, StageInfo, TextPipeline, TextProgram, Wrong};

/// A text as a pipeline, with what it reads and writes.
#[derive(Clone, Debug)]
pub struct Program {
    /// The pipeline from blocks of all sources to the outputs.
    pub pipeline: TextPipeline<Raw, Written, Boxes>,
    /// The sources, in the order of the text. They are read one after the other, in [`order`](Program::order).
    pub sources: Vec<SourceOf>,
    /// The numbers of the sources in the order in which they are read: that of the text, but for what a join looks up,
    /// which is read before the rows that it looks up for.
    pub order: Vec<usize>,
    /// The sinks, by their numbers. A [next](Program::next) text has those of the texts before it first, whether it
    /// writes them or not.
    pub sinks: Vec<SinkOf>,
    /// The files for dead letters, by their numbers; `None` for messages. First those of the sources, in their order. A
    /// [next](Program::next) text has those of the texts before it first.
    pub dead: Vec<Option<String>>,
    pub(crate) text: Text,
}

/// The kind of all boxes: a program runs on every deployment, and its states can be written. Its stages are compiled
/// once for rings of both kinds.
pub type Boxes = OnQueues<OnDurable>;

/// The contents of a text.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) calls: Vec<Called>,
    pub(crate) keeps: Vec<String>,
    pub(crate) ends: Ends,
    rows: RowCounts,
    shards: usize,
    terminal: bool,
}

const ENDS: registry::Ends = registry::Ends { print: "print", both: "both" };

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
        Program::of(text, shards, terminal, Ends::default())
    }

    /// A program of a text that is to take the place of this one, in a run of this one: the sources, sinks and dead
    /// letters that both have, have the same numbers in both.
    ///
    /// [`check_upgrade`](Program::check_upgrade) says whether the run can go on with it.
    ///
    /// # Errors
    ///
    /// All mistakes in the text, in one pass.
    pub fn next(&self, text: &str) -> Result<Self, Wrong> {
        let Text { ends, shards, terminal, .. } = &self.text;
        let mut next = Program::of(text, *shards, *terminal, ends.of_next())?;
        next.order.clone_from(&self.order);
        Ok(next)
    }

    /// As [`load`](Program::load), with the numbers that this text had in a run whose states were stored.
    ///
    /// ```
    /// use millstream::mill::Program;
    ///
    /// let first = Program::load("jsonl | jsonl(\"a\")", 1, false)?;
    /// let text = "jsonl | jsonl(\"b\")";
    /// let second = first.next(text)?;
    /// assert_eq!(second.writes()[0], [1]);
    /// // In another process.
    /// let again = Program::load_again(text, &second.numbers(), 1, false)?;
    /// assert_eq!(again.writes()[0], [1]);
    /// # Ok::<(), millstream::registry::Wrong>(())
    /// ```
    ///
    /// # Errors
    ///
    /// All mistakes in the text, in one pass; and if the numbers are those of another text.
    ///
    /// # Panics
    ///
    /// If `shards` is 0.
    pub fn load_again(text: &str, numbers: &Numbers, shards: usize, terminal: bool) -> Result<Self, Wrong> {
        let first = Program::load(text, shards, terminal)?;
        let again = numbers.ends(&first.sources).map(|ends| Program::of(text, shards, terminal, ends)).transpose()?;
        let again = again.map(|again| Program { order: numbers.order.clone(), ..again });
        again.filter(|again| again.numbers() == *numbers).ok_or_else(|| {
            let mistake = Mistake {
                what: "the numbers that are stored with this text belong to another text".to_owned(),
                at: text.len()..text.len(),
                label: String::new(),
                because: None,
                help: None,
            };
            Wrong::of(text, vec![mistake])
        })
    }

    fn of(text: &str, shards: usize, terminal: bool, ends: Ends) -> Result<Self, Wrong> {
        let collected = Collected::new(ends);
        let counting = Counting::default();
        let building = Building { shards, terminal, collected: collected.clone(), counting: counting.clone() };
        let TextProgram { pipeline, calls, keeps } = stages(&building).program_of_calls(text, &ENDS)?;
        let ends = collected.all();
        if let Some((second, file)) = ends.twice() {
            let mut sinks = calls.iter().filter(|call| call.output == "Output" && call.stage != ENDS.both);
            let to = file.map_or_else(|| "standard output".to_owned(), |file| format!("{file:?}"));
            let help = "let one of them write a file, such as `jsonl(\"rows.jsonl\")`: the order of their rows would \
                        depend on the blocks that are read";
            let mistake = Mistake {
                what: format!("two outputs go to {to}"),
                at: sinks.nth(second).map_or(0..text.len(), |sink| sink.at.clone()),
                label: "the second one".to_owned(),
                because: None,
                help: Some(help.to_owned()),
            };
            return Err(Wrong::of(text, vec![mistake]));
        }
        let order = reading_order(&calls, ends.reads.len()).map_err(|mistakes| Wrong::of(text, mistakes))?;
        let (sources, sinks, dead) = (ends.sources.clone(), ends.sinks.clone(), ends.dead.clone());
        let text = Text { rows: counting.all(&calls), calls, keeps, ends, shards, terminal };
        Ok(Program { pipeline, sources, order, sinks, dead, text })
    }

    /// The calls in the text. Two texts whose calls read the same wires and have the same names are one program.
    #[must_use]
    pub fn calls(&self) -> &[Called] {
        &self.text.calls
    }

    /// How many rows have come to each of its stages. Clones of the program share the counts.
    #[must_use]
    pub fn rows(&self) -> &RowCounts {
        &self.text.rows
    }

    /// The numbers of the sinks, and of the files for dead letters, that this text writes.
    #[must_use]
    pub fn writes(&self) -> [&[usize]; 2] {
        let Ends { writes, dead_of, .. } = &self.text.ends;
        [writes, dead_of]
    }

    /// The number to which dead letters with this number go by now: that of the present text, of the same source.
    #[must_use]
    pub fn dead_to(&self, number: usize) -> usize {
        let Ends { dead_from, dead_of, .. } = &self.text.ends;
        dead_of[dead_from[number]]
    }

    /// The numbers of its sources, sinks and dead letters, to be stored with its states: see
    /// [`load_again`](Program::load_again).
    #[must_use]
    pub fn numbers(&self) -> Numbers {
        self.text.ends.numbers(&self.order)
    }

    /// All stages, for people and editors.
    #[must_use]
    pub fn stages() -> Vec<StageInfo> {
        let (collected, counting) = (Collected::default(), Counting::default());
        stages(&Building { shards: 1, terminal: false, collected, counting }).stages()
    }
}
