//! Snapshots as bytes.

use super::{Snapshot, SnapshotMismatch, States};
use crate::kept::{Kept, WrittenLane};
use millstream_core::SequenceNumber;
use millstream_core::keys::StableHasher;
use serde::{Deserialize, Serialize};
use std::hash::Hasher;
use std::sync::Arc;
use std::time::Duration;
use std::{error, fmt};

/// A snapshot begins with these bytes; the format's number follows.
const MAGIC: &[u8; 8] = b"millsnap";
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Written {
    at: SequenceNumber,
    output: Option<SequenceNumber>,
    numbers: Vec<(String, SequenceNumber)>,
    stages: Vec<(String, Vec<WrittenLane>)>,
}

impl Snapshot {
    /// This snapshot as bytes, for another process: with [`from_bytes`](Snapshot::from_bytes) a run there begins with
    /// it. The run must be on [`Durable`](crate::Durable) rings: on [`Rings`](crate::Rings) a snapshot keeps clones of
    /// the states, which have no bytes.
    ///
    /// The bytes are the number of this format, 1, then the states, each with the name of its type, then a checksum.
    /// [postcard](https://docs.rs/postcard) writes the states. A state that postcard cannot read back, such as one with
    /// `#[serde(skip_serializing_if)]`, `#[serde(untagged)]` or a `serde_json::Value`, fails only in the process that
    /// reads it: try it in a test. A type is known by its name as this compiler prints it.
    ///
    /// Keep the bytes once the sink has stored everything below [`output_at`](Snapshot::output_at): a sink
    /// [pauses](crate::Sink::pause) before it passes the snapshot's mark, but values that it still holds are not in the
    /// snapshot.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// let sums = || pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum }).named("sum");
    /// let (sender, receiver) = source::channel(16);
    /// let run = Durable::new(Rings::new()).start(sums().from(receiver).to(sink::collect()))?;
    /// sender.send_all([1, 2, 3])?;
    /// let bytes = run.snapshot().expect("the run goes on").to_bytes()?;
    /// drop((run, sender));
    ///
    /// let snapshot = Snapshot::from_bytes(&bytes)?;
    /// assert_eq!(snapshot.at(), SequenceNumber(3));
    /// let rings = Durable::new(Rings::new().resume(snapshot));
    /// assert_eq!(rings.collect(sums().from([4, 5]))?, [10, 15]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a state cannot be written; the error names its stage.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SnapshotMismatch> {
        let States { at, output, numbers, stages, .. } = &*self.0;
        let lanes = |(stage, lanes): (&String, &Vec<Kept>)| {
            let written = lanes.iter().map(Kept::write).collect::<Result<_, _>>();
            written.map(|lanes| (stage.clone(), lanes)).map_err(|why| SnapshotMismatch { stage: stage.clone(), why })
        };
        let stages = stages.iter().map(lanes).collect::<Result<_, _>>()?;
        let written = Written { at: *at, output: *output, numbers: numbers.clone(), stages };
        let bytes = [&MAGIC[..], &FORMAT.to_le_bytes()].concat();
        let mut bytes = postcard::to_extend(&written, bytes).map_err(|error| {
            let why = format!("cannot be written: {error}");
            SnapshotMismatch { stage: "source".to_owned(), why }
        })?;
        bytes.extend(checksum(&bytes).to_le_bytes());
        Ok(bytes)
    }

    /// The snapshot that [`to_bytes`](Snapshot::to_bytes) wrote. Its states are read when a run begins with it.
    ///
    /// # Errors
    ///
    /// If the bytes are no snapshot, or have a later format.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CorruptSnapshot> {
        let behind = bytes.strip_prefix(MAGIC).ok_or(CorruptSnapshot(Fault::Other))?;
        let (format, rest) = behind.split_first_chunk().ok_or(CorruptSnapshot(Fault::Other))?;
        match u32::from_le_bytes(*format) {
            FORMAT => {}
            format => return Err(CorruptSnapshot(Fault::Format(format))),
        }
        let damaged = || CorruptSnapshot(Fault::Unreadable("its checksum does not match".to_owned()));
        let (written, sum) = rest.split_last_chunk().ok_or_else(damaged)?;
        if checksum(&bytes[..bytes.len() - sum.len()]) != u64::from_le_bytes(*sum) {
            return Err(damaged());
        }
        let (written, rest) = postcard::take_from_bytes::<Written>(written)
            .map_err(|error| CorruptSnapshot(Fault::Unreadable(error.to_string())))?;
        if !rest.is_empty() {
            return Err(CorruptSnapshot(Fault::Unreadable(format!("{} bytes follow it", rest.len()))));
        }
        let Written { at, output, numbers, stages } = written;
        let stages = stages.into_iter().map(|(stage, lanes)| (stage, lanes.into_iter().map(Kept::from).collect()));
        Ok(Snapshot(Arc::new(States { mark: 0, at, output, numbers, stages: stages.collect(), stop: Duration::ZERO })))
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = StableHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// Why bytes are no snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorruptSnapshot(Fault);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Fault {
    Other,
    Format(u32),
    Unreadable(String),
}

impl CorruptSnapshot {
    pub(super) fn unreadable(why: String) -> Self {
        CorruptSnapshot(Fault::Unreadable(why))
    }
}

impl fmt::Display for CorruptSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Fault::Other => f.write_str("these bytes are not a snapshot"),
            Fault::Format(format) => {
                write!(f, "a snapshot of format {format}; this version of Millstream reads format {FORMAT}")
            }
            Fault::Unreadable(why) => write!(f, "the snapshot is damaged: {why}"),
        }
    }
}

impl error::Error for CorruptSnapshot {}
