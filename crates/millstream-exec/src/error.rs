use millstream_core::SequenceNumber;

/// Why a run ended before its source did.
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

    /// Of several failures the one with the least is told: by number, and those without one last.
    pub(crate) fn rank(&self) -> u64 {
        match self {
            RunError::Stage { number: Some(SequenceNumber(number)), .. } => *number,
            _ => u64::MAX,
        }
    }
}

fn at(number: Option<SequenceNumber>) -> String {
    number.map_or(String::new(), |number| format!(", number {number}"))
}
