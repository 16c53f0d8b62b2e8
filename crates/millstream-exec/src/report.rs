use millstream_core::SequenceNumber;
use std::time::Duration;

/// What a run that came to its end did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Report {
    /// END's number at the sink: how many numbers its clock had.
    pub numbers: SequenceNumber,
    /// How many values the sink got.
    pub values: u64,
    /// How many workers ran it; 0 if the calling thread did it all.
    pub workers: usize,
    /// How many tasklets they ran, source and sink among them.
    pub tasklets: usize,
    /// Bytes of all rings, without what values own on the heap.
    pub ring_bytes: usize,
    /// From the first step to the last.
    pub elapsed: Duration,
}
