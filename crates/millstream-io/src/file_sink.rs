mod options;
mod place;
mod sync;

pub use options::FileSinkOptions;
pub use sync::SyncPolicy;

use crate::named::named;
use crate::time::{Clock, SystemClock};
use millstream_core::{Lends, RunOutcome, SequenceNumber, Sink};
use place::Place;
use std::fs::File;
use std::io::{Result, Write};
use std::mem;
use std::path::{Path, PathBuf};
use sync::Syncing;

/// A file as the end of a run: the bytes of every value, one after the other, and the number of the last value.
///
/// [`replace`](FileSink::replace) writes a new file, and gives it the name when the sink is
/// [finished](FileSink::finish); [`append`](FileSink::append) goes on at the end of the file. It is a [`Sink`] of
/// values that are bytes:
///
/// ```
/// use millstream::{io::FileSink, prelude::*};
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// let p = pipeline::<u64>().map(|x| format!("{}\n", x * x));
/// let (written, _) = p.from(0..4).to(FileSink::replace("squares").open()?).run()?;
/// assert_eq!(written.last, Some(3.into()));
/// assert_eq!(std::fs::read_to_string("squares")?, "0\n1\n4\n9\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// If the file cannot be written, the run fails at the number, with the error of the file as its source. A run that
/// came to its end, or was drained, finishes the sink; a run that was stopped or has failed drops it. Either way the
/// run returns the sink's [`Position`]: how far the file has been written.
///
/// Values are gathered in a [buffer](FileSinkOptions::buffered) of 64 KiB, which is written when it is full, at each
/// [pause](FileSinkOptions::keep_at_pauses) of the run, and at its end. So an error of the file may be found at a later
/// number, and the values in the buffer are lost with a killed process. With `.buffered(0)` each value is in the file
/// when the next one comes.
///
/// To write something else than the whole value, make the sink the state of a closure, and finish it afterwards:
/// `job.to_fold(sink, |sink, number, order| sink.write(number, order.line().as_bytes()))`.
///
/// # Resuming
///
/// Numbers grow, and the sink skips a value at a number that it already has. Pipelines are determinate, so a pipeline
/// that runs again, from number 0 on the same input, continues where it stopped, without duplicates and without gaps.
/// For a run in another process, keep the [`position`](FileSink::position) and [resume](FileSinkOptions::resume) there.
///
/// # Errors
///
/// Every error names the file and the failed operation: open, write, sync, rotate or replace. After an error, the sink
/// is at the number of [`last`](FileSink::last). Later values are dropped and can be written again. The file is cut to
/// whole values. If it cannot be cut (it is not a regular file), a part of a value may remain at its end.
///
/// # Dropped before it is finished
///
/// A new file is removed, and the old one stays as it was. A killed process leaves the new one in the same directory,
/// as `.NAME.PID.N.tmp`. The buffer of an appended file is written, and an error of that write is lost.
#[derive(Debug)]
pub struct FileSink<C: Clock = SystemClock> {
    /// The name as the user wrote it.
    path: PathBuf,
    place: Place,
    file: File,
    /// The length of the whole values in the file.
    length: u64,
    /// Whole values that are not in the file yet.
    buffer: Vec<u8>,
    capacity: usize,
    /// Whether a pause writes the buffer.
    flushes: bool,
    /// The header of an empty file.
    header: Vec<u8>,
    last: Option<SequenceNumber>,
    /// The same as `last`, but with the values in the buffer.
    taken: Option<SequenceNumber>,
    syncing: Syncing<C>,
    /// Whether the file's name survives a crash of the machine.
    keeps_name: bool,
}

/// The end of a file's contents. See [`FileSink::position`]. The default is that of an empty file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The number of the last value.
    pub last: Option<SequenceNumber>,
    /// The length of the file after that value, in bytes.
    pub length: u64,
}

impl FileSink {
    /// A new file that replaces the file of this name, if there is one, as a whole when it is finished: opening the
    /// name yields the old file or the new one. It has the permissions of the old file. If the name is a link, the file
    /// it leads to is replaced.
    pub fn replace(path: impl Into<PathBuf>) -> FileSinkOptions {
        FileSinkOptions::new(path.into(), false)
    }

    /// Continues after the contents of the file, or makes the file. No other program may write to it meanwhile. A job
    /// that keeps its state goes on where its last snapshot says; without one it refuses contents, unless
    /// [`after_contents`](FileSinkOptions::after_contents) allows them.
    pub fn append(path: impl Into<PathBuf>) -> FileSinkOptions {
        FileSinkOptions::new(path.into(), true)
    }
}

impl<C: Clock> FileSink<C> {
    /// Writes the value of this number after all earlier ones. Skips a number that it already has.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, synced or rotated: see [`FileSink`].
    pub fn write(&mut self, number: SequenceNumber, bytes: &[u8]) -> Result<()> {
        if self.taken >= Some(number) {
            return Ok(());
        }
        self.rotate_before(bytes.len())?;
        if self.buffer.len() + bytes.len() > self.capacity {
            self.flush()?;
        }
        if bytes.len() >= self.capacity {
            self.put(bytes, number)?;
        } else {
            self.buffer.extend_from_slice(bytes);
            self.taken = Some(number);
        }
        if self.syncing.due(self.buffer.len()) {
            self.flush()?;
            self.sync()?;
        }
        Ok(())
    }

    /// Writes the buffer to the file. It syncs nothing.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        let Some(number) = self.taken.filter(|_| self.taken != self.last) else { return Ok(()) };
        let mut bytes = mem::take(&mut self.buffer);
        self.put(&bytes, number)?;
        bytes.clear();
        self.buffer = bytes;
        Ok(())
    }

    /// The number of the last whole value in the file; `None` if there is none. Values in the
    /// [buffer](FileSinkOptions::buffered) do not count. The file's contents survive the end of the process.
    /// [`SyncPolicy`] decides whether they survive a crash of the machine.
    pub fn last(&self) -> Option<SequenceNumber> {
        self.last
    }

    /// Flushes, and returns the end of the file's contents, at which another process can
    /// [resume](FileSinkOptions::resume).
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn position(&mut self) -> Result<Position> {
        self.flush()?;
        Ok(Position { last: self.last, length: self.length })
    }

    /// As [`position`](FileSink::position), of contents that survive a crash of the machine: they are synced, unless
    /// the policy is `Never`. The first call syncs the directory too, since the name of a new file is lost without
    /// that.
    ///
    /// # Errors
    ///
    /// If the file cannot be written or synced.
    pub fn synced_position(&mut self) -> Result<Position> {
        let position = self.position()?;
        if self.syncing.at_end() {
            self.sync()?;
            if !self.keeps_name {
                self.sync_directory()?;
            }
        }
        Ok(position)
    }

    /// Flushes, syncs unless the policy is `Never`, and gives a new file its name. Returns the number of the last
    /// value.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, synced or given its name.
    pub fn finish(mut self) -> Result<Option<SequenceNumber>> {
        self.flush()?;
        if self.syncing.at_end() {
            self.sync()?;
        }
        self.place.arrive().map_err(|error| named(&self.path, "replace", error))?;
        if self.syncing.at_end() {
            self.sync_directory()?;
        }
        Ok(self.last)
    }

    /// Writes `bytes`, which end with the value of `number`, or writes nothing.
    fn put(&mut self, bytes: &[u8], number: SequenceNumber) -> Result<()> {
        // A file that was begun while the disk was full has none.
        self.put_header()?;
        if let Err(error) = self.file.write_all(bytes) {
            let _ = self.file.set_len(self.length); // the first error is reported
            return Err(self.forget("write", error));
        }
        self.length += bytes.len() as u64;
        self.syncing.written(bytes.len());
        (self.taken, self.last) = (Some(number), Some(number));
        Ok(())
    }

    /// Begins an empty file with its header.
    fn put_header(&mut self) -> Result<()> {
        if self.length > 0 || self.header.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.file.write_all(&self.header) {
            let _ = self.file.set_len(0); // the first error is reported
            return Err(self.forget("write", error));
        }
        self.length = self.header.len() as u64;
        self.syncing.written(self.header.len());
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.syncing.sync(&self.file).map_err(|error| named(&self.path, "sync", error))
    }

    fn sync_directory(&mut self) -> Result<()> {
        self.place.sync_directory().map_err(|error| named(&self.path, "sync", error))?;
        self.keeps_name = true;
        Ok(())
    }

    /// Begins a new file if the current one has no room for this many more bytes.
    fn rotate_before(&mut self, bytes: usize) -> Result<()> {
        let full = (self.length + self.buffer.len() as u64).saturating_add(bytes as u64);
        let empty = self.header.len() as u64;
        if self.length + self.buffer.len() as u64 <= empty || !self.place.rotates_above(full) {
            return Ok(());
        }
        self.flush()?;
        if self.syncing.at_end() {
            self.sync()?;
        }
        match self.place.rotate() {
            Ok(file) => (self.file, self.length) = (file, 0),
            Err(error) => return Err(self.forget("rotate", error)),
        }
        self.put_header()?;
        if self.syncing.at_end() {
            self.sync_directory()?;
        }
        Ok(())
    }

    /// Drops the values that are not in the file.
    fn forget(&mut self, doing: &'static str, error: std::io::Error) -> std::io::Error {
        self.buffer.clear();
        self.taken = self.last;
        named(&self.path, doing, error)
    }

    /// The name as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl<A, C> Sink<A> for FileSink<C>
where
    A: Lends<Lent: AsRef<[u8]>>,
    C: Clock + Send + 'static,
{
    type Output = Position;
    type Error = std::io::Error;

    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<()> {
        self.write(number, A::lent(value).as_ref())
    }

    fn pause(&mut self) -> Result<()> {
        if self.flushes { self.flush() } else { Ok(()) }
    }

    fn finish(mut self, outcome: RunOutcome) -> Result<Position> {
        if !outcome.is_complete() {
            return if self.place.keeps_unfinished() { self.position() } else { Ok(Position::default()) };
        }
        let position = self.position()?;
        FileSink::finish(self)?;
        Ok(position)
    }
}

impl<C: Clock> Drop for FileSink<C> {
    fn drop(&mut self) {
        if self.place.keeps_unfinished() {
            let _ = self.flush(); // `finish` reports an error
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_for_which_there_was_no_room_is_written_before_the_next_value() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("out");
        let mut sink = FileSink::append(&out).header("n\n").rotate(1000, 1).open().unwrap();
        // A rotation has begun a file, and the disk is full.
        (sink.file, sink.length) = (File::options().write(true).open("/dev/full").unwrap(), 0);
        sink.put_header().unwrap_err();
        sink.file = File::create(&out).unwrap();
        sink.write(0.into(), b"0\n").unwrap();
        sink.write(1.into(), b"1\n").unwrap();
        sink.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "n\n0\n1\n");
    }
}
