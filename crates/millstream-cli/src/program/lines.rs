use crate::input::{self, Opening, never_waits, report};
use crate::interrupts::is_end;
use crate::message::Complaints;
use millstream_core::Item;
use millstream_exec::source::Source;
use millstream_io::WholeBlocks;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
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
    bytes: u64,
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

/// The longest line, with its end: as of a run whose state is kept.
const LONGEST: usize = WholeBlocks::<&[u8]>::LONGEST;

impl Input {
    /// The next line without its end; `None` at the end of the input. A line that is too long ends the input.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if (&mut self.file).take(LONGEST as u64 + 1).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.lines += 1;
        if line.len() > LONGEST {
            let (number, at) = (self.lines, self.bytes);
            let why = format!("line {number}, which begins at byte {at}, is longer than {LONGEST} bytes");
            return Err(io::Error::new(ErrorKind::InvalidData, why));
        }
        self.bytes += line.len() as u64;
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
                    Ok(Some(file)) => {
                        self.current = Some(Input { name, file: BufReader::new(file), lines: 0, bytes: 0 })
                    }
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

    /// The next input follows, as after any other error.
    #[test]
    fn a_line_that_is_too_long_ends_its_input_with_a_message() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = |name: &str, length: usize, rest: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("a\n{}{rest}", "x".repeat(length))).expect("a file");
            path.into_os_string()
        };
        let read = |files: Vec<OsString>| {
            let complaints = Complaints::of("test");
            let lines = Lines::<String>::new(files, Opening::default(), complaints.clone());
            (lines.into_values().map(|line| line.len()).collect::<Vec<_>>(), complaints.any())
        };
        let (long, next) = (file("long", LONGEST, "\nb\n"), file("next", 2, "\n"));
        assert_eq!(read(vec![long, next.clone()]), (vec![1, 1, 2], true));
        let ends = [file("end", LONGEST - 1, "\nb"), file("last", LONGEST, ""), next];
        assert_eq!(read(ends.to_vec()), (vec![1, LONGEST - 1, 1, 1, LONGEST, 1, 2], false));
        assert_eq!(read(vec!["/dev/zero".into()]), (vec![], true));
    }
}
