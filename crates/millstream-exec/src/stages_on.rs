/// Which threads run the stages behind a source that may wait. Such a source has a thread of its own. The same for the
/// thread of a [`BatchSender`](crate::BatchSender), which says when it compares the two ways.
///
/// The source's thread never runs them if some stage has a thread of its own (`map_blocking`), if values have more than
/// 256 bytes, or while a snapshot or an upgrade is under way. The output is the same on every thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StagesOn {
    /// The workers: each value is handed over at once.
    Workers,
    /// The source's thread: it gathers up to 64 values, and then runs all stages. If the source is silent, a worker
    /// processes what is gathered, within half a millisecond if there is a core for it. No stage may wait for the
    /// source's next value.
    Source,
    /// The workers. But where values come fast, a million a second or more, both ways are tried, and the faster one is
    /// kept for up to two seconds. One core runs cheap stages faster than two: a value that is handed over costs 50 to
    /// 300 nanoseconds, a gathered one 10 to 35.
    #[default]
    Faster,
}
