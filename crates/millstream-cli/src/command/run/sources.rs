use crate::input::{Opening, message, report};
use crate::message::{Complaints, quoted};
use millstream_io::{Follow, FollowStopper, matching};
use millstream_mill::{FileBlocks, Program, Raw, SourceOf};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A source, and the files that it reads.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// Its number in the text.
    pub(super) number: usize,
    pub(super) of: SourceOf,
    pub(super) files: Vec<OsString>,
}

/// The sources of a program with their files, in the order in which they are read. Those of the command line are for
/// the one that names none.
pub(super) fn named(program: &Program, files: Vec<OsString>) -> Result<Vec<Named>, String> {
    let sources = &program.sources;
    let without = sources.iter().filter(|source| source.files.is_none()).count();
    if without > 1 {
        return Err(format!("{without} sources name no files: one of them can read those of the command line"));
    }
    if without == 0 && !files.is_empty() {
        let name = quoted(&files[0]);
        return Err(format!("every source of the text names its files, so {name} is read by none"));
    }
    let files = if files.is_empty() { vec!["-".into()] } else { files };
    let of = |number: &usize| {
        let (number, source) = (*number, &sources[*number]);
        let files = match &source.files {
            None => files.clone(),
            Some(pattern) if pattern.contains(['*', '?', '[']) && !source.follow => {
                let found = matching(pattern).map_err(|error| error.to_string())?;
                found.into_iter().map(Into::into).collect()
            }
            Some(name) => vec![name.into()],
        };
        if source.follow && (files.len() > 1 || files.iter().any(|name| name == "-")) {
            return Err("a source that follows reads one file, by its name".to_owned());
        }
        Ok(Named { number, of: source.clone(), files })
    };
    let named: Vec<Named> = program.order.iter().map(of).collect::<Result<_, String>>()?;
    if named.iter().filter(|named| named.files.iter().any(|file| file == "-")).count() > 1 {
        return Err(
            "two sources read standard input, and the second one finds nothing: `let a = SOURCE;` gives its rows \
                    a name, which can be read twice"
                .to_owned(),
        );
    }
    if let Some([followed, next, ..]) = named.iter().position(|named| named.of.follow).map(|n| &named[n..]) {
        let name = |named: &Named| quoted(&named.files[0]);
        let (followed, next) = (name(followed), name(next));
        return Err(format!("{followed} is followed and has no end, so {next}, which is read after it, never is"));
    }
    Ok(named)
}

/// The followed files of a run, which a signal ends.
#[derive(Clone, Default)]
pub(super) struct Following(Arc<Mutex<(bool, Vec<FollowStopper>)>>);

impl Following {
    fn add(&self, stopper: FollowStopper) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.0 {
            stopper.stop();
        }
        all.1.push(stopper);
    }

    pub(super) fn stop(&self) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.0 = true;
        all.1.iter().for_each(FollowStopper::stop);
    }

    fn stopped(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The blocks of all sources, one file after the other. A file that fails is reported, and the next one follows.
pub(super) struct Sources {
    left: VecDeque<(usize, SourceOf, OsString)>,
    current: Option<(OsString, FileBlocks)>,
    most: usize,
    opening: Opening,
    following: Following,
    quiet: bool,
    complaints: Complaints,
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Sources {
    pub(super) fn new(named: Vec<Named>, most: usize, opening: Opening, quiet: bool, complaints: &Complaints) -> Self {
        let files = |Named { number, of, files }: Named| files.into_iter().map(move |file| (number, of.clone(), file));
        let left = named.into_iter().flat_map(files).collect();
        let (following, complaints) = (Following::default(), complaints.clone());
        Sources { left, current: None, most, opening, following, quiet, complaints }
    }

    pub(super) fn follows(&self) -> bool {
        self.left.iter().any(|(_, of, _)| of.follow)
    }

    pub(super) fn stopper(&self) -> Following {
        self.following.clone()
    }

    /// Opens the next file that can be opened.
    fn advance(&mut self) -> Option<()> {
        let (number, of, file) = self.left.pop_front()?;
        let name = if file == "-" { "-".into() } else { file.to_string_lossy().into_owned() };
        if of.follow {
            let follow = Follow::new(&file);
            self.following.add(follow.stopper());
            self.current = Some((file, FileBlocks::new(&of, number, &name, follow, self.most)));
            return Some(());
        }
        match self.opening.open(&file) {
            Ok(Some(input)) => self.current = Some((file, FileBlocks::new(&of, number, &name, input, self.most))),
            // A signal ends the whole stream.
            Ok(None) => return None,
            Err(error) => self.complaints.complain(&message(&file, &error)),
        }
        Some(())
    }
}

impl Iterator for Sources {
    type Item = Raw;

    fn next(&mut self) -> Option<Raw> {
        loop {
            if let Some((name, blocks)) = &mut self.current {
                let block = blocks.next();
                if let Some(columns) = blocks.sampled().filter(|_| !self.quiet) {
                    self.complaints.note(&format!("{}: schema: {columns}", quoted(name)));
                }
                if block.is_some() {
                    return block;
                }
                if let Some(error) = blocks.failure() {
                    report(&self.complaints, name, &error);
                }
                self.current = None;
            }
            if self.following.stopped() {
                return None;
            }
            self.advance()?;
        }
    }
}
