//! One loop: a `String` for every line, and three writes: header, line, line end. Both ends have the standard library's
//! buffers. A line that is not UTF-8 is an error, as it is with `BufRead::lines`, which could not be used as it is: it takes
//! a carriage return for a part of the line's end.

use crate::header::header;
use std::io::{self, BufRead, BufWriter, Write, stdin, stdout};

pub(crate) fn run() -> io::Result<()> {
    let mut input = stdin().lock();
    let mut output = BufWriter::new(stdout().lock());
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
