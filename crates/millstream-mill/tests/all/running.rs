//! Programs over texts in memory, run in any way.

use millstream_core::{ModelExt, SequenceNumber};
use millstream_exec::{Durable, Inline, JobRefExt, Queues, Rings, Runner, Snapshot, source};
use millstream_mill::{FileBlocks, Program, Raw, Written};
use std::io::Read;

/// A reader of at most n bytes at once.
pub(crate) struct Slowly(pub(crate) Vec<u8>, pub(crate) usize, pub(crate) usize);

impl Read for Slowly {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = (self.0.len() - self.1).min(self.2).min(buffer.len());
        buffer[..read].copy_from_slice(&self.0[self.1..self.1 + read]);
        self.1 += read;
        Ok(read)
    }
}

/// A way to run a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Model,
    Inline,
    Queues,
    Rings { workers: usize, ring: usize },
}

/// The outputs of a program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Out {
    /// By the number of a sink.
    pub(crate) sinks: Vec<String>,
    pub(crate) dead: Vec<(String, u64, String, String)>,
}

/// The blocks of the inputs, one for each source, read in pieces of `cut` bytes.
pub(crate) fn blocks(program: &Program, inputs: &[&str], cut: usize) -> Vec<Raw> {
    let of = |n: &usize| {
        let (n, source) = (*n, &program.sources[*n]);
        let input = Slowly(Vec::from(inputs[n]), 0, cut);
        let mut blocks = FileBlocks::new(source, n, &format!("in-{n}"), input, 1 << 20);
        let all: Vec<Raw> = blocks.by_ref().collect();
        assert!(blocks.failure().is_none(), "{:?}", blocks.failure());
        all
    };
    program.order.iter().flat_map(of).collect()
}

pub(crate) fn run(program: &Program, input: Vec<Raw>, way: Way) -> Out {
    let p = &program.pipeline;
    let all: Vec<Written> = match way {
        Way::Model => p.model(input),
        Way::Inline => Inline::default().collect(p.from(input)).expect("it runs"),
        Way::Queues => Queues::new().collect(p.from(input)).expect("it runs"),
        Way::Rings { workers, ring } => {
            Rings::new().workers(workers).ring(ring).collect(p.from(input)).expect("it runs")
        }
    };
    let mut out = Out { sinks: vec![String::new(); program.sinks.len()], dead: Vec::new() };
    for written in all {
        for (sink, part) in written.parts {
            out.sinks[sink] += &String::from_utf8(part).expect("text");
        }
        out.dead
            .extend(written.dead.into_iter().map(|dead| (dead.stage.to_string(), dead.number, dead.path, dead.why)));
    }
    out
}

/// The outputs, by number.
pub(crate) type Numbered = Vec<(u64, Written)>;

/// By the model.
pub(crate) fn numbered(program: &Program, input: Vec<Raw>) -> Numbered {
    let mut all = Vec::new();
    program.pipeline.model_each(input, |number, written: &Written| all.push((number.0, written.clone())));
    all
}

/// The states after this input, as bytes. They are also shown as JSON.
pub(crate) fn states(program: &Program, input: Vec<Raw>) -> Vec<u8> {
    let (sender, receiver) = source::channel(input.len() + 1);
    let pipeline = &program.pipeline;
    let job = pipeline.from(receiver).to_fold((), |_: &mut (), _: SequenceNumber, _: &Written| ());
    let run = Durable::new(Rings::new()).start(job).expect("it runs");
    input.into_iter().for_each(|raw| sender.send(raw).expect("it runs"));
    let snapshot = run.snapshot().expect("it runs");
    for stage in snapshot.stages() {
        snapshot.json(stage).expect("a state is shown");
    }
    let bytes = snapshot.to_bytes().expect("states are written");
    run.stop_now().expect("nothing fails");
    bytes
}

/// What leaves of this input from these states on, in another process perhaps.
pub(crate) fn from_states(program: &Program, bytes: &[u8], input: Vec<Raw>, workers: usize, ring: usize) -> Numbered {
    let snapshot = Snapshot::from_bytes(bytes).expect("they were written");
    let rings = Rings::new().workers(workers).ring(ring).resume(snapshot);
    let keep = |all: &mut Numbered, number: SequenceNumber, written: &Written| all.push((number.0, written.clone()));
    let pipeline = &program.pipeline;
    let job = pipeline.from(input).to_fold(Vec::new(), keep);
    Durable::new(rings).run(job).expect("it goes on").0
}

/// The outputs of a right text for its inputs, by the model.
pub(crate) fn of(text: &str, inputs: &[&str]) -> Out {
    let program = Program::load(text, 1, false).unwrap_or_else(|wrong| panic!("{wrong}"));
    let input = blocks(&program, inputs, usize::MAX);
    run(&program, input, Way::Model)
}
