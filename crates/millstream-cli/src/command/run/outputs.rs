use super::sources::Named;
use crate::input::identity;
use crate::message::{Complaints, cause, quoted};
use crate::output::Output;
use millstream_mill::{FailedRow, Program, Written};
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the outputs of a program go.
pub(super) struct Outputs {
    standard: Output,
    /// Whether the reader of standard output has gone while files are written, too.
    is_gone: bool,
    has_files: bool,
    /// By the number of a sink; `None` is standard output.
    sinks: Vec<Option<Sink>>,
    /// By the number of a source; `None` is a message.
    dead: Vec<Option<Sink>>,
    /// The dead letters of each source.
    counts: Vec<u64>,
    complaints: Complaints,
}

struct Sink {
    name: String,
    file: File,
    failed: bool,
}

impl fmt::Debug for Outputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outputs").field("counts", &self.counts).finish_non_exhaustive()
    }
}

/// How many dead letters have a message of their own.
pub(super) const MESSAGES: u64 = 10;

/// Why a program would overwrite what it reads, or write two outputs to one file, if it would. A file may have several
/// names.
pub(super) fn overwritten(program: &Program, files: &[Named]) -> Option<String> {
    let sinks = program.sinks.iter().filter_map(|sink| sink.file.as_ref());
    let dead = program.sources.iter().filter_map(|source| source.dead.as_ref());
    let read: Vec<_> = files.iter().flat_map(|named| &named.files).filter_map(|name| Place::of(name)).collect();
    let mut written: Vec<(&String, Place, bool)> = Vec::new();
    for (name, is_dead) in sinks.map(|name| (name, false)).chain(dead.map(|name| (name, true))) {
        let Some(place) = Place::of(name.as_ref()) else { continue };
        let shown = quoted(name.as_ref());
        if read.contains(&place) {
            return Some(format!("{shown} is read and would be overwritten"));
        }
        match written.iter().find(|(_, other, _)| *other == place) {
            // Several sources can name one file for dead letters.
            Some((other, _, true)) if *other == name => {}
            Some((other, ..)) if *other != name => {
                return Some(format!("{shown} and {} are one file", quoted(other.as_ref())));
            }
            Some(_) => return Some(format!("{shown} is a sink and has dead letters, too")),
            None => written.push((name, place, is_dead)),
        }
    }
    None
}

/// A regular file, or where one will be.
#[derive(PartialEq, Eq)]
enum Place {
    There((u64, u64)),
    New(PathBuf),
}

impl Place {
    /// `None` for a pipe or a device, and for what cannot be made.
    fn of(name: &OsStr) -> Option<Self> {
        let path = Path::new(name);
        if let Ok(metadata) = path.metadata() {
            return identity(&metadata).map(Place::There);
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(Place::New(directory.canonicalize().ok()?.join(path.file_name()?)))
    }
}

impl Outputs {
    /// Opens all of them; `None` if one cannot be opened, which is reported.
    pub(super) fn open(program: &Program, standard: Output, complaints: &Complaints) -> Option<Self> {
        let open = |name: &Option<String>, before: Option<&Sink>| {
            let Some(name) = name else { return Ok(None) };
            let file = before.map_or_else(|| File::create(name), |before| before.file.try_clone());
            match file {
                Ok(file) => Ok(Some(Sink { name: name.clone(), file, failed: false })),
                Err(error) => {
                    complaints.complain(&format!("{}: {}", quoted(name.as_ref()), cause(&error)));
                    Err(())
                }
            }
        };
        let sinks: Result<Vec<_>, ()> = program.sinks.iter().map(|sink| open(&sink.file, None)).collect();
        let mut dead: Vec<Option<Sink>> = Vec::new();
        for source in &program.sources {
            // Sources with one file write to it in turn, each behind what is there.
            let before = dead.iter().flatten().find(|sink| Some(&sink.name) == source.dead.as_ref());
            dead.push(open(&source.dead, before).ok()?);
        }
        let Ok(sinks) = sinks else { return None };
        let counts = vec![0; program.sources.len()];
        let has_files = sinks.iter().any(Option::is_some);
        Some(Outputs { standard, is_gone: false, has_files, sinks, dead, counts, complaints: complaints.clone() })
    }

    /// Writes what leaves at a number.
    pub(super) fn write(&mut self, written: &Written) {
        for (sink, bytes) in written.parts.iter().filter(|(_, bytes)| !bytes.is_empty()) {
            match &mut self.sinks[*sink] {
                None if self.is_gone => {}
                // The files are to be complete.
                None if self.has_files => self.is_gone = !self.standard.offer(bytes),
                None => self.standard.write(bytes),
                Some(sink) => sink.write(bytes, &self.complaints),
            }
        }
        for dead in &written.dead {
            self.counts[dead.source] += 1;
            match &mut self.dead[dead.source] {
                Some(sink) => sink.write(&dead.json(), &self.complaints),
                None if self.counts[dead.source] <= MESSAGES => self.complaints.complain(&said(dead)),
                None => {}
            }
        }
    }

    /// Says how many rows were dead letters.
    pub(super) fn finish(self, quiet: bool) {
        for (count, sink) in self.counts.iter().zip(&self.dead) {
            match sink {
                Some(sink) if *count > 0 && !quiet => {
                    let rows = if *count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
                    self.complaints.note(&format!("{rows} failed: see {}", quoted(sink.name.as_ref())));
                }
                None if *count > MESSAGES => {
                    let more = count - MESSAGES;
                    self.complaints.note(&format!("and {more} more; `dead: \"FILE\"` in the source keeps them all"));
                }
                _ => {}
            }
        }
    }
}

impl Sink {
    /// Writes to the file until that fails once.
    fn write(&mut self, bytes: &[u8], complaints: &Complaints) {
        if !self.failed
            && let Err(error) = self.file.write_all(bytes)
        {
            self.failed = true;
            complaints.complain(&format!("{}: {}", quoted(self.name.as_ref()), cause(&error)));
        }
    }
}

pub(super) fn said(dead: &FailedRow) -> String {
    let FailedRow { stage, file, number, path, why, .. } = dead;
    let at = if path.is_empty() { String::new() } else { format!(" {path}:") };
    format!("{}: row {number}, {stage}:{at} {why}", quoted(OsStr::new(&**file)))
}
