//! What the named sinks of random pipelines got, and the receivers of their dead letters.

use super::value::Value;
use crate::check::Difference;
use millstream_core::SequenceNumber;
use millstream_exec::sink::Output;
use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Numbers, and what came with them.
pub(super) type Got<V> = Vec<(u64, V)>;

/// What one of them has got. An equal pipeline that replaces the pipeline goes on with it.
pub(super) type Log<V> = Arc<Mutex<Got<V>>>;

pub(super) fn locked<V>(log: &Log<V>) -> MutexGuard<'_, Got<V>> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

fn taken<V>(log: &Log<V>) -> Got<V> {
    std::mem::take(&mut *locked(log))
}

/// The logs of a pipeline's named sinks, each of which says when it is finished, and of its dead letters.
#[derive(Clone, Default)]
pub(super) struct Logs {
    named: Vec<(Log<Value>, Output<()>)>,
    letters: Vec<Log<String>>,
}

/// The logs, while a pipeline is built.
#[derive(Default)]
pub(super) struct Sinks(RefCell<Logs>);

/// A receiver of dead letters.
pub(super) struct Letters(Log<String>);

impl Letters {
    pub(super) fn note(&self, SequenceNumber(number): SequenceNumber, fault: &impl fmt::Display) {
        let letter = (number, fault.to_string());
        locked(&self.0).push(letter);
    }
}

impl Sinks {
    pub(super) fn into_logs(self) -> Logs {
        self.0.into_inner()
    }

    /// How many sinks have a name.
    pub(super) fn named(&self) -> usize {
        self.0.borrow().named.len()
    }

    /// Adds a named sink, which notes what it gets, and finishes this output.
    pub(super) fn add(&self, log: Log<Value>, output: Output<()>) {
        self.0.borrow_mut().named.push((log, output));
    }

    /// A receiver of dead letters.
    pub(super) fn letters(&self) -> Letters {
        let log = Log::default();
        self.0.borrow_mut().letters.push(log.clone());
        Letters(log)
    }
}

/// What all of them got in one run: a named sink in order, or none if it was not finished; dead letters in one order.
pub(super) struct Taken {
    named: Vec<Option<Got<Value>>>,
    letters: Vec<Got<String>>,
    /// Whether it has lost its numbers and its order.
    scattered: bool,
}

impl Logs {
    /// What they have got since the last call.
    pub(super) fn take(&self) -> Taken {
        let finished = |(log, output): &(Log<Value>, Output<()>)| {
            let got = taken(log);
            output.take().map(|()| got)
        };
        let in_one_order = |log: &Log<String>| {
            let mut got = taken(log);
            got.sort_unstable();
            got
        };
        let letters = self.letters.iter().map(in_one_order).collect();
        Taken { named: self.named.iter().map(finished).collect(), letters, scattered: false }
    }
}

impl Taken {
    /// The same without numbers, in one order: all that can be compared behind a stage that gives the order up.
    pub(super) fn scattered(&self) -> Taken {
        let named = self.named.iter().map(|got| got.as_deref().map(without_numbers)).collect();
        let letters = self.letters.iter().map(|got| without_numbers(got)).collect();
        Taken { named, letters, scattered: true }
    }

    /// The first sink that got other values than in the model, or the first receiver with other letters. If the stream
    /// `ends` before its source does, the timing decides how many an upstream one gets.
    pub(super) fn is_model(&self, model: &Taken, ends: bool) -> Result<(), Difference> {
        for (sink, (model, deployed)) in model.named.iter().zip(&self.named).enumerate() {
            let fits = match (model, deployed) {
                (Some(model), Some(deployed)) if ends && self.scattered => is_part(deployed, model),
                (Some(model), Some(deployed)) if ends => model.starts_with(deployed),
                _ => model == deployed && model.is_some(),
            };
            differ(!fits, sink, model, deployed)?;
        }
        for (place, (model, deployed)) in model.letters.iter().zip(&self.letters).enumerate() {
            let fits = if ends { is_part(deployed, model) } else { deployed == model };
            differ(!fits, self.named.len() + place, model, deployed)?;
        }
        Ok(())
    }
}

fn differ(differ: bool, sink: usize, model: &impl fmt::Debug, deployed: &impl fmt::Debug) -> Result<(), Difference> {
    let error = || Difference::Sink { sink, model: format!("{model:?}"), deployed: format!("{deployed:?}") };
    if differ { Err(error()) } else { Ok(()) }
}

fn without_numbers<V: Clone + Ord>(got: &[(u64, V)]) -> Got<V> {
    let mut got: Got<V> = got.iter().map(|(_, value)| (0, value.clone())).collect();
    got.sort_unstable();
    got
}

/// Whether all of these are among those, as often; both are in one order.
fn is_part<V: PartialEq>(these: &[V], those: &[V]) -> bool {
    let mut those = those.iter();
    these.iter().all(|one| those.any(|other| other == one))
}
