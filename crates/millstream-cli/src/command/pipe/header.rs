use crate::interrupts::is_end;
use memchr::memchr_iter;
use std::io::{self, Chain, Cursor, Read};

/// The first lines of an input, and the rest of it.
#[derive(Debug)]
pub(super) struct SplitInput<R> {
    pub(super) header: Vec<u8>,
    pub(super) rest: Chain<Cursor<Vec<u8>>, R>,
}

/// The size of a read.
const READ: usize = 64 * 1024;

/// Splits this many lines from the beginning of an input, or all lines if there are fewer.
///
/// # Errors
///
/// If the input cannot be read, or the lines are longer than `longest` bytes together.
pub(super) fn split_header<R: Read>(
    mut input: R,
    lines: usize,
    line_end: u8,
    longest: usize,
) -> io::Result<SplitInput<R>> {
    let (mut read, mut buffer) = (Vec::new(), vec![0; READ]);
    let header = loop {
        if lines == 0 {
            break 0;
        }
        let end = memchr_iter(line_end, &read).nth(lines - 1).map(|end| end + 1);
        if end.unwrap_or(read.len()) > longest {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the header of {lines} lines is longer than {longest} bytes"),
            ));
        }
        if let Some(end) = end {
            break end;
        }
        match input.read(&mut buffer) {
            Ok(0) => break read.len(),
            Ok(more) => read.extend(&buffer[..more]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A signal has ended the input.
            Err(error) if is_end(&error) => break read.len(),
            Err(error) => return Err(error),
        }
    };
    let rest = Cursor::new(read.split_off(header)).chain(input);
    Ok(SplitInput { header: read, rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, lines: usize, header: &str, rest: &str) {
        let mut split = split_header(text.as_bytes(), lines, b'\n', 10).expect("it is in memory");
        let mut after = String::new();
        split.rest.read_to_string(&mut after).expect("it is in memory");
        assert_eq!((String::from_utf8(split.header).expect("text").as_str(), after.as_str()), (header, rest));
    }

    #[test]
    fn the_first_lines_are_split_from_the_rest() {
        check("a\nb\nc\n", 0, "", "a\nb\nc\n");
        check("a\nb\nc\n", 1, "a\n", "b\nc\n");
        check("a\nb\nc", 2, "a\nb\n", "c");
        check("a\nb", 2, "a\nb", "");
        check("a\nb", 3, "a\nb", "");
        check("", 1, "", "");
        let long = split_header("a line\nthat is\nlong".as_bytes(), 3, b'\n', 10).expect_err("too long");
        assert_eq!(long.to_string(), "the header of 3 lines is longer than 10 bytes");
    }
}
