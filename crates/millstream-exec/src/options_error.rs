use crate::MemoryLimit;
use std::fmt;

/// Invalid options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionsError {
    /// A number of slots that is not a power of two.
    Ring(usize),
    /// A batch of 0.
    Batch,
    /// Queues of 0 slots.
    Queue,
    /// 0 workers.
    Workers,
    /// 0 producers.
    Producers,
    /// A rule that chooses among rings, with producers that share one.
    SharedOrder,
    /// Rings that exceed the memory limit.
    Memory {
        /// Slots of each ring.
        slots: usize,
        /// Bytes of all rings.
        bytes: usize,
        /// The limit.
        limit: MemoryLimit,
        /// The most slots with which they fit; 0 if no number fits.
        fit: usize,
    },
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionsError::Ring(slots) => millstream_ring::CapacityError { slots: *slots }.fmt(f),
            OptionsError::Batch => f.write_str("a batch of 0: a step must be able to move at least 1"),
            OptionsError::Queue => f.write_str("queues of 0 slots: a queue must be able to hold at least 1"),
            OptionsError::Producers => f.write_str("a fan-in of 0 producers: at least 1 is needed"),
            OptionsError::SharedOrder => f.write_str(
                "producers that share a ring are taken in order of arrival: \
                 for a rule, give each producer its own ring",
            ),
            OptionsError::Workers => f.write_str("0 workers: at least 1 has to run the stages"),
            OptionsError::Memory { slots, bytes, limit, fit } => {
                write!(f, "rings of {slots} slots take {bytes} bytes together, and {limit}: ")?;
                match fit {
                    0 => f.write_str("no ring is small enough; fewer stages, or smaller values"),
                    fit => write!(f, "rings of at most {fit} slots fit"),
                }
            }
        }
    }
}

impl std::error::Error for OptionsError {}
