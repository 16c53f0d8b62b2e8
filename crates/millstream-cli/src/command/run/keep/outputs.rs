//! The outputs of a program whose state is kept. They all go back together to what they held at a snapshot.

mod begun;
mod claimed;

use super::super::outputs::{MESSAGES, said};
#[cfg(feature = "sqlite")]
use super::super::sink_file::table_of;
use super::super::sink_file::{file_of, is_url, without_known};
use super::output::{OpenOutput, To, output_of_sink, run_of};
#[cfg(feature = "sqlite")]
use super::output::{database_at, table_written};
use super::shown::{Counts, Shown};
use crate::config::Keep;
use crate::deploy::output_of;
use crate::input::identity;
use crate::message::{Complaints, quoted};
use crate::output::Output;
use begun::Refused;
use claimed::Claim;
use millstream_core::{RunOutcome, SequenceNumber, Shape, Sink};
use millstream_io::{FileSink, FileSinkOptions};
use millstream_mill::{Program, Written};
use millstream_state::claims::open_together;
use millstream_state::{ClaimingSink, OpenError};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The files of a program's sinks and of its dead letters.
#[derive(Clone, Debug)]
pub(super) struct KeptOutputs {
    files: Vec<To>,
    /// The name of each file in the text, which a first start empties; `None` is standard output.
    names: Vec<Option<String>>,
    places: Places,
    next: Next,
    /// Why the run cannot begin, once that is known, and its exit code.
    refused: Refused,
    /// The names of all files that the run has written.
    #[cfg(feature = "page")]
    written: Arc<Mutex<Vec<String>>>,
    complaints: Complaints,
}

/// The outputs of the text that replaces the present one, and the first number that they get.
#[derive(Clone, Debug, Default)]
struct Next(Arc<Mutex<Option<FromNumber>>>);

/// Outputs, and the first number that they get.
type FromNumber = (SequenceNumber, Box<KeptOutputs>);

impl Next {
    fn take(&self) -> Option<FromNumber> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The place of every sink and of dead letters among the files.
#[derive(Clone, Debug)]
struct Places {
    /// By the number of a sink; `None` for a sink of an earlier text.
    sinks: Vec<Option<usize>>,
    /// By the number of dead letters; `None` is a message.
    dead: Vec<Option<usize>>,
    /// For each number of dead letters, the number that they go to now.
    dead_to: Vec<usize>,
    /// By the number of a sink, its table, if it writes to a database.
    #[cfg(feature = "sqlite")]
    tables: Vec<Option<String>>,
    /// The file of each number of dead letters, for messages.
    dead_files: Vec<Option<String>>,
}

/// The open databases, each with its place.
#[cfg(feature = "sqlite")]
type Databases = Vec<(usize, OpenOutput)>;

/// A file, and the claim about it.
type Held = (Option<String>, Value);

impl KeptOutputs {
    /// # Errors
    ///
    /// If the program writes to standard output, and that is not a file that can be cut back after a crash.
    pub(super) fn of(
        program: &Program,
        keep: &Keep,
        read: &[OsString],
        complaints: &Complaints,
    ) -> Result<Self, String> {
        let (mut files, mut names) = (Vec::new(), Vec::new());
        let mut place = |name: &Option<String>| {
            let name = &name.as_deref().map(|name| output_of_sink(name).to_owned());
            if let Some(there) = names.iter().position(|there| there == name) {
                return Ok(there);
            }
            files.push(match name {
                None => To::File(output_of(keep, read)?),
                Some(name) => To::named(name),
            });
            names.push(name.clone());
            Ok(names.len() - 1)
        };
        let [written, _] = program.writes();
        let sinks = program.sinks.iter().enumerate();
        let sinks = sinks.map(|(n, sink)| written.contains(&n).then(|| place(&sink.file)).transpose());
        let sinks = sinks.collect::<Result<_, String>>()?;
        let dead_to: Vec<usize> = (0..program.dead.len()).map(|n| program.dead_to(n)).collect();
        let dead = dead_to.iter().map(|to| &program.dead[*to]);
        let dead = dead.map(|file| file.is_some().then(|| place(file)).transpose());
        let dead = dead.collect::<Result<_, _>>()?;
        let places = Places {
            sinks,
            dead,
            dead_to,
            #[cfg(feature = "sqlite")]
            tables: program.sinks.iter().map(table_written).collect(),
            dead_files: program.dead.clone(),
        };
        Ok(KeptOutputs {
            files,
            names,
            places,
            next: Next::default(),
            refused: Arc::default(),
            #[cfg(feature = "page")]
            written: Arc::default(),
            complaints: complaints.clone(),
        })
    }

    /// The names of the files that are written.
    #[cfg(feature = "page")]
    pub(super) fn names(&self) -> Vec<String> {
        self.names.iter().flatten().map(|name| file_of(name).to_owned()).collect()
    }

    /// The outputs of another text for the same run.
    ///
    /// # Errors
    ///
    /// As [`of`](KeptOutputs::of), and if the run cannot post to one of the URLs.
    #[cfg(feature = "page")]
    pub(super) fn followed_by(&self, program: &Program, keep: &Keep, read: &[OsString]) -> Result<Self, String> {
        let next = KeptOutputs::of(program, keep, read, &self.complaints)?;
        for url in next.files.iter().filter_map(To::url) {
            OpenOutput::posting(url).map_err(|error| error.to_string())?;
        }
        Ok(KeptOutputs { next: self.next.clone(), written: self.written.clone(), ..next })
    }

    /// Replaces the outputs of the run from this number on.
    #[cfg(feature = "page")]
    pub(super) fn begin(self, at: SequenceNumber) {
        let next = self.next.clone();
        *next.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, Box::new(self)));
    }

    /// Refuses an output that is new by its name, but is a file that an earlier text has written: it would be emptied.
    fn are_new<'a>(&self, new: &[usize], written: impl Iterator<Item = &'a Held>) -> io::Result<()> {
        let of = |name: &Option<String>| {
            let path = name.as_deref().map_or("/dev/stdout", file_of);
            fs::metadata(path).ok().as_ref().and_then(identity)
        };
        let shown = |name: &Option<String>| match name {
            Some(name) => quoted(file_of(name).as_ref()),
            None => "standard output".to_owned(),
        };
        let known: Vec<_> = written.filter_map(|(name, _)| Some((of(name)?, name))).collect();
        for name in new.iter().map(|place| &self.names[*place]) {
            let file = of(name);
            if let Some((_, other)) = known.iter().find(|(known, _)| Some(*known) == file) {
                let (name, other) = (shown(name), shown(other));
                return Err(io::Error::other(format!(
                    "{name} is the file {other}, which the run has written: name it {other} in the new text, too"
                )));
            }
        }
        Ok(())
    }

    /// The sink of a replay, which prints.
    pub(super) fn shown(&self, output: Option<Output>) -> Shown {
        let standard = self.names.iter().position(Option::is_none);
        let is_shown = |place: &Option<usize>| standard.is_none_or(|standard| *place == Some(standard));
        let sinks = self.places.sinks.iter().map(is_shown).collect();
        Shown { output, sinks, dead: 0, complaints: self.complaints.clone() }
    }
}

impl<A: for<'a> Shape<Ref<'a> = &'a Written>> ClaimingSink<A> for KeptOutputs {
    type Open = OpenOutputs;

    fn open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<OpenOutputs, OpenError> {
        match self.refused.get() {
            Some((why, _)) => Err(io::Error::other(why.clone()).into()),
            None => self.open_at(claim),
        }
    }

    fn goes_back(&self) -> bool {
        true
    }
}

impl KeptOutputs {
    fn open_at(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<OpenOutputs, OpenError> {
        let Some((next, claim)) = claim else {
            let all: Vec<usize> = (0..self.files.len()).collect();
            let files = self.begun(self.beginning(&all)?)?.into_iter().map(|(_, file)| file).collect();
            return Ok(self.opened(files, Vec::new(), vec![0; self.places.dead.len()], ""));
        };
        let mut claim = Claim::of(claim, &self.names)?;
        claim.dead.resize(self.places.dead.len(), 0);
        let mut there: Vec<Held> = claim.names.into_iter().zip(claim.files).collect();
        // Posted rows cannot be taken back.
        there.retain(|(name, _)| !name.as_deref().is_some_and(is_url));
        // A file that an earlier text wrote goes on where it was closed, unless it has been removed.
        let is_back = |(name, _): &Held| self.names.contains(name);
        let (back, mut closed): (Vec<Held>, Vec<Held>) = claim.closed.into_iter().partition(is_back);
        there.extend(
            back.into_iter().filter(|(name, _)| name.as_ref().is_none_or(|name| Path::new(file_of(name)).exists())),
        );
        let (ours, gone): (Vec<Held>, Vec<Held>) = there.into_iter().partition(is_back);
        let held = |place: &usize| ours.iter().find(|(name, _)| *name == self.names[*place]);
        let (old, new): (Vec<usize>, Vec<usize>) = (0..self.files.len()).partition(|place| held(place).is_some());
        self.are_new(&new, gone.iter().chain(&closed))?;
        #[cfg(feature = "sqlite")]
        let (databases, old) = self.databases(old, |place| held(place).map(|(_, held)| held))?;
        let beginning = self.beginning(&new)?;
        let options = self.options(&old);
        let claims: Vec<Value> = old.iter().filter_map(held).map(|(_, held)| held.clone()).collect();
        let opened = open_together(&options, Some((next, &claims)))?.into_iter().map(OpenOutput::file);
        let mut files: Vec<_> = old.into_iter().zip(opened).collect();
        #[cfg(feature = "sqlite")]
        for (place, mut database) in databases {
            database.go_back()?;
            files.push((place, database));
        }
        files.extend(self.begun(beginning)?);
        files.sort_by_key(|(place, _)| *place);
        for (name, held) in gone {
            cut(name.as_deref(), next, &held);
            closed.push((name, held));
        }
        Ok(self.opened(files.into_iter().map(|(_, file)| file).collect(), closed, claim.dead, &claim.run))
    }

    /// Takes the databases out of these outputs, and opens each at its claim. A database is unchanged until it [goes
    /// back](OpenOutput::go_back).
    #[cfg(feature = "sqlite")]
    fn databases<'a>(
        &self,
        places: Vec<usize>,
        held: impl Fn(&usize) -> Option<&'a Value>,
    ) -> Result<(Databases, Vec<usize>), OpenError> {
        let (mut opened, mut others) = (Vec::new(), Vec::new());
        for place in places {
            match &self.files[place] {
                To::Database(file) => {
                    let database = database_at(file, held(&place).unwrap_or(&Value::Null))?;
                    opened.push((place, OpenOutput::of_database(database, file)));
                }
                _ => others.push(place),
            }
        }
        Ok((opened, others))
    }

    /// Opens these files.
    fn options(&self, places: &[usize]) -> Vec<FileSinkOptions> {
        let options = |place: &usize| match &self.files[*place] {
            To::File(options) => Some(options.clone()),
            _ => None,
        };
        places.iter().filter_map(options).collect()
    }

    fn opened(&self, files: Vec<OpenOutput>, closed: Vec<Held>, dead: Vec<u64>, run: &str) -> OpenOutputs {
        #[cfg(feature = "page")]
        self.note_written(&closed);
        let bytes = files.iter().map(|_| Vec::new()).collect();
        let counts = Counts {
            earlier: dead.clone(),
            dead,
            files: self.places.dead_files.clone(),
            complaints: self.complaints.clone(),
        };
        let (names, places, next, run) = (self.names.clone(), self.places.clone(), self.next.clone(), run_of(run));
        OpenOutputs { files, names, bytes, places, closed, run, counts, next }
    }
}

/// Cuts files that the text no longer writes back to where they ended. A file that has changed since may belong to
/// another program, and stays as it is.
fn cut(name: Option<&str>, next: SequenceNumber, held: &Value) {
    #[cfg(feature = "sqlite")]
    if let Some((file, _)) = name.and_then(table_of) {
        if let Ok(mut database) = database_at(file, held) {
            let _ = database.go_back();
        }
        return;
    }
    let file = FileSink::append(name.unwrap_or("/dev/stdout"));
    let _ = open_together(&[file], Some((next, std::slice::from_ref(held))));
}

/// The open files.
pub(super) struct OpenOutputs {
    files: Vec<OpenOutput>,
    names: Vec<Option<String>>,
    /// The bytes for each file at a number: a file gets them in one write.
    bytes: Vec<Vec<u8>>,
    places: Places,
    closed: Vec<Held>,
    run: String,
    counts: Counts,
    next: Next,
}

impl OpenOutputs {
    /// Goes on with the outputs of the next text, if that has begun, as if the run were started again with it.
    fn go_on(&mut self) -> io::Result<()> {
        let Some((at, next)) = self.next.take() else { return Ok(()) };
        let claim = self.claimed()?;
        // The next text must not open a file that is still open here.
        self.files.clear();
        let earlier = std::mem::take(&mut self.counts.earlier);
        *self = next.open_at(Some((at, &claim))).map_err(|error| match error {
            OpenError::Failed(error) => error,
            error => io::Error::other(error),
        })?;
        // Both texts run in the same process.
        self.counts.earlier.fill(0);
        self.counts.earlier[..earlier.len()].copy_from_slice(&earlier);
        Ok(())
    }
}

impl<A: for<'a> Shape<Ref<'a> = &'a Written>> Sink<A> for OpenOutputs {
    type Output = Counts;
    type Error = io::Error;

    fn put(&mut self, number: SequenceNumber, written: &Written) -> io::Result<()> {
        self.go_on()?;
        for (sink, bytes) in &written.parts {
            if let Some(place) = self.places.sinks[*sink] {
                #[cfg(feature = "sqlite")]
                if let Some(table) = &self.places.tables[*sink] {
                    self.files[place].insert(table, bytes)?;
                    continue;
                }
                let header = self.names[place].as_deref().and_then(|name| Some((name, written.header(*sink)?)));
                let bytes = header.map_or(&bytes[..], |(name, header)| without_known(Some(header), name, bytes));
                self.bytes[place].extend_from_slice(bytes);
            }
        }
        for dead in &written.dead {
            let number = self.places.dead_to[dead.source];
            self.counts.dead[number] += 1;
            match self.places.dead[number] {
                Some(place) => self.bytes[place].extend_from_slice(&dead.json()),
                None if self.counts.here(number) <= MESSAGES => self.counts.complaints.complain(&said(dead)),
                None => {}
            }
        }
        for (file, bytes) in self.files.iter_mut().zip(&mut self.bytes).filter(|(_, bytes)| !bytes.is_empty()) {
            file.write(number, bytes, &self.run)?;
            bytes.clear();
        }
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        self.files.iter_mut().try_for_each(OpenOutput::flush)
    }

    fn finish(mut self, outcome: RunOutcome) -> io::Result<Counts> {
        self.go_on()?;
        self.files.iter_mut().try_for_each(OpenOutput::flush)?;
        if outcome.is_complete() {
            self.files.into_iter().try_for_each(OpenOutput::finish)?;
        }
        Ok(self.counts)
    }
}
