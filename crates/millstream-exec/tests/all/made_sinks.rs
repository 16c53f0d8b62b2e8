//! Sinks that are made for every run.

use millstream_core::{Arrow, SequenceNumber, Shape, pipeline};
use millstream_exec::{JobExt, Rings, RunOutcome, Runner, Sink, sink, source};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Put(u64),
    Mark(u64),
    End(u64),
    Finish,
}

type Calls = Arc<Mutex<Vec<Call>>>;

/// A sink that notes its calls.
struct Notes(Calls);

impl Notes {
    fn note(&self, call: Call) {
        self.0.lock().unwrap().push(call);
    }
}

impl<A: Shape> Sink<A> for Notes {
    type Output = ();
    type Error = Infallible;

    fn put(&mut self, number: SequenceNumber, _: A::Ref<'_>) -> Result<(), Infallible> {
        self.note(Call::Put(number.0));
        Ok(())
    }

    fn mark(&mut self, next: SequenceNumber) -> Result<(), Infallible> {
        self.note(Call::Mark(next.0));
        Ok(())
    }

    fn end(&mut self, number: SequenceNumber) -> Result<(), Infallible> {
        self.note(Call::End(number.0));
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<(), Infallible> {
        self.note(Call::Finish);
        Ok(())
    }
}

/// A sink that is made when it is needed, and notes its calls.
fn noting(calls: &Calls) -> sink::EachRun<impl Fn() -> Result<Notes, Infallible> + Send + 'static, Notes> {
    let calls = calls.clone();
    sink::again(move || Ok(Notes(calls.clone())))
}

#[test]
fn the_end_comes_before_its_value_also_to_a_sink_without_other_values() {
    let sum = pipeline::<u64>().fold(0, |sum, x| *sum += x, |sum| sum);
    let calls = Calls::default();
    sum.from(source::ready(0..3)).to(noting(&calls)).run().unwrap();
    assert_eq!(*calls.lock().unwrap(), [Call::End(3), Call::Put(3), Call::Finish]);
    // And where nothing comes at all.
    let calls = Calls::default();
    pipeline::<u64>().from(source::ready(0..0)).to(noting(&calls)).run().unwrap();
    assert_eq!(*calls.lock().unwrap(), [Call::End(0), Call::Finish]);
}

#[test]
fn a_snapshot_before_the_first_value_is_marked() {
    let calls = Calls::default();
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().start(pipeline::<u64>().from(receiver).to(noting(&calls))).unwrap();
    assert_eq!(run.snapshot().map(|snapshot| snapshot.at()), Some(SequenceNumber(0)));
    sender.send(1).unwrap();
    assert_eq!(run.snapshot().map(|snapshot| snapshot.at()), Some(SequenceNumber(1)));
    drop(sender);
    run.wait().unwrap();
    let calls = calls.lock().unwrap();
    assert_eq!(*calls, [Call::Mark(0), Call::Put(0), Call::Mark(1), Call::End(1), Call::Finish]);
}
