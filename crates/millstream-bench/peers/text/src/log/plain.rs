//! One thread, one buffer, and no allocation per line.

use super::{Entry, Report};
use std::io::{Read, Result};

const BUFFER: usize = 128 * 1024;

pub(crate) fn run() -> Result<()> {
    let mut report = Report::new()?;
    let mut input = std::io::stdin().lock();
    let (mut buffer, mut filled) = (vec![0; BUFFER], 0);
    loop {
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
        let read = input.read(&mut buffer[filled..])?;
        if read == 0 {
            break;
        }
        filled += read;
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &buffer[..filled]) {
            let line = &buffer[start..end];
            report.take(line, &Entry::parse(line))?;
            start = end + 1;
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
    }
    if filled > 0 {
        report.take(&buffer[..filled], &Entry::parse(&buffer[..filled]))?;
    }
    report.finish()
}
