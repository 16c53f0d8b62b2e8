use millstream_core::SequenceNumber;

/// Why a run ended before its source did.
///
/// The first failure stops every other stage at its next step, so a run has several failures only where stages were working at
/// the same time. Then it tells the one that a single thread would have come to: behind a stage that numbers afresh rather than
/// in front of it, where numbers are of another clock; on one clock that at the least number, and at one number that
/// of the first stage in pipeline order. Which stages had come how far when the first one failed is a matter of time, so
/// two runs of a pipeline that fails at several numbers may tell of different ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A stage failed; nothing behind this number was given to the sink.
    #[error("stage {stage:?}{}: {cause}", at(*.number))]
    Stage {
        /// The stage's name in the plan; `source` and `sink` are the ends.
        stage: String,
        /// The number it worked on, if it was working on one.
        number: Option<SequenceNumber>,
        /// What went wrong.
        cause: String,
    },
    /// The options do not fit together.
    #[error(transparent)]
    Options(#[from] crate::OptionsError),
    /// Draining took longer than it might, and the run was stopped.
    #[error("the time to drain was over with {left} accepted values left")]
    DrainTimeout {
        /// How many values were accepted and did not come out. Behind a stage that renumbers, as `flat_map` or windows,
        /// and where only the sink of a `tee` has not come to its end: what was left in front of all stages. None where
        /// END alone was left, with what stages say there.
        left: u64,
    },
    /// A thread could not be started.
    #[error("a worker could not be started: {0}")]
    Spawn(String),
}

impl RunError {
    /// A thread that feeds a run panics, this one, and was about to send this number.
    pub(crate) fn panicked(stage: String, number: u64) -> Self {
        let thread = std::thread::current();
        let name = thread.name().map_or(String::new(), |name| format!(" {name:?}"));
        RunError::Stage { stage, number: Some(SequenceNumber(number)), cause: format!("its thread{name} panicked") }
    }
}

fn at(number: Option<SequenceNumber>) -> String {
    number.map_or(String::new(), |number| format!(", number {number}"))
}
