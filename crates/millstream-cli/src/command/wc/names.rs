use super::columns::Columns;
use super::kinds::Kinds;
use crate::message::{Complaints, cause, quoted, quoted_always};
use millstream_io::stdio;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;

/// The source of the inputs' names.
#[derive(Clone, Debug)]
pub(crate) enum Names {
    /// The command line. Without names, standard input is read, which has no name.
    Given(Vec<OsString>),
    /// A file of names, each ended by a NUL; `-` is standard input.
    Listed(OsString),
}

/// The inputs to count.
#[derive(Debug)]
pub(super) struct Inputs {
    /// Standard input has no name if the command line has no names.
    pub(super) names: Vec<Option<OsString>>,
    pub(super) columns: Columns,
    /// The list with the names.
    list: Option<OsString>,
}

/// A list that is a regular file of at most this many bytes determines the width of the columns, because GNU's program
/// reads it before the first input.
const MOST_KNOWN: u64 = 10 << 20;

impl Names {
    /// Reads the list, if there is one. `None` if it cannot be opened.
    pub(super) fn inputs(self, kinds: Kinds, complaints: &Complaints) -> Option<Inputs> {
        let list = match self {
            Names::Given(names) => {
                let columns = Columns::for_files(&names, kinds);
                let names = if names.is_empty() { vec![None] } else { names.into_iter().map(Some).collect() };
                return Some(Inputs { names, columns, list: None });
            }
            Names::Listed(list) => list,
        };
        let opened = if list == "-" { stdio::input() } else { File::open(&list) };
        let mut file = match opened {
            Ok(file) => file,
            Err(error) => {
                let list = quoted_always(&list);
                complaints.complain(&format!("cannot open {list} for reading: {}", cause(&error)));
                return None;
            }
        };
        let known = file.metadata().is_ok_and(|file| file.is_file() && file.len() <= MOST_KNOWN);
        let mut bytes = Vec::new();
        if let Err(error) = file.read_to_end(&mut bytes) {
            complaints.complain(&format!("{}: read error: {}", quoted(&list), cause(&error)));
        }
        let names = bytes.strip_suffix(b"\0").unwrap_or(&bytes).split(|byte| *byte == 0);
        let names = names.map(|name| OsString::from_vec(name.to_vec()));
        let names: Vec<OsString> = if bytes.is_empty() { Vec::new() } else { names.collect() };
        let columns = if known && !names.is_empty() { Columns::for_files(&names, kinds) } else { Columns::NARROW };
        Some(Inputs { names: names.into_iter().map(Some).collect(), columns, list: Some(list) })
    }
}

impl Inputs {
    /// The error in the n-th name of a list, from 1, if there is one.
    pub(super) fn refusal(&self, n: usize, name: Option<&OsStr>) -> Option<String> {
        let (list, name) = (self.list.as_ref()?, name?);
        if name.is_empty() {
            return Some(format!("{}:{n}: invalid zero-length file name", quoted(list)));
        }
        let twice = name == "-" && list == "-";
        twice.then(|| "when reading file names from stdin, no file name of '-' allowed".to_owned())
    }
}
