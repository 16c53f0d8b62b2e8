mod endless;

pub(super) use endless::Endless;

use super::fetched::fetched;
#[cfg(feature = "serve")]
use super::listening::Listening;
use super::sink_file::is_url;
use crate::input::{Counted, Opening, message, report};
use crate::interrupts::is_end;
use crate::message::{Complaints, quoted};
use crate::outcome::Outcome;
use millstream_io::{Decompressed, Follow, matching};
use millstream_mill::{FileBlocks, Format, Program, Raw, SourceOf};
#[cfg(feature = "serve")]
use millstream_mill::{FilePlace, RowBlocks};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A source, and the files that it reads.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// Its number in the text.
    pub(super) number: usize,
    pub(super) of: SourceOf,
    pub(super) files: Vec<OsString>,
}

impl Named {
    /// Whether it queries databases, which may take long to answer.
    #[cfg(feature = "sqlite")]
    pub(super) fn is_query(&self) -> bool {
        self.of.query.is_some()
    }

    #[cfg(not(feature = "sqlite"))]
    pub(super) fn is_query(&self) -> bool {
        false
    }

    /// Whether it goes on until a signal ends it.
    pub(super) fn is_endless(&self) -> bool {
        self.of.follow || self.of.listen.is_some()
    }

    /// Whether rows wait until enough of them are read for a sample.
    pub(super) fn samples(&self) -> bool {
        self.of.sample > 0 && self.of.format != Format::Lines
    }

    /// Whether what it reads are files, each from its beginning to its end, so that their sizes say how much that is.
    pub(super) fn reads_whole_files(&self) -> bool {
        let is_fetched = |file: &OsString| is_url(&file.to_string_lossy());
        !self.is_endless() && !self.is_query() && !self.files.iter().any(is_fetched)
    }
}

/// Whether there is no such file, and the name has a character of a pattern.
fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '[']) && !Path::new(name).exists()
}

/// The sources of a program with their files, in the order in which they are read. The source without a name reads the
/// files of the command line.
pub(super) fn named(program: &Program, files: Vec<OsString>) -> Result<Vec<Named>, String> {
    let sources = &program.sources;
    let without = sources.iter().filter(|source| source.files.is_none() && source.listen.is_none()).count();
    if without > 1 {
        return Err(format!(
            "{without} sources name no files, and only one of them can read the files of the command line"
        ));
    }
    if without == 0 && !files.is_empty() {
        let name = quoted(&files[0]);
        return Err(format!("every source of the text names its files, so no source reads {name}"));
    }
    let files = if files.is_empty() { vec!["-".into()] } else { files };
    let of = |number: &usize| {
        let (number, source) = (*number, &sources[*number]);
        #[cfg(feature = "sqlite")]
        if source.query.is_some() && source.files.is_none() && files.iter().any(|file| file == "-") {
            return Err(
                "a query cannot read standard input: name the file of the database, as in `sqlite(\"shop.db\", query: ..)`"
                    .to_owned(),
            );
        }
        let files = match &source.files {
            Some(_) if source.listen.is_some() => return Err("a source that listens cannot read files".to_owned()),
            None if source.listen.is_some() => Vec::new(),
            None => files.clone(),
            Some(url) if is_url(url) && source.follow => {
                return Err("a source that follows can read a file, not a URL".to_owned());
            }
            Some(pattern) if is_pattern(pattern) && source.follow => {
                return Err(format!(
                    "a source that follows reads one file: {pattern} is a pattern, not the name of a file"
                ));
            }
            Some(pattern) if is_pattern(pattern) && !is_url(pattern) => {
                let found = matching(pattern).map_err(|error| error.to_string())?;
                found.into_iter().map(Into::into).collect()
            }
            Some(name) => vec![name.into()],
        };
        if source.follow && source.listen.is_some() {
            return Err("a source that listens cannot follow a file".to_owned());
        }
        if source.follow && (files.len() > 1 || files.iter().any(|name| name == "-")) {
            return Err("a source that follows reads exactly one file, which is not standard input".to_owned());
        }
        Ok(Named { number, of: source.clone(), files })
    };
    let named: Vec<Named> = program.order.iter().map(of).collect::<Result<_, String>>()?;
    if named.iter().filter(|named| named.files.iter().any(|file| file == "-")).count() > 1 {
        return Err("two sources read standard input, and the second one would find nothing: \
             `let a = SOURCE;` names its rows, and `a` can be read twice"
            .to_owned());
    }
    if let Some([endless, next, ..]) = named.iter().position(Named::is_endless).map(|n| &named[n..]) {
        let name = |named: &Named| match (&named.of.listen, named.files.first()) {
            (Some(address), _) => format!("the input at {address}"),
            (None, file) => file.map_or_else(String::new, |file| quoted(file)),
        };
        let how = if endless.of.follow { "is followed and has no end" } else { "has no end" };
        let (endless, next) = (name(endless), name(next));
        return Err(format!("{endless} {how}, so {next}, which comes after it, would never be read"));
    }
    Ok(named)
}

/// How far a run has read.
#[derive(Clone, Debug, Default)]
pub(super) struct Reached(Arc<Mutex<Option<OsString>>>);

impl Reached {
    fn set(&self, file: Option<OsString>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = file;
    }

    /// The file that was being read when a signal ended it; `None` if everything was read but an endless source.
    pub(super) fn within(&self) -> Option<OsString> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What is read now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    Files,
    /// The endless source, which ends by itself after a signal.
    Followed,
    /// The endless source, of which all rows that were taken are passed on.
    Posted,
}

/// The blocks of all sources, one file after the other. A file that fails is reported, and the next one follows.
pub(super) struct Sources {
    left: VecDeque<(usize, SourceOf, OsString)>,
    current: Option<(OsString, FileBlocks)>,
    reads: Reads,
    /// Whether followed files are followed.
    follows: bool,
    most: usize,
    opening: Opening,
    endless: Endless,
    reached: Reached,
    /// The posted rows, which are read after all files.
    #[cfg(feature = "serve")]
    listening: Option<(usize, SourceOf, Listening)>,
    quiet: bool,
    complaints: Complaints,
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Sources {
    /// # Errors
    ///
    /// Why it cannot listen at an address, and the exit code.
    pub(super) fn new(
        named: Vec<Named>,
        most: usize,
        opening: Opening,
        quiet: bool,
        complaints: &Complaints,
    ) -> Result<Self, (String, Outcome)> {
        let endless = Endless::default();
        #[cfg(feature = "serve")]
        let listening = match named.last() {
            Some(Named { number, of: of @ SourceOf { listen: Some(address), .. }, .. }) => {
                let listening = Listening::at(address, most)?;
                if !quiet {
                    complaints.note(&format!("listening at http://{}/ingest", listening.address()));
                }
                let clients = listening.clients();
                endless.add(move || clients.close());
                endless.add_if_lost(listening.refuses());
                Some((*number, of.clone(), listening))
            }
            _ => None,
        };
        #[cfg(not(feature = "serve"))]
        if named.last().is_some_and(|named| named.of.listen.is_some()) {
            return Err(("listen: this command was built without the feature `serve`".to_owned(), Outcome::WrongUse));
        }
        let files = |Named { number, of, files }: Named| files.into_iter().map(move |file| (number, of.clone(), file));
        let left = named.into_iter().flat_map(files).collect();
        let complaints = complaints.clone();
        Ok(Sources {
            left,
            current: None,
            reads: Reads::Files,
            follows: true,
            most,
            opening,
            endless,
            reached: Reached::default(),
            #[cfg(feature = "serve")]
            listening,
            quiet,
            complaints,
        })
    }

    /// Reads followed files, too, only to their present ends.
    pub(super) fn until_present_ends(mut self) -> Self {
        self.follows = false;
        self
    }

    pub(super) fn stopper(&self) -> Endless {
        self.endless.clone()
    }

    pub(super) fn reached(&self) -> Reached {
        self.reached.clone()
    }

    /// Opens the next file that can be opened.
    fn advance(&mut self) -> Option<()> {
        let Some((number, of, file)) = self.left.pop_front() else {
            // A signal may have ended a file before the endless source.
            if self.reads == Reads::Files {
                self.reached.set(None);
            }
            return self.listen();
        };
        let follows = of.follow && self.follows;
        self.reached.set((!follows).then(|| file.clone()));
        let name = if file == "-" { "-".into() } else { file.to_string_lossy().into_owned() };
        if follows {
            let follow = Follow::new(&file);
            let stopper = follow.stopper();
            self.endless.add(move || stopper.stop());
            self.reads = Reads::Followed;
            self.current = Some((file, FileBlocks::new(&of, number, &name, Counted(follow), self.most)));
            return Some(());
        }
        #[cfg(feature = "sqlite")]
        if let Some(query) = &of.query {
            match super::sqlite::Answers::to(query, &file).and_then(|rows| self.opening.aside(rows)) {
                Ok(rows) => self.current = Some((file, FileBlocks::new(&of, number, &name, rows, self.most))),
                Err(error) => self.complaints.complain(&message(&file, &error)),
            }
            return Some(());
        }
        if is_url(&name) {
            match fetched(&name, &self.opening) {
                Ok(body) => {
                    let body = Decompressed::named(body, Path::new(&name));
                    self.current = Some((file, FileBlocks::new(&of, number, &name, body, self.most)));
                }
                // As below.
                Err(error) if is_end(&error) && !self.endless.stopped() => return None,
                Err(error) => report(&self.complaints, &file, &error),
            }
            return Some(());
        }
        match self.opening.open(&file) {
            Ok(Some(input)) => self.current = Some((file, FileBlocks::new(&of, number, &name, input, self.most))),
            // A signal ends the whole stream, or what comes before the endless source.
            Ok(None) if !self.endless.stopped() => return None,
            Ok(None) => {}
            Err(error) => self.complaints.complain(&message(&file, &error)),
        }
        Some(())
    }
}

#[cfg(feature = "serve")]
impl Sources {
    /// Goes on with the posted rows.
    fn listen(&mut self) -> Option<()> {
        let (number, of, listening) = self.listening.take()?;
        let address = listening.address().to_owned();
        let blocks = RowBlocks::of(listening, Default::default());
        let blocks = FileBlocks::from_place(&of, number, &address, blocks, FilePlace::default());
        (self.current, self.reads) = (Some((address.into(), blocks)), Reads::Posted);
        Some(())
    }
}

#[cfg(not(feature = "serve"))]
impl Sources {
    fn listen(&mut self) -> Option<()> {
        None
    }
}

impl Iterator for Sources {
    type Item = Raw;

    fn next(&mut self) -> Option<Raw> {
        loop {
            let ends = match self.reads {
                Reads::Files => self.endless.stopped(),
                Reads::Followed => self.endless.lost(),
                Reads::Posted => false,
            };
            // Rows that wait for the sample were read: a pipe does not have them any more.
            let has_rows = |(_, blocks): &mut (OsString, FileBlocks)| blocks.end();
            if ends && !(self.reads == Reads::Files && self.current.as_mut().is_some_and(has_rows)) {
                // The stream ends within this file, but accepted rows are still to be passed on.
                (self.left, self.current) = (VecDeque::new(), None);
                self.listen()?;
            }
            let Some((name, blocks)) = &mut self.current else {
                self.advance()?;
                continue;
            };
            let block = blocks.next();
            if let Some(columns) = blocks.sampled().filter(|_| !self.quiet) {
                self.complaints.note(&format!("{}: schema: {columns}", quoted(name)));
            }
            if block.is_some() {
                return block;
            }
            if let Some(error) = blocks.failure() {
                report(&self.complaints, name, &error);
                if is_end(&error) && !self.endless.stopped() {
                    // A signal ends the whole stream.
                    (self.left, self.current) = (VecDeque::new(), None);
                    return None;
                }
            }
            self.current = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_of_files_say_how_much_there_is_to_read_of_whole_files_alone() {
        let reads_whole_files = |text: &str, files: &[&str]| {
            let program = Program::load(text, 1, false).expect("a program");
            let named = named(&program, files.iter().map(Into::into).collect()).expect("its sources");
            named.iter().all(Named::reads_whole_files)
        };
        assert!(reads_whole_files("lines | count", &["log", "log.gz", "-"]));
        assert!(!reads_whole_files("lines | count", &["log", "http://localhost/log"]));
        assert!(!reads_whole_files("lines(\"log\", follow: true) | lines", &[]));
        assert!(!reads_whole_files("jsonl(listen: \"127.0.0.1:0\") | count", &[]));
        #[cfg(feature = "sqlite")]
        assert!(!reads_whole_files("sqlite(\"shop.db\", query: \"select 1\") | count", &[]));
    }
}
