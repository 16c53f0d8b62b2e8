use std::time::Duration;

/// When a commit is made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fsync {
    /// By each commit, before it returns.
    #[default]
    Every,
    /// By the first commit after this time since the last sync, and by [`Journal::sync`](super::Journal::sync). The
    /// number that a commit returns says up to where the journal is durable.
    Interval(Duration),
    /// By no commit. Values below the number that a commit returns then survive the process, but not the machine.
    Never,
}

/// How a [`Journal`](super::Journal) is kept.
///
/// ```
/// use millstream::state::journal::{Fsync, JournalOptions};
/// use std::time::Duration;
///
/// let options = JournalOptions { fsync: Fsync::Interval(Duration::from_millis(5)), ..JournalOptions::default() };
/// assert_eq!(options.max_bytes, 1 << 30);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalOptions {
    /// A segment with this number of bytes, or an eighth of [`max_bytes`](JournalOptions::max_bytes), is followed by a
    /// new one. Whole segments are trimmed. By default 16 MiB.
    pub segment_bytes: u64,
    /// The bytes of the journal, the open group included, beyond which [`append`](super::Journal::append) returns
    /// [`Full`](super::JournalError::Full). A longer value is never taken. By default 1 GiB.
    pub max_bytes: u64,
    /// The bytes of the open group beyond which `append` returns [`GroupFull`](super::JournalError::GroupFull); a
    /// single value may be longer. A reader needs the memory of one group. By default 4 MiB.
    pub group_bytes: usize,
    /// When a commit is made durable. By default each is.
    pub fsync: Fsync,
    /// Whether each group is compressed, by LZ4, where that makes it shorter. Reading needs no option: a journal may
    /// have groups of both kinds. An earlier version of this crate, which cannot read compressed groups, reports so. By
    /// default no group is compressed.
    pub compress: bool,
    /// Whether a damaged journal is opened and read in spite of the damage, without the lost values. By default it is
    /// refused.
    pub skip_corrupt: bool,
    /// A number up to which the journal was durable, as a manifest or the sink proves. A journal that ends before it is
    /// refused; otherwise a damaged last commit looks like a commit that was never finished. By default 0.
    pub at_least: u64,
}

impl Default for JournalOptions {
    fn default() -> Self {
        JournalOptions {
            segment_bytes: 16 << 20,
            max_bytes: 1 << 30,
            group_bytes: 4 << 20,
            fsync: Fsync::default(),
            compress: false,
            skip_corrupt: false,
            at_least: 0,
        }
    }
}
