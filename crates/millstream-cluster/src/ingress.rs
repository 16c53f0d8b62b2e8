//! The input of batches into a cluster.

use crate::{Batch, BatchError, Log, LogError, Step};
use serde::Serialize;

/// Cuts values into batches of `size`. The last batch is marked as the last.
///
/// # Errors
///
/// If a value cannot be written.
///
/// # Panics
///
/// If `size` is 0.
pub fn cut<T: Serialize + 'static>(
    values: impl IntoIterator<Item = T>,
    size: usize,
) -> Result<Vec<Vec<u8>>, BatchError> {
    assert!(size > 0, "a batch has at least one value");
    let mut numbered = (0..).zip(values).peekable();
    let (mut batches, mut first) = (Vec::new(), 0);
    loop {
        let values: Vec<(u64, T)> = numbered.by_ref().take(size).collect();
        let (next, end) = (first + values.len() as u64, numbered.peek().is_none());
        batches.push(Batch { first, next, end, generation: 0, values }.to_bytes()?);
        if end {
            return Ok(batches);
        }
        first = next;
    }
}

/// Appends batches to an edge. Several ingresses with the same batches, one after another or at once, append each batch
/// once.
#[derive(Debug)]
pub struct Ingress<L> {
    log: L,
    edge: String,
    batches: Vec<Vec<u8>>,
    /// The last number of the edge, if it is known.
    last: Option<u64>,
}

impl<L: Log> Ingress<L> {
    /// Appends these batches, from number 1 on.
    pub fn new(log: L, edge: &str, batches: Vec<Vec<u8>>) -> Self {
        Ingress { log, edge: edge.to_owned(), batches, last: None }
    }

    /// Calls the log once.
    ///
    /// # Errors
    ///
    /// If the log refuses for good.
    pub fn step(&mut self) -> Result<Step, LogError> {
        let Some(last) = self.last else {
            return match self.log.last(&self.edge) {
                Ok(last) => {
                    self.last = Some(last);
                    Ok(Step::Worked)
                }
                Err(refused @ LogError::Refused(_)) => Err(refused),
                Err(_) => Ok(Step::Idle),
            };
        };
        let next = usize::try_from(last).ok().and_then(|last| self.batches.get(last));
        let Some(batch) = next else { return Ok(Step::Ended) };
        match self.log.append_if(&self.edge, last, batch) {
            Ok(()) => {
                self.last = Some(last + 1);
                Ok(Step::Worked)
            }
            Err(LogError::Full) => Ok(Step::Idle),
            Err(refused @ (LogError::Refused(_) | LogError::TooLarge { .. })) => Err(refused),
            Err(LogError::Conflict | LogError::Unavailable(_)) => {
                self.last = None;
                Ok(Step::Worked)
            }
        }
    }
}
