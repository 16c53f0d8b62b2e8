//! One loop: a `String` for every line, and three writes for header, line and line end. A line that is not UTF-8 is an
//! error, as it is with `BufRead::lines`. That method cannot be used: it removes a carriage return with the line's end.

use crate::buffers::{self, OF_BLOCKING};
use crate::header::header;
use std::io::{self, BufRead, BufReader, BufWriter, Write, stdin, stdout};

/// With the standard library's buffers, as in the experiment.
pub(crate) fn run() -> io::Result<()> {
    copy(stdin().lock(), BufWriter::new(stdout().lock()))
}

/// With larger buffers.
pub(crate) fn run_with_large_buffers() -> io::Result<()> {
    let input = BufReader::with_capacity(OF_BLOCKING, buffers::input()?);
    copy(input, BufWriter::with_capacity(OF_BLOCKING, buffers::output()?))
}

fn copy(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    while let Some(line) = next_line(&mut input)? {
        output.write_all(header(line.as_bytes()))?;
        output.write_all(line.as_bytes())?;
        output.write_all(b"\n")?;
    }
    output.flush()
}

/// The next line without its end.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    if line.ends_with('\n') {
        line.pop();
    }
    Ok(Some(line))
}
