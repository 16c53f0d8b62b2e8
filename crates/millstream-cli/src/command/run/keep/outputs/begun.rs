//! The outputs that a run writes for the first time.

#[cfg(feature = "page")]
use super::super::super::sink_file::file_of;
#[cfg(all(feature = "page", feature = "sqlite"))]
use super::super::super::sqlite::Database;
use super::super::output::{OpenOutput, To};
#[cfg(feature = "page")]
use super::Held;
use super::KeptOutputs;
use crate::outcome::Outcome;
use crate::output::can_be_written;
use millstream_state::OpenError;
use millstream_state::claims::open_together;
use std::fs::{self, File};
use std::io;
#[cfg(feature = "page")]
use std::sync::PoisonError;
use std::sync::{Arc, OnceLock};

/// Why a run cannot begin, once that is known, and its exit code.
pub(super) type Refused = Arc<OnceLock<(String, Outcome)>>;

/// The place of an output, and what is open of it.
pub(super) type Beginning = (usize, Option<OpenOutput>);

impl KeptOutputs {
    /// Opens the outputs that are written for the first time, but files: it is known of all that they can be made, and
    /// each is as it was.
    pub(super) fn beginning(&self, places: &[usize]) -> Result<Vec<Beginning>, OpenError> {
        let files = places.iter().filter(|place| matches!(self.files[**place], To::File(_)));
        files.filter_map(|place| self.names[*place].as_deref()).try_for_each(can_be_emptied)?;
        let opened = places.iter().map(|place| {
            let open = match &self.files[*place] {
                To::File(_) => None,
                To::Url(url) => Some(OpenOutput::posting(url)?),
                #[cfg(feature = "sqlite")]
                To::Database(file) => Some(OpenOutput::database(file)?),
            };
            Ok((*place, open))
        });
        opened.collect()
    }

    /// Opens nothing if it is known by then why the run cannot begin: a file would be emptied for it.
    pub(in super::super) fn unless(self, refused: Refused) -> Self {
        KeptOutputs { refused, ..self }
    }

    /// The names of the files that are or were written, also for earlier texts.
    #[cfg(feature = "page")]
    pub(in super::super) fn written(&self) -> Vec<String> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes the names of the files that are open, and of these, which are closed.
    #[cfg(feature = "page")]
    pub(super) fn note_written(&self, closed: &[Held]) {
        let names = closed.iter().map(|(name, _)| name).chain(&self.names).flatten();
        let names = names.map(|name| file_of(name).to_owned()).collect();
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// Whether the sink with this name can be written for the first time, as far as that is known before.
    #[cfg(feature = "page")]
    pub(in super::super) fn can_begin(name: &str) -> io::Result<()> {
        let file = file_of(name);
        // A file that is there may be no database.
        #[cfg(feature = "sqlite")]
        if file != name && fs::metadata(file).is_ok() {
            return Database::open(file).map(drop);
        }
        can_be_judged(file)
    }

    /// Empties and opens the files among them, as a run without a state does.
    pub(super) fn begun(&self, outputs: Vec<Beginning>) -> Result<Vec<(usize, OpenOutput)>, OpenError> {
        let files: Vec<usize> = outputs.iter().filter(|(_, open)| open.is_none()).map(|(place, _)| *place).collect();
        for name in files.iter().filter_map(|place| self.names[*place].as_deref()) {
            File::create(name).map_err(|error| of_name(name, &error))?;
        }
        let mut files = open_together(&self.options(&files), None)?.into_iter().map(OpenOutput::file);
        let opened = outputs.into_iter().filter_map(|(place, open)| Some((place, open.or_else(|| files.next())?)));
        Ok(opened.collect())
    }
}

/// Whether a file can be made or emptied, as far as that is known before.
fn can_be_emptied(name: &str) -> io::Result<()> {
    can_be_judged(name).map_err(|error| of_name(name, &error))
}

fn can_be_judged(name: &str) -> io::Result<()> {
    if fs::metadata(name).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Err(io::Error::other("only a regular file can say what it holds after a crash"));
    }
    can_be_written(name.as_ref())
}

fn of_name(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}
