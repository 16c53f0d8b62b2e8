//! The text of a program: on the command line, in a file, or on standard input.

use crate::message::{Complaints, cause, quoted};
use crate::outcome::Outcome;
use millstream_mill::Program;
use millstream_registry::Wrong;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The place of a text.
#[derive(Clone, Debug)]
pub(crate) enum Text {
    Given(String),
    /// A file; `-` is standard input.
    In(OsString),
}

/// A longer text is refused.
const MOST_TEXT: usize = 1 << 16;

impl Text {
    pub(crate) fn name(&self) -> String {
        match self {
            Text::Given(_) => "-e".to_owned(),
            Text::In(file) => file.to_string_lossy().into_owned(),
        }
    }

    /// Whether it is standard input.
    pub(super) fn is_input(&self) -> bool {
        matches!(self, Text::In(file) if file == "-")
    }

    pub(crate) fn read(&self, complaints: &Complaints) -> Result<String, Outcome> {
        let read = match self {
            Text::Given(text) => return Ok(text.clone()),
            Text::In(_) if self.is_input() => text_of(io::stdin()),
            Text::In(file) => File::open(file).and_then(text_of),
        };
        // A byte order mark is not a part of the text.
        if read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::InvalidData) {
            self.say_data(self.source_of_data("").unwrap_or("lines"), complaints);
            return Err(Outcome::WrongUse);
        }
        read.map(|text| text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)).map_err(|error| {
            complaints.complain(&format!("{}: {}", quoted(self.name().as_ref()), cause(&error)));
            if error.kind() == io::ErrorKind::NotFound && self.name().contains(['|', '(', ' ']) {
                crate::message::say(
                    "  to run a text that is not in a file: millstream run -e 'jsonl | count' rows.jsonl",
                );
            }
            Outcome::InputOrOutputFailed
        })
    }

    /// Loads the program. Reports a wrong text with all its mistakes.
    pub(super) fn load(&self, shards: usize, terminal: bool, complaints: &Complaints) -> Result<Program, Outcome> {
        let text = self.read(complaints)?;
        Program::load(&text, shards, terminal).map_err(|wrong| shown_wrong(self, &text, wrong, complaints))
    }

    /// The source that reads this text, if it is rows and not a program.
    fn source_of_data(&self, text: &str) -> Option<&'static str> {
        let Text::In(file) = self else { return None };
        let mut name = Path::new(file);
        let ending = |name: &Path| name.extension().map(|ending| ending.to_string_lossy().into_owned());
        if let (Some("gz" | "zst"), Some(stem)) = (ending(name).as_deref(), name.file_stem()) {
            name = Path::new(stem);
        }
        let named = ending(name);
        match (named.as_deref(), text.trim_start().as_bytes().first()) {
            (Some("mill"), _) => None,
            (Some("csv"), _) => Some("csv"),
            (Some("tsv"), _) => Some("tsv"),
            (Some("jsonl" | "ndjson" | "json"), _) | (_, Some(b'{' | b'[')) => Some("jsonl"),
            _ if text.len() > MOST_TEXT => Some("lines"),
            _ => None,
        }
    }

    fn say_data(&self, source: &str, complaints: &Complaints) {
        let name = quoted(self.name().as_ref());
        complaints.note(&format!("{name} is data and not a program: the program is a text, in a file or after -e"));
        crate::message::say(&format!("  to read its rows: millstream run -e '{source} | count' {name}"));
    }
}

/// The beginning of a file, which may be data of any size: a text that is not refused, or more than that.
fn text_of(file: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MOST_TEXT as u64 + 4).read_to_end(&mut bytes)?;
    if let Err(wrong) = std::str::from_utf8(&bytes)
        && wrong.error_len().is_none()
        && bytes.len() > MOST_TEXT
    {
        // It is cut within a character.
        bytes.truncate(wrong.valid_up_to());
    }
    String::from_utf8(bytes).map_err(|wrong| io::Error::new(io::ErrorKind::InvalidData, wrong))
}

/// Reports a wrong text with all its mistakes.
pub(super) fn shown_wrong(of: &Text, text: &str, wrong: Wrong, complaints: &Complaints) -> Outcome {
    match of.source_of_data(text) {
        Some(source) => of.say_data(source, complaints),
        None => crate::message::say(&wrong.in_file(of.name()).to_string()),
    }
    Outcome::WrongUse
}
