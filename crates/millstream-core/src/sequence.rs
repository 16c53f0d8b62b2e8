use std::fmt;

/// The number of a slot on its edge: 0 is the first.
///
/// The Disruptor's *sequence number*. It only ever grows, and 64 bits outlast any run: at a thousand million slots a
/// second they last 584 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct SequenceNumber(pub u64);

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u64> for SequenceNumber {
    fn from(n: u64) -> Self {
        SequenceNumber(n)
    }
}
