/// Which threads run the stages behind a source that may wait. Such a source has a thread of its own. The same for the
/// thread of a [`BatchSender`](crate::BatchSender), which says when it compares the two ways.
///
/// The workers run them in any case if a stage, a named sink or a receiver of dead letters has a thread of its own
/// (`map_blocking`, `try_map_retry`, `tee_to`), while a snapshot or an upgrade is under way, if the values that the
/// source's thread would gather have more than 256 bytes, and behind a [`Sender`](crate::Sender) that is no
/// `BatchSender`. The output is the same on every thread. The callers of a `service` run its stages, if requests take
/// little time, unless it is started with `Workers`.
///
/// Behind a source of few slots, [`few`](fn@crate::source::few) or blocks of text, no value is gathered: with `Source`
/// and `Faster`, the source's thread runs the stages after every value while other processes use the cores, and else
/// the workers do.
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
