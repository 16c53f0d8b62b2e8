//! Files of values that are not bytes.

use super::{ClaimingSink, Claims, OpenError};
use millstream_core::{RunOutcome, SequenceNumber, Shape, Sink, Val};
use millstream_io::time::Clock;
use millstream_io::{FileSink, FileSinkOptions, Position};
use serde_json::Value;
use std::io;

/// An appended file, and how a value is written: see [`written`].
#[derive(Clone, Debug)]
pub struct Written<C, F> {
    file: FileSinkOptions<C>,
    write: F,
}

/// An appended file as a sink of values that are not bytes: `write` appends the bytes of a value to an empty buffer.
///
/// ```
/// use millstream::{io::FileSink, prelude::*, state::{Persistent, StateDir, again, written}};
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// let squares = pipeline::<u64>().map(|x| x * x);
/// let lines = written(FileSink::append("squares"), |x: &u64, line| {
///     line.extend(format!("{x}\n").bytes());
/// });
/// Persistent::new(Rings::new(), StateDir::open("state", "squares")?).run(&squares, again(|| 0..4), lines)?;
/// assert_eq!(std::fs::read_to_string("squares")?, "0\n1\n4\n9\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn written<B, C, F>(file: FileSinkOptions<C>, write: F) -> Written<C, F>
where
    C: Clock,
    F: Fn(&B, &mut Vec<u8>) + Clone + Send + 'static,
{
    Written { file, write }
}

/// The open file of a [`Written`].
#[derive(Debug)]
pub struct WrittenFile<C: Clock, F> {
    file: FileSink<C>,
    write: F,
    bytes: Vec<u8>,
}

impl<A, C, F> ClaimingSink<A> for Written<C, F>
where
    A: Shape,
    C: Clock + Clone + Send + 'static,
    F: for<'a> Fn(A::Ref<'a>, &mut Vec<u8>) + Clone + Send + 'static,
{
    type Open = WrittenFile<C, F>;

    fn open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<WrittenFile<C, F>, OpenError> {
        let file = super::files::open(&self.file, claim)?;
        Ok(WrittenFile { file, write: self.write.clone(), bytes: Vec::new() })
    }

    fn can_open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<(), OpenError> {
        super::files::begins(&self.file, claim).map(drop)
    }

    fn goes_back(&self) -> bool {
        true
    }
}

impl<C: Clock, F> Claims for WrittenFile<C, F> {
    fn claim(&mut self) -> io::Result<Value> {
        self.file.claim()
    }
}

impl<A, C, F> Sink<A> for WrittenFile<C, F>
where
    A: Shape,
    C: Clock + Send + 'static,
    F: for<'a> Fn(A::Ref<'a>, &mut Vec<u8>) + Send + 'static,
{
    type Output = Position;
    type Error = io::Error;

    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> io::Result<()> {
        self.bytes.clear();
        (self.write)(value, &mut self.bytes);
        self.file.write(number, &self.bytes)
    }

    fn pause(&mut self) -> io::Result<()> {
        // The file may keep its values at pauses.
        Sink::<Val<Vec<u8>>>::pause(&mut self.file)
    }

    fn finish(mut self, outcome: RunOutcome) -> io::Result<Position> {
        let position = self.file.position()?;
        if outcome.is_complete() {
            self.file.finish()?;
        }
        Ok(position)
    }
}
