/// What a filter answers to a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The outputs, as text.
    pub out: Vec<u8>,
    /// What is to be said beside the output, in order.
    pub said: Vec<Said>,
    /// How many inputs the block held.
    pub values: u64,
    /// How many line feeds it held.
    pub lines: u64,
    /// Whether the last output, if there is one, is neither `false` nor `null`.
    pub last: Option<bool>,
}

/// Something that a filter says beside its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The place in the output: how many of its bytes came before.
    pub at: usize,
    /// The line on which the input begins, in its block, from 0. For bytes that are no JSON it is theirs.
    pub line: u64,
    /// The number of the input, in its block, from 0.
    pub number: u64,
    /// What is said.
    pub what: What,
}

/// Something beside the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The filter failed for this input; it is no longer run for it.
    Failed(String),
    /// Some bytes are no JSON. The block ends here.
    Invalid(String),
    /// `halt`, with an exit code. The block ends here.
    Halted(i32),
    /// What `debug` prints.
    Debug(String),
    /// What `stderr` prints.
    Stderr(Vec<u8>),
}

/// The place of an input in its block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Where {
    pub(super) line: u64,
    pub(super) number: u64,
}
