//! A sink for a pipeline that answers at its end.

use millstream_core::{Item, SequenceNumber, Shape};
use millstream_exec::{RunOutcome, Sink};
use millstream_state::{ClaimingSink, Claims, OpenError};
use serde_json::Value;
use std::convert::Infallible;
use std::io;

/// A sink for the one value of a pipeline that yields it at END. Before that it holds nothing, and claims nothing.
#[derive(Debug)]
pub(crate) struct Answer;

/// The value, once it has come.
#[derive(Debug)]
pub(crate) struct Answered<B>(Option<B>);

impl<B: Item + Clone, A: for<'a> Shape<Ref<'a> = &'a B>> ClaimingSink<A> for Answer {
    type Open = Answered<B>;

    fn open(&self, _: Option<(SequenceNumber, &Value)>) -> Result<Answered<B>, OpenError> {
        Ok(Answered(None))
    }

    fn skips(&self) -> bool {
        false
    }
}

impl<B> Claims for Answered<B> {
    fn claim(&mut self) -> io::Result<Value> {
        Ok(Value::Null)
    }
}

impl<B: Item + Clone, A: for<'a> Shape<Ref<'a> = &'a B>> Sink<A> for Answered<B> {
    type Output = Option<B>;
    type Error = Infallible;

    fn put(&mut self, _: SequenceNumber, value: &B) -> Result<(), Infallible> {
        self.0 = Some(value.clone());
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<Option<B>, Infallible> {
        Ok(self.0)
    }
}
