/// A filter's answer to a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The outputs, as text.
    pub out: Vec<u8>,
    /// Messages beside the output, in order.
    pub said: Vec<Said>,
    /// The number of inputs in the block.
    pub values: u64,
    /// The number of line feeds in the block.
    pub lines: u64,
    /// Whether the last output, if there is one, is neither `false` nor `null`.
    pub last: Option<bool>,
}

/// A message of a filter beside its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The place in the output: the number of output bytes before the message.
    pub at: usize,
    /// The index of the block that was read, of those that the filter was given together; of the last one, if all of
    /// them are one input.
    pub block: usize,
    /// The line on which the input begins, from 0, as if all blocks were one; the line of the bytes that are not JSON.
    pub line: u64,
    /// The number of the input, from 0, as if all blocks were one; of values that are read as one array, the place.
    pub number: u64,
    /// The kind of message.
    pub what: What,
}

/// The kinds of messages beside the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The filter failed for this input, and yields no more outputs for it.
    Failed(String),
    /// Some bytes are not JSON. The answer ends here.
    Invalid(String),
    /// `halt`, with an exit code. The answer ends here.
    Halted(i32),
    /// A message of `debug`.
    Debug(String),
    /// A text of `stderr`.
    Stderr(Vec<u8>),
}

/// The place of an input in its block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Where {
    pub(super) line: u64,
    pub(super) number: u64,
}
