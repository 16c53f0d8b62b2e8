use crate::input::{self, Opening, never_waits, report};
use crate::interrupts::is_end;
use crate::message::Complaints;
use millstream_core::Item;
use millstream_exec::source::Source;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, BufRead, BufReader};
use std::marker::PhantomData;
use std::str::FromStr;
use std::vec;

/// The lines of several inputs as one stream, each parsed. An input or a line that fails is reported and left out.
#[derive(Debug)]
pub(super) struct Lines<T> {
    names: vec::IntoIter<OsString>,
    /// Whether a read may wait for another process.
    waits: bool,
    opening: Opening,
    current: Option<Input>,
    complaints: Complaints,
    parsed: PhantomData<fn() -> T>,
}

/// The current input.
#[derive(Debug)]
struct Input {
    name: OsString,
    file: BufReader<input::Input>,
    lines: u64,
}

impl<T> Lines<T> {
    pub(super) fn new(files: Vec<OsString>, opening: Opening, complaints: Complaints) -> Self {
        let waits = !files.iter().all(|name| never_waits(name));
        Lines { names: files.into_iter(), waits, opening, current: None, complaints, parsed: PhantomData }
    }

    fn complain(&self, name: &OsString, error: &io::Error) {
        report(&self.complaints, name, error);
    }
}

impl Input {
    /// The next line without its end; `None` at the end of the input.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if self.file.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.lines += 1;
        if line.pop_if(|byte| *byte == b'\n').is_some() {
            line.pop_if(|byte| *byte == b'\r');
        }
        Ok(Some(line))
    }
}

/// A line without its end: `\n` or `\r\n`.
pub(super) fn without_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").map_or(line, |line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// The message about a line that is no value, the same wherever the program runs.
pub(super) fn left_out(line: &str, why: &str) -> String {
    format!("{line} is left out: {why}")
}

pub(super) fn parsed<T: FromStr<Err: Display>>(line: Vec<u8>) -> Result<T, String> {
    let text = String::from_utf8(line).map_err(|error| error.utf8_error().to_string())?;
    text.parse().map_err(|error: T::Err| error.to_string())
}

impl<T: Item + FromStr<Err: Display>> Source<T> for Lines<T> {
    type Values = Reading<T>;
    const WAITS: bool = true;

    fn waits(&self) -> bool {
        self.waits
    }

    fn into_values(self) -> Reading<T> {
        Reading(self)
    }
}

/// The lines while they are read.
#[derive(Debug)]
pub(super) struct Reading<T>(Lines<T>);

impl<T: FromStr<Err: Display>> Iterator for Reading<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.next()
    }
}

impl<T: FromStr<Err: Display>> Lines<T> {
    fn next(&mut self) -> Option<T> {
        loop {
            let Some(mut input) = self.current.take() else {
                let name = self.names.next()?;
                match self.opening.open(&name) {
                    Ok(None) => return None,
                    Ok(Some(file)) => self.current = Some(Input { name, file: BufReader::new(file), lines: 0 }),
                    Err(error) => self.complain(&name, &error),
                }
                continue;
            };
            match input.line() {
                Ok(None) => {}
                Err(error) => {
                    if is_end(&error) {
                        // Further inputs would come after a hole.
                        self.names = Vec::new().into_iter();
                    }
                    self.complain(&input.name, &error)
                }
                Ok(Some(line)) => {
                    let outcome = parsed(line);
                    let Input { name, lines, .. } = &input;
                    if let Err(why) = &outcome {
                        let place = io::Error::other(left_out(&format!("line {lines}"), why));
                        self.complain(name, &place);
                    }
                    self.current = Some(input);
                    if let Ok(value) = outcome {
                        return Some(value);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupts::Interrupts;

    #[test]
    fn the_lines_end_with_an_input_that_a_signal_ends() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("lines");
        std::fs::write(&file, "1\n2\n").expect("a file");
        let interrupts = Interrupts::default();
        interrupts.end_input();
        let opening = Opening { interrupts: Some(interrupts), watched: true, ..Opening::default() };
        let lines = |files| {
            let lines = Lines::<u64>::new(files, opening.clone(), Complaints::of("test"));
            lines.into_values().collect::<Vec<_>>()
        };
        assert_eq!(lines(vec![file.clone().into()]), [1, 2], "a read of a file does not wait");
        assert_eq!(lines(vec!["/dev/zero".into(), file.into()]), [0_u64; 0]);
    }
}
