//! The outputs of a program whose state is kept: files that go back together to what they held.

use super::super::outputs::{MESSAGES, said};
use super::super::sink_file::is_url;
use crate::config::{Doing, Keep};
use crate::deploy::output_of;
use crate::input::identity;
use crate::message::{Complaints, quoted};
use crate::output::Output;
use millstream_core::{RunOutcome, SequenceNumber, Shape, Sink};
use millstream_io::{FileSink, FileSinkOptions};
use millstream_mill::{Program, Written};
use millstream_state::claims::open_together;
use millstream_state::{ClaimingSink, Claims, OpenError};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;

/// The files of a program's sinks and of its dead letters.
#[derive(Clone, Debug)]
pub(super) struct KeptOutputs {
    files: Vec<FileSinkOptions>,
    /// The name of each file that the text names, which a first start empties; `None` is standard output.
    names: Vec<Option<String>>,
    places: Places,
    complaints: Complaints,
}

/// In which file what goes.
#[derive(Clone, Debug)]
struct Places {
    /// By the number of a sink.
    sinks: Vec<usize>,
    /// By the number of a program's dead letters; `None` is a message.
    dead: Vec<Option<usize>>,
}

/// What is written at once.
const BUFFER: usize = 1 << 16;

impl KeptOutputs {
    /// # Errors
    ///
    /// If standard output is written, and cannot be asked after a crash what it holds.
    pub(super) fn of(
        program: &Program,
        keep: &Keep,
        read: &[OsString],
        complaints: &Complaints,
    ) -> Result<Self, String> {
        let (mut files, mut names) = (Vec::new(), Vec::new());
        let mut place = |name: &Option<String>| {
            if let Some(there) = names.iter().position(|there| there == name) {
                return Ok(there);
            }
            files.push(match name {
                None => output_of(keep, read)?,
                Some(url) if is_url(url) => {
                    return Err(format!("--state: what is posted to {url} cannot be taken back after a crash"));
                }
                Some(name) => FileSink::append(name).buffered(BUFFER).flush_at_pauses(),
            });
            names.push(name.clone());
            Ok(names.len() - 1)
        };
        let sinks = program.sinks.iter().map(|sink| place(&sink.file)).collect::<Result<_, String>>()?;
        let dead = program.dead.iter().map(|file| file.is_some().then(|| place(file)).transpose());
        let dead = dead.collect::<Result<_, String>>()?;
        let kept = KeptOutputs { files, names, places: Places { sinks, dead }, complaints: complaints.clone() };
        match kept.written_twice().filter(|_| matches!(keep.doing, Doing::Run { .. })) {
            Some(name) => Err(format!("--state: {} is standard output's file, too", quoted(name.as_ref()))),
            None => Ok(kept),
        }
    }

    /// The file of a sink that standard output goes to, too.
    fn written_twice(&self) -> Option<&String> {
        let of = |name: &str| fs::metadata(name).ok().as_ref().and_then(identity);
        self.names.iter().position(Option::is_none)?;
        let output = of("/dev/stdout")?;
        self.names.iter().flatten().find(|name| of(name) == Some(output))
    }

    /// Where a replay prints.
    pub(super) fn shown(&self, output: Output) -> Shown {
        let standard = self.names.iter().position(Option::is_none);
        let sinks = self.places.sinks.iter().map(|place| standard.is_none_or(|standard| *place == standard)).collect();
        Shown { output, sinks, dead: 0, complaints: self.complaints.clone() }
    }
}

impl<A: for<'a> Shape<Ref<'a> = &'a Written>> ClaimingSink<A> for KeptOutputs {
    type Open = OpenOutputs;

    fn open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<OpenOutputs, OpenError> {
        let Some((next, claim)) = claim else {
            // As a run without a state begins.
            for name in self.names.iter().flatten() {
                File::create(name).map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
            }
            return Ok(self.opened(open_together(&self.files, None)?, vec![0; self.places.dead.len()]));
        };
        let claims = claim["files"].as_array().cloned().unwrap_or_default();
        let dead = self.places.dead.iter().enumerate().map(|(n, _)| claim["dead"][n].as_u64().unwrap_or_default());
        Ok(self.opened(open_together(&self.files, Some((next, &claims)))?, dead.collect()))
    }

    fn goes_back(&self) -> bool {
        true
    }
}

impl KeptOutputs {
    fn opened(&self, files: Vec<FileSink>, dead: Vec<u64>) -> OpenOutputs {
        let bytes = files.iter().map(|_| Vec::new()).collect();
        let counts = Counts { earlier: dead.clone(), dead, ..Counts::of(self) };
        OpenOutputs { files, bytes, places: self.places.clone(), counts }
    }
}

/// The open files.
#[derive(Debug)]
pub(super) struct OpenOutputs {
    files: Vec<FileSink>,
    /// What goes to each of them at a number: it gets that at once.
    bytes: Vec<Vec<u8>>,
    places: Places,
    counts: Counts,
}

/// The dead letters, by their numbers in the program.
#[derive(Debug)]
pub(super) struct Counts {
    dead: Vec<u64>,
    /// How many of them there were when this process began.
    earlier: Vec<u64>,
    /// Where they are; `None` for those that were messages.
    files: Vec<Option<String>>,
    complaints: Complaints,
}

impl Claims for OpenOutputs {
    fn claim(&mut self) -> io::Result<Value> {
        let files = self.files.iter_mut().map(Claims::claim).collect::<io::Result<Vec<Value>>>()?;
        Ok(json!({ "files": files, "dead": self.counts.dead }))
    }
}

impl<A: for<'a> Shape<Ref<'a> = &'a Written>> Sink<A> for OpenOutputs {
    type Output = Counts;
    type Error = io::Error;

    fn put(&mut self, number: SequenceNumber, written: &Written) -> io::Result<()> {
        for (sink, bytes) in &written.parts {
            self.bytes[self.places.sinks[*sink]].extend_from_slice(bytes);
        }
        for dead in &written.dead {
            self.counts.dead[dead.source] += 1;
            match self.places.dead[dead.source] {
                Some(place) => self.bytes[place].extend_from_slice(&dead.json()),
                None if self.counts.here(dead.source) <= MESSAGES => self.counts.complaints.complain(&said(dead)),
                None => {}
            }
        }
        for (file, bytes) in self.files.iter_mut().zip(&mut self.bytes).filter(|(_, bytes)| !bytes.is_empty()) {
            file.write(number, bytes)?;
            bytes.clear();
        }
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        self.files.iter_mut().try_for_each(FileSink::flush)
    }

    fn finish(mut self, outcome: RunOutcome) -> io::Result<Counts> {
        self.files.iter_mut().try_for_each(FileSink::flush)?;
        if outcome.is_complete() {
            self.files.into_iter().try_for_each(|file| file.finish().map(drop))?;
        }
        Ok(self.counts)
    }
}

impl Counts {
    fn of(outputs: &KeptOutputs) -> Self {
        let name = |place: &Option<usize>| place.and_then(|place| outputs.names[place].clone());
        let files = outputs.places.dead.iter().map(name).collect();
        Counts { dead: Vec::new(), earlier: Vec::new(), files, complaints: outputs.complaints.clone() }
    }

    /// The dead letters of this process.
    fn here(&self, source: usize) -> u64 {
        self.dead[source] - self.earlier[source]
    }

    /// Says how many rows failed: in the whole run, as if it were one process.
    pub(super) fn say(self, quiet: bool) {
        for (source, (count, file)) in self.dead.iter().zip(&self.files).enumerate() {
            let rows = |count: u64| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
            let more = self.here(source).saturating_sub(MESSAGES);
            match file {
                Some(name) if *count > 0 && !quiet => {
                    self.complaints.note(&format!("{} failed: see {}", rows(*count), quoted(name.as_ref())));
                }
                None if more > 0 => {
                    self.complaints.note(&format!("and {more} more; `dead: \"FILE\"` in the source keeps them all"));
                }
                _ => {}
            }
            if let (None, 1..) = (file, self.earlier[source]) {
                self.complaints.complain(&format!("{} failed before this start", rows(self.earlier[source])));
            }
        }
    }
}

/// What a replay prints: what went to standard output, or to all files if nothing did; and the first dead letters.
pub(super) struct Shown {
    output: Output,
    /// By the number of a sink, whether it is printed.
    sinks: Vec<bool>,
    dead: u64,
    complaints: Complaints,
}

impl Shown {
    pub(super) fn write(&mut self, written: &Written) {
        for (_, bytes) in written.parts.iter().filter(|(sink, _)| self.sinks[*sink]) {
            self.output.write(bytes);
        }
        for dead in &written.dead {
            self.dead += 1;
            if self.dead <= MESSAGES {
                self.complaints.note(&said(dead));
            }
        }
    }
}
