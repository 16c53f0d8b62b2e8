//! The report of an access log: `WHO DEAD-LETTERS < LOG > REPORT`, with the parser and the windows of Millstream's
//! example `access_log`. What differs is how the lines get there.

#[path = "../../../../millstream/examples/access_log/entry.rs"]
mod entry;
#[path = "../../../../millstream/examples/access_log/report.rs"]
#[allow(dead_code, reason = "the example has the report's meaning, too")]
mod report;

mod plain;
mod rayon;

pub(crate) use plain::run as run_plain;
pub(crate) use rayon::run as run_rayon;

use entry::{Entry, Malformed};
use report::Windows;
use std::fs::File;
use std::io::{BufWriter, Error, ErrorKind, Result, Stdout, Write};

/// Where lines end up, one after the other.
struct Report {
    windows: Windows,
    lines: u64,
    out: BufWriter<Stdout>,
    dead: BufWriter<File>,
}

impl Report {
    fn new() -> Result<Self> {
        let missing = || Error::new(ErrorKind::InvalidInput, "no file for dead letters");
        let dead = File::create(std::env::args().nth(2).ok_or_else(missing)?)?;
        let dead = BufWriter::with_capacity(1 << 16, dead);
        let out = BufWriter::new(std::io::stdout());
        Ok(Report { windows: Windows::default(), lines: 0, out, dead })
    }

    #[inline]
    fn take(&mut self, line: &[u8], parsed: &std::result::Result<Entry, Malformed>) -> Result<()> {
        self.lines += 1;
        match parsed {
            Ok(entry) => {
                for row in self.windows.add(entry, &line[entry.path()]) {
                    self.out.write_all(row.as_bytes())?;
                }
                Ok(())
            }
            Err(why) => {
                write!(self.dead, "{}: {why}: ", self.lines)?;
                self.dead.write_all(line)?;
                self.dead.write_all(b"\n")
            }
        }
    }

    fn finish(mut self) -> Result<()> {
        for row in self.windows.finish() {
            self.out.write_all(row.as_bytes())?;
        }
        self.out.flush()?;
        self.dead.flush()
    }
}
