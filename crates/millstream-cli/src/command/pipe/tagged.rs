use memchr::memchr;
use std::io::{self, BufRead, BufReader, Read};

/// A reader with a tag before every line.
pub(super) struct Tagged<R> {
    inner: BufReader<R>,
    tag: Vec<u8>,
    line_end: u8,
    /// How much of the next line's tag has been read.
    done: usize,
}

/// The tag of lines that belong to a number.
pub(super) fn tag(number: u64) -> Vec<u8> {
    format!("{number}\t").into_bytes()
}

impl<R: Read> Tagged<R> {
    pub(super) fn new(inner: R, number: u64, line_end: u8) -> Self {
        Tagged { inner: BufReader::with_capacity(64 * 1024, inner), tag: tag(number), line_end, done: 0 }
    }
}

impl<R: Read> Read for Tagged<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let line = self.inner.fill_buf()?;
        if line.is_empty() {
            return Ok(0);
        }
        let mut tag = &self.tag[self.done..];
        if !tag.is_empty() {
            let read = tag.read(buffer)?;
            self.done += read;
            return Ok(read);
        }
        let end = memchr(self.line_end, line).map_or(line.len(), |at| at + 1);
        let read = end.min(buffer.len());
        buffer[..read].copy_from_slice(&line[..read]);
        if buffer[..read].last() == Some(&self.line_end) {
            self.done = 0;
        }
        self.inner.consume(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader of at most n bytes at once.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = self.1.min(buffer.len());
            self.0.read(&mut buffer[..most])
        }
    }

    #[test]
    fn every_line_has_a_tag() {
        for (text, expected) in [
            ("", ""),
            ("a", "12\ta"),
            ("a\n", "12\ta\n"),
            ("\n\nb\nc", "12\t\n12\t\n12\tb\n12\tc"),
            ("long line\n", "12\tlong line\n"),
        ] {
            for (read, room) in [(1, 1), (1, 7), (3, 2), (100, 100)] {
                let mut tagged = Tagged::new(Slowly(text.as_bytes(), read), 12, b'\n');
                let (mut seen, mut buffer) = (Vec::new(), vec![0; room]);
                loop {
                    let read = tagged.read(&mut buffer).expect("it is in memory");
                    if read == 0 {
                        break;
                    }
                    seen.extend(&buffer[..read]);
                }
                assert_eq!(String::from_utf8(seen).expect("text"), expected);
            }
        }
    }
}
