use super::JournalError;
use super::records::Records;
use super::segment::{Scan, Segment};
use crate::disk::Disk;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Up to where a journal is durable, for other threads of the process. Clones show the same number.
#[derive(Clone, Debug, Default)]
pub struct DurableMark(Arc<AtomicU64>);

impl DurableMark {
    /// The number below which all are durable.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    pub(super) fn raise(&self, number: u64) {
        self.0.fetch_max(number, Ordering::Release);
    }
}

/// Follows a journal that another process, or another part of this one, writes.
///
/// A value is read only when it is known to be durable: the writer would lose any other value in a power failure, and
/// would then write another one at the same number. The records say up to where the journal was durable before each of
/// them, so the last commit is read when the next one, or a [mark](super::Journal::mark), was written, or by the
/// writer's own [`DurableMark`].
///
/// ```
/// use millstream::state::StateDir;
/// use millstream::state::disk::RealDisk;
/// use millstream::state::journal::{JournalOptions, JournalReader};
/// use std::sync::Arc;
///
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("orders");
/// let dir = StateDir::open(&path, "orders")?;
/// let (mut journal, _) = dir.journal(JournalOptions::default())?;
/// let mut reader = JournalReader::new(Arc::new(RealDisk), dir.journal_dir());
/// journal.append(0, b"first")?;
/// journal.commit()?;
/// assert_eq!(reader.durable()?, 0, "no record says more");
/// journal.append(1, b"second")?;
/// journal.commit()?;
/// let read = reader.read_from(0)?.collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(read, [(0, b"first".to_vec())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct JournalReader {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    skip_corrupt: bool,
    mark: DurableMark,
    known: u64,
    /// The last segment, up to where it was read.
    tail: Option<Scan>,
}

impl JournalReader {
    /// A reader of the journal in this directory, which need not be there yet. Opens nothing.
    #[must_use]
    pub fn new(disk: Arc<dyn Disk>, dir: impl Into<PathBuf>) -> Self {
        let (dir, mark) = (dir.into(), DurableMark::default());
        JournalReader { disk, dir, skip_corrupt: false, mark, known: 0, tail: None }
    }

    /// Reads on after damage, without the lost values.
    #[must_use]
    pub fn skip_corrupt(mut self) -> Self {
        self.skip_corrupt = true;
        self
    }

    /// Also reads the values that are durable by this mark, which is that of the journal's writer in the same process.
    #[must_use]
    pub fn marked_by(mut self, mark: DurableMark) -> Self {
        self.mark = mark;
        self
    }

    /// Up to where the journal is known to be durable: the number below which all values can be read. It looks at the
    /// bytes written since the last call.
    ///
    /// # Errors
    ///
    /// If the system refuses, or a record has a later format.
    pub fn durable(&mut self) -> Result<u64, JournalError> {
        let segments = self.segments()?;
        if let Some(last) = segments.last()
            && self.tail.as_ref().is_none_or(|tail| tail.segment != *last)
        {
            // A segment is synced before the next one is made.
            self.known = self.known.max(last.base);
            self.tail = match Scan::open(&*self.disk, last.clone()) {
                // It was empty, and a new process has removed it.
                Err(JournalError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
                opened => Some(opened?),
            };
        }
        if let Some(tail) = &mut self.tail {
            tail.measure()?;
            while let Some(header) = tail.next()? {
                self.known = self.known.max(header.durable);
            }
        }
        Ok(self.known.max(self.mark.get()))
    }

    /// The durable values from a number on. It ends where the journal is not known to be durable; call it again from
    /// there later. It needs the memory of one group.
    ///
    /// # Errors
    ///
    /// If the number was trimmed, as [`durable`](JournalReader::durable), and each item if its record is damaged.
    pub fn read_from(&mut self, number: u64) -> Result<Records, JournalError> {
        let to = self.durable()?;
        let segments = self.segments()?.into();
        Records::new(Arc::clone(&self.disk), segments, number..to, self.skip_corrupt)
    }

    /// Makes the values that [`read_from`](JournalReader::read_from) returned, and that have ended, go on from there,
    /// up to where the journal is known to be durable now. It reads only new bytes.
    ///
    /// ```
    /// use millstream::state::disk::RealDisk;
    /// use millstream::state::journal::{Journal, JournalOptions, JournalReader};
    /// use std::sync::Arc;
    ///
    /// # let home = tempfile::tempdir()?;
    /// # let path = home.path().join("journal");
    /// let (mut journal, _) = Journal::open(Arc::new(RealDisk), &path, JournalOptions::default(), 1)?;
    /// let mut reader = JournalReader::new(Arc::new(RealDisk), &path);
    /// let mut values = reader.read_from(0)?;
    /// for number in 0..3 {
    ///     journal.append(number, b"value")?;
    ///     journal.commit()?;
    ///     reader.read_on(&mut values)?;
    ///     // The last commit is not known to be durable.
    ///     assert_eq!(values.next().transpose()?.map(|(number, _)| number), number.checked_sub(1));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read_from`](JournalReader::read_from).
    pub fn read_on(&mut self, values: &mut Records) -> Result<(), JournalError> {
        let to = self.durable()?;
        values.go_on(self.segments()?.into(), to)
    }

    /// The first number that was not trimmed; 0 if there is none.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn first(&self) -> Result<u64, JournalError> {
        Ok(self.segments()?.first().map_or(0, |segment| segment.base))
    }

    fn segments(&self) -> Result<Vec<Segment>, JournalError> {
        match Segment::list(&*self.disk, &self.dir) {
            Err(JournalError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            segments => segments,
        }
    }
}
