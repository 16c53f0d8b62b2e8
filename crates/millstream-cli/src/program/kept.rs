//! A user's program whose state is kept.

use super::Printed;
use crate::config::{Keep, RunConfig};
use crate::deploy::{Runs, files, output_of};
use crate::input::{self, Names};
use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::program::lines::{left_out, parsed, without_end};
use crate::program::{Line, Program};
use millstream_core::text::Block;
use millstream_core::{Arrow, Item, SequenceNumber, Val};
use millstream_exec::{Lasting, sink};
use millstream_state::resumable::{FileBlocks, FilePlace};
use millstream_state::{Places, Resumable, TextFiles, written};
use serde_json::Value;
use std::ffi::OsString;
use std::fmt::Display;
use std::io;
use std::marker::PhantomData;

impl<T, P> Program<T, P> {
    /// With `--state`, goes on with the states of an earlier version of the program: `migrate` converts the stored
    /// state of the stage with this name, as in [`Persistent::migrate`](millstream_state::Persistent::migrate).
    ///
    /// `state`, `replay` and `diff` do the same with the snapshots of that version, so they show what this version
    /// makes of them; and `upgrade --check` knows the migrations, and the states that may be [lost](Program::dropping).
    ///
    /// ```no_run
    /// use millstream::{Program, prelude::*};
    ///
    /// fn main() -> std::process::ExitCode {
    ///     // It was a `u32`.
    ///     let count = pipeline::<String>().scan(0_u64, |count, _| { *count += 1; *count });
    ///     Program::new(count.named("count")).lasting().migrate("count", |old: u32| u64::from(old)).main()
    /// }
    /// ```
    #[must_use]
    pub fn migrate<Old, New>(
        mut self,
        stage: impl Into<String>,
        migrate: impl Fn(Old) -> New + Send + Sync + 'static,
    ) -> Self
    where
        Old: Item + Clone + serde::de::DeserializeOwned,
        New: Item + Clone,
    {
        self.migrations = self.migrations.migrate_written(stage, migrate);
        self
    }

    /// With `--state`, allows the loss of the stored state of this stage, which the pipeline no longer has.
    #[must_use]
    pub fn dropping(mut self, stage: impl Into<String>) -> Self {
        self.migrations = self.migrations.dropping(stage);
        self
    }
}

/// Runs it from the place that the state directory has, or looks at its states.
pub(super) fn run<P, T, O, B>(
    pipeline: &P,
    config: RunConfig,
    keep: &Keep,
    names: Names,
    complaints: &Complaints,
) -> Outcome
where
    P: Lasting + Arrow<In = Val<T>, Out = O>,
    T: Line,
    O: Printed<B>,
    B: Item + Display,
{
    let wrong = |why: &str| {
        complaints.note(why);
        Outcome::WrongUse
    };
    let named = names.files.clone();
    if names.is_standard_input() {
        return wrong("--state: name files to read: standard input cannot be read again after a crash");
    }
    let files = match files(names) {
        Ok(files) => files.block_size(1),
        Err(why) => return wrong(&why),
    };
    let output = match output_of(keep, &named) {
        Ok(output) => written(output, |value: &B, line: &mut Vec<u8>| line.extend(format!("{value}\n").bytes())),
        Err(why) => return wrong(&why),
    };
    let lines = FileLines::<T> { files, names: named, complaints: complaints.clone(), parsed: PhantomData };
    Output::opened(complaints, |shown| {
        let mut runs = Runs::new(config, complaints.clone());
        let line = |shown: &mut Output, _: SequenceNumber, value: &B| shown.line(value);
        let shown = sink::fold(shown, line).on_pause(Output::flush);
        match runs.keep::<false, _, _, _, _, _>(keep, pipeline, |_| lines, output, shown) {
            Ok(_) => runs.finish(),
            Err(failed) => runs.fail(&failed),
        }
    })
}

/// Parses the lines of files. Reports a line that cannot be parsed, and leaves it out.
struct FileLines<T> {
    files: TextFiles,
    names: Vec<OsString>,
    complaints: Complaints,
    parsed: PhantomData<fn() -> T>,
}

/// A place between two lines.
#[derive(Clone, Debug)]
struct LinePlace {
    place: FilePlace,
    /// How many lines of its file are before it. `None` after a snapshot that does not say it.
    lines: Option<u64>,
}

/// The field of a stored position that has the number of lines.
const LINES: &str = "lines";

struct ParsedLines<T> {
    blocks: FileBlocks,
    /// The file of the last line, and its number there.
    file: usize,
    lines: Option<u64>,
    names: Vec<OsString>,
    complaints: Complaints,
    parsed: PhantomData<fn() -> T>,
}

impl<T: Line> Resumable<T> for FileLines<T> {
    type Mark = LinePlace;
    type Values = ParsedLines<T>;
    const WAITS: bool = false;

    fn is_at(&self, mark: &LinePlace, position: &Value) -> Option<bool> {
        self.files.is_at(&mark.place, position)
    }

    fn can_begin(&self, position: &Value) -> io::Result<()> {
        self.files.can_begin(position)
    }

    fn begin(&self, position: Option<&Value>) -> io::Result<ParsedLines<T>> {
        let (names, complaints) = (self.names.clone(), self.complaints.clone());
        let lines = position.map_or(Some(0), |position| position[LINES].as_u64());
        let blocks = self.files.begin(position)?;
        let file = blocks.file();
        Ok(ParsedLines { blocks, file, lines, names, complaints, parsed: PhantomData })
    }

    fn position(&self, mark: &LinePlace) -> io::Result<Value> {
        let mut position = self.files.position(&mark.place)?;
        if let Some(lines) = mark.lines {
            position[LINES] = lines.into();
        }
        Ok(position)
    }

    fn failure(&self) -> Option<io::Error> {
        self.files.failure()
    }
}

impl<T: Line> Iterator for ParsedLines<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        loop {
            let line: Block = self.blocks.next()?;
            let file = self.blocks.file();
            let before = if file == self.file { self.lines } else { Some(0) };
            (self.file, self.lines) = (file, before.map(|lines| lines + 1));
            match parsed(without_end(&line).to_vec()) {
                Ok(value) => return Some(value),
                Err(why) => {
                    let place = match self.lines {
                        Some(number) => format!("line {number}"),
                        None => format!("the line at byte {}", self.blocks.offset() - line.len() as u64),
                    };
                    let name = self.names.get(file).cloned().unwrap_or_default();
                    input::report(&self.complaints, &name, &io::Error::other(left_out(&place, &why)));
                }
            }
        }
    }
}

impl<T: Line> Places for ParsedLines<T> {
    type Mark = LinePlace;

    fn place(&self) -> LinePlace {
        let place = self.blocks.place();
        let lines = if place.file() == self.file { self.lines } else { Some(0) };
        LinePlace { place, lines }
    }

    fn is_whole(&self) -> bool {
        self.blocks.is_whole()
    }
}
