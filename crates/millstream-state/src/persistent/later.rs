//! The sink of a run that follows another process: it is opened when this process takes over.

use crate::claims::{ClaimingSink, Claims, OpenError};
use millstream_core::{RunOutcome, SequenceNumber, Shape, Sink};
use serde_json::Value;
use std::error::Error;
use std::io;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A place for the open sink.
pub(super) struct Place<O>(Arc<Mutex<Option<O>>>);

impl<O> Clone for Place<O> {
    fn clone(&self) -> Self {
        Place(self.0.clone())
    }
}

impl<O> Default for Place<O> {
    fn default() -> Self {
        Place(Arc::default())
    }
}

impl<O> Place<O> {
    fn lock(&self) -> MutexGuard<'_, Option<O>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on all values go to this sink. The caller has stopped the source, and all values of it have passed.
    pub(super) fn give(&self, sink: O) {
        *self.lock() = Some(sink);
    }
}

/// A sink that is not open: it drops all values.
pub(super) struct Later<O> {
    place: Place<O>,
    sink: Option<O>,
}

/// Makes a [`Later`], and opens nothing.
pub(super) struct NotYet<A, K: ClaimingSink<A>>
where
    A: Shape,
{
    place: Place<K::Open>,
    /// Whether the sink skips numbers that it has.
    skips: bool,
    shape: PhantomData<fn() -> A>,
}

impl<A: Shape, K: ClaimingSink<A>> NotYet<A, K> {
    pub(super) fn of(sink: &K, place: Place<K::Open>) -> Self {
        NotYet { place, skips: sink.skips(), shape: PhantomData }
    }
}

impl<A: Shape, K: ClaimingSink<A>> ClaimingSink<A> for NotYet<A, K> {
    type Open = Later<K::Open>;

    fn open(&self, _: Option<(SequenceNumber, &Value)>) -> Result<Later<K::Open>, OpenError> {
        Ok(Later { place: self.place.clone(), sink: None })
    }

    fn skips(&self) -> bool {
        self.skips
    }
}

impl<O> Later<O> {
    /// The sink, once there is one.
    fn sink(&mut self) -> Option<&mut O> {
        if self.sink.is_none() {
            self.sink = self.place.lock().take();
        }
        self.sink.as_mut()
    }
}

impl<O: Claims> Claims for Later<O> {
    fn claim(&mut self) -> io::Result<Value> {
        // While it is not open, no snapshot is stored.
        self.sink().map_or(Ok(Value::Null), Claims::claim)
    }

    fn forget(&mut self, oldest: &Value) {
        if let Some(sink) = self.sink() {
            sink.forget(oldest);
        }
    }
}

impl<A: Shape, O: Sink<A>> Sink<A> for Later<O> {
    type Output = O::Output;
    type Error = Box<dyn Error + Send + Sync>;

    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), Self::Error> {
        self.sink().map_or(Ok(()), |sink| sink.put(number, value)).map_err(Into::into)
    }

    fn pause(&mut self) -> Result<(), Self::Error> {
        self.sink().map_or(Ok(()), Sink::pause).map_err(Into::into)
    }

    fn mark(&mut self, next: SequenceNumber) -> Result<(), Self::Error> {
        self.sink().map_or(Ok(()), |sink| sink.mark(next)).map_err(Into::into)
    }

    fn end(&mut self, number: SequenceNumber) -> Result<(), Self::Error> {
        self.sink().map_or(Ok(()), |sink| sink.end(number)).map_err(Into::into)
    }

    fn finish(mut self, outcome: RunOutcome) -> Result<O::Output, Self::Error> {
        self.sink();
        match self.sink {
            Some(sink) => sink.finish(outcome).map_err(Into::into),
            None => Err("the run has followed another process, and has not taken over from it".into()),
        }
    }
}
