use millstream_core::SequenceNumber;

/// Why a run ended before its source did.
///
/// The first failure stops every other stage at its next step. A run therefore has several failures only if stages were
/// working at the same time. It then reports the one that a single thread would have met first: on different clocks,
/// the one downstream of the renumbering stage; on one clock, the one at the least number; at one number, the one of
/// the first stage in pipeline order. How far each stage had come when the first one failed depends on timing. Two runs
/// of a pipeline that fails at several numbers may therefore report different failures.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A stage failed. The sink received nothing after this number.
    #[error("stage {stage:?}{}: {cause}", at(*.number))]
    Stage {
        /// The stage's name in the plan; `source` and `sink` are the ends.
        stage: String,
        /// The number it was processing, if any.
        number: Option<SequenceNumber>,
        /// The cause, in words.
        cause: String,
    },
    /// The options contradict each other.
    #[error(transparent)]
    Options(#[from] crate::OptionsError),
    /// Draining took longer than its timeout, and the run was stopped.
    #[error("draining timed out with {left} accepted values left")]
    DrainTimeout {
        /// How many values were accepted and did not come out. After a stage that renumbers, such as `flat_map` or a
        /// window, and if only the sink of a `tee` has not ended, this counts the values left before all stages. 0 if
        /// only END was left, with the values that stages emit there.
        left: u64,
    },
    /// A thread could not be started.
    #[error("a worker could not be started: {0}")]
    Spawn(String),
}

impl RunError {
    /// The failure of a source's thread, the calling one, that panics while `number` is the next to send.
    pub(crate) fn panicked(stage: String, number: u64) -> Self {
        let thread = std::thread::current();
        let name = thread.name().map_or(String::new(), |name| format!(" {name:?}"));
        RunError::Stage { stage, number: Some(SequenceNumber(number)), cause: format!("its thread{name} panicked") }
    }
}

fn at(number: Option<SequenceNumber>) -> String {
    number.map_or(String::new(), |number| format!(", number {number}"))
}
