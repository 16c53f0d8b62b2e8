use super::files::Files;
use super::many;
use super::sink_file::{SinkFile, file_of, table_of};
use super::sources::Named;
use crate::input::identity;
use crate::message::{Complaints, quoted};
use crate::output::Output;
use millstream_io::stdio;
use millstream_io::text::line_ends;
use millstream_mill::{FailedRow, Program, Written};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// Writes the outputs of a program.
pub(super) struct Outputs {
    standard: Output,
    /// If standard output has no reader, or no room, the lines that it has not got. The run goes on, since it also
    /// writes files.
    gone: Option<u64>,
    files: Files,
    /// Ends a run whose input may come for long, and only once.
    when_lost: Option<WhenLost>,
    complaints: Complaints,
}

/// Ends a run.
struct WhenLost {
    /// Whether a part of the output is reason enough.
    any: bool,
    end: Box<dyn Fn() + Send>,
}

impl fmt::Debug for Outputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outputs").finish_non_exhaustive()
    }
}

/// The number of dead letters that get their own message.
pub(super) const MESSAGES: u64 = 10;

/// Why a program would overwrite its input or its text, or write two outputs to one file; `None` if it would not.
/// Compares files, not names: a file may have several, and be standard input or standard output. The `reports` of the
/// run are outputs, too, each with its flag.
pub(super) fn overwritten(
    program: &Program,
    files: &[Named],
    text: Option<&OsString>,
    reports: &[(&str, OsString)],
) -> Option<String> {
    let [sinks, dead] = program.writes();
    let prints = sinks.iter().any(|number| program.sinks[*number].file.is_none());
    let output = prints.then(Place::of_output).flatten();
    let sinks = sinks.iter().filter_map(|number| program.sinks[*number].file.as_ref());
    let dead = dead.iter().filter_map(|number| program.dead[*number].as_ref());
    let read = files.iter().flat_map(|named| &named.files).chain(text);
    let read: Vec<_> = read.filter_map(|name| Place::of_input(name)).collect();
    let mut written: Vec<(&str, Place, bool)> = Vec::new();
    let mut tables = Vec::new();
    for (name, is_dead) in sinks.map(|name| (name, false)).chain(dead.map(|name| (name, true))) {
        let (name, is_table) = (file_of(name), !is_dead && table_of(name).is_some());
        let Some(place) = Place::of(name.as_ref()) else { continue };
        let shown = quoted(name.as_ref());
        if read.contains(&place) && is_table {
            return Some(format!("{shown} is both read and written: write another database, and ATTACH it later"));
        }
        if read.contains(&place) {
            return Some(format!("{shown} is read and would be overwritten"));
        }
        if output.as_ref() == Some(&place) {
            return Some(format!("{shown} is also the file of standard output: each output needs its own"));
        }
        let is_known_table = is_table && tables.contains(&name);
        tables.extend(is_table.then_some(name));
        match written.iter().find(|(_, other, _)| *other == place) {
            Some(_) if is_known_table => {}
            // Several sources can name one file for dead letters.
            Some((other, _, true)) if *other == name => {}
            Some((other, ..)) if *other != name => {
                let other = quoted(other.as_ref());
                return Some(format!("{shown} and {other} are the same file: each output needs its own"));
            }
            Some(_) => return Some(format!("{shown} is the file of a sink and of dead letters: use two files")),
            None => written.push((name, place, is_dead)),
        }
    }
    let mut reported: Vec<(&str, Place)> = Vec::new();
    for (flag, name) in reports {
        let (Some(place), shown) = (Place::of(name), quoted(name)) else { continue };
        if read.contains(&place) {
            return Some(format!("{flag}: {shown} is read and would be overwritten"));
        }
        let of = match written.iter().find(|(_, other, _)| *other == place) {
            Some((.., true)) => Some("dead letters"),
            Some(_) => Some("a sink"),
            None if output.as_ref() == Some(&place) => Some("standard output"),
            None => reported.iter().find(|(_, other)| *other == place).map(|(flag, _)| *flag),
        };
        if let Some(of) = of {
            return Some(format!("{flag}: {shown} is the file of {of}: each output needs its own"));
        }
        reported.push((flag, place));
    }
    None
}

/// A regular file, or the place where a file will be made.
#[derive(PartialEq, Eq)]
pub(super) enum Place {
    There((u64, u64)),
    New(PathBuf),
}

impl Place {
    /// `None` for a pipe, a device, and a file that cannot be made.
    pub(super) fn of(name: &OsStr) -> Option<Self> {
        let path = Path::new(name);
        if let Ok(metadata) = path.metadata() {
            return identity(&metadata).map(Place::There);
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(Place::New(directory.canonicalize().ok()?.join(path.file_name()?)))
    }

    /// The place of an input; `-` is standard input.
    fn of_input(name: &OsStr) -> Option<Self> {
        if name != "-" {
            return Place::of(name);
        }
        identity(&stdio::input().ok()?.metadata().ok()?).map(Place::There)
    }

    /// The file of standard output.
    fn of_output() -> Option<Self> {
        identity(&stdio::output().ok()?.metadata().ok()?).map(Place::There)
    }
}

impl Outputs {
    /// Opens all outputs. Reports the first that cannot be opened, and returns `None`. In a `live` run the next rows
    /// may take long to arrive.
    pub(super) fn open(program: &Program, live: bool, standard: Output, complaints: &Complaints) -> Option<Self> {
        let files = Files::default();
        #[cfg(feature = "sqlite")]
        files.are_live(live);
        let _ = live;
        match files.begin(program) {
            Ok(()) => Some(Outputs { standard, gone: None, files, when_lost: None, complaints: complaints.clone() }),
            Err(why) => {
                complaints.complain(&why);
                None
            }
        }
    }

    /// The files, which a text that replaces the present one shares.
    pub(super) fn files(&self) -> Files {
        self.files.clone()
    }

    /// Ends the run by `end`, which must not wait, when `any` output cannot be written, or else all of them: what the
    /// source takes from then on would be lost.
    pub(super) fn when_lost(&mut self, any: bool, end: impl Fn() + Send + 'static) {
        self.when_lost = Some(WhenLost { any, end: Box::new(end) });
    }

    fn lost(&self) {
        if let Some(WhenLost { any, end }) = &self.when_lost
            && (*any || !self.files.lock().any_works(self.gone.is_none()))
        {
            end();
        }
    }

    fn write_to(&self, sink: &SinkFile, bytes: &[u8], header: Option<&[u8]>) {
        if let Err(lost) = sink.write(bytes, header) {
            // Before the message: no row is taken behind it.
            self.lost();
            sink.complain(&lost, &self.complaints);
        }
    }

    /// Writes to standard output beside files, which must be complete without it.
    fn print(&mut self, bytes: &[u8]) {
        let lines = line_ends(bytes).max(1);
        match &mut self.gone {
            Some(lost) => *lost += lines,
            None if self.standard.attempt(bytes) => {}
            None => {
                self.gone = Some(lines);
                // A reader that is gone wants no more.
                if self.complaints.lost() {
                    self.lost();
                }
            }
        }
    }

    /// Writes the outputs of a number.
    pub(super) fn write(&mut self, written: &Written) {
        for (sink, bytes) in written.parts.iter().filter(|(_, bytes)| !bytes.is_empty()) {
            let header = written.header(*sink);
            // A write may wait, so it does not hold the lock, which a check of another text needs.
            let (sink, has_files) = {
                let files = self.files.lock();
                (files.sink(*sink), files.has_files())
            };
            match sink {
                None if has_files || self.gone.is_some() => self.print(bytes),
                None => self.standard.write(bytes),
                Some(sink) => self.write_to(&sink, bytes, header),
            }
        }
        for dead in &written.dead {
            let (file, count) = self.files.lock().dead(dead.source);
            match file {
                Some(sink) => self.write_to(&sink, &dead.json(), None),
                None if count <= MESSAGES => self.complaints.complain(&said(dead)),
                None => {}
            }
        }
    }

    /// Commits the rows in databases, and reports what is lost, and the number of dead letters.
    pub(super) fn finish(self, quiet: bool) {
        #[cfg(feature = "sqlite")]
        {
            let open = self.files.lock().open_sinks();
            open.iter().for_each(|sink| sink.finish(&self.complaints));
        }
        // Other input can be read again.
        if self.when_lost.is_some() && self.complaints.lost() {
            if let Some(lost) = self.gone {
                self.complaints.note(&said_lost("standard output", lost));
            }
            self.files.lock().all().for_each(|file| file.say_lost(&self.complaints));
        }
        for (count, file) in self.files.lock().counts() {
            match file {
                Some(file) if count > 0 && !quiet => {
                    let rows = many(count, "row");
                    self.complaints.note(&format!("{rows} failed: see {}", quoted(file.as_ref())));
                }
                None if count > MESSAGES => {
                    let more = count - MESSAGES;
                    self.complaints.note(&format!("and {more} more; `dead: \"FILE\"` in the source keeps them all"));
                }
                _ => {}
            }
        }
    }
}

/// How much of an output is lost.
pub(super) fn said_lost(name: &str, lines: u64) -> String {
    let are = if lines == 1 { "is" } else { "are" };
    format!("{name}: up to {} {are} not in it", many(lines, "line"))
}

pub(super) fn said(dead: &FailedRow) -> String {
    let FailedRow { stage, file, number, path, why, .. } = dead;
    let at = if path.is_empty() { String::new() } else { format!(" {path}:") };
    let row = if *number == 0 { "at the end".to_owned() } else { format!("row {number}") };
    format!("{}: {row}, {stage}:{at} {why}", quoted(OsStr::new(&**file)))
}
