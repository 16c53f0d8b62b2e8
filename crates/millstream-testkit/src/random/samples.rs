//! A sample of every stage.

use super::{Answer, FoldWindows, Graph, LastOfRow, Pipe, Row, Statement, Stream, TryScanBy, Windows};

/// Each kind of stage, of [answers](Pipe::Answer) some: first those that clone, keep, hash, compare or order values.
/// Those that neither keep a state nor write values that they make are in one row.
#[must_use]
pub fn every_stage() -> Vec<Pipe> {
    let map = || Box::new(Pipe::Map { plus: 1 });
    vec![
        *map(),
        Pipe::MapBlocking { plus: 1 },
        Pipe::MapAsync { limit: 3, plus: 1 },
        Pipe::Unordered { limit: 3, plus: 1 },
        Pipe::Filter { modulus: 3 },
        Pipe::TryMapOrError(3, 2),
        Pipe::DeadLetter { modulus: 3, plus: 2 },
        Pipe::DeadLetterAsync(3, 3, 2),
        Pipe::DeadLetterAsync(2, 2, 1),
        Pipe::Park { keys: 2, modulus: 3, plus: 2 },
        Pipe::Scan { start: 1 },
        Pipe::Row(Row { modulus: 3, plus: 2, last: LastOfRow::Scan }),
        Pipe::Answer(Answer::TopN(3)),
        Pipe::Answer(Answer::TopNByKey(3, 4)),
        sessions(Some(3)),
        sessions(Some(0)),
        sessions(None),
        Pipe::FoldWindows(FoldWindows {
            windows: Windows { size: 4, every: Some(2), lateness: 1, keep: false, most: 100, last: false },
            keys: Some(3),
            own_watermark: true,
            early: Some(2),
            refine: 5,
            start: 1,
        }),
        Pipe::ScanFinish { start: 2 },
        Pipe::FlatScan { modulus: 3, finish: false },
        Pipe::FlatScan { modulus: 3, finish: true },
        Pipe::TryScan { start: 2, modulus: 3, by: TryScanBy::Empty },
        Pipe::TryScan { start: 2, modulus: 3, by: TryScanBy::EmptyUndo },
        Pipe::TryScan { start: 2, modulus: 3, by: TryScanBy::OrError },
        Pipe::TryScan { start: 1, modulus: 3, by: TryScanBy::OrErrorUndo },
        Pipe::TryScan { start: 2, modulus: 3, by: TryScanBy::DeadLetter },
        Pipe::TryScan { start: 1, modulus: 3, by: TryScanBy::DeadLetterUndo },
        Pipe::TryScan { start: 2, modulus: 3, by: TryScanBy::Park(2) },
        Pipe::TryScan { start: 2, modulus: 3, by: TryScanBy::Retry },
        Pipe::TryScan { start: 2, modulus: 3, by: TryScanBy::RetryUndo },
        Pipe::MapOwned { plus: 1 },
        Pipe::Partition { modulus: 3 },
        Pipe::Answer(Answer::Last),
        Pipe::Answer(Answer::Min),
        Pipe::Answer(Answer::MaxByKey(3)),
        Pipe::Answer(Answer::GroupBy(3)),
        Pipe::Answer(Answer::CountBy(0)),
        Pipe::Answer(Answer::MinBy(3)),
        Pipe::Answer(Answer::TopNBy(3, 4)),
        Pipe::Answer(Answer::GroupBy(0)),
        Pipe::FanoutAll(vec![*map(), Pipe::Cloned, *map()]),
        Pipe::Fold { start: 1 },
        Pipe::FoldBy { keys: 3, start: 1 },
        Pipe::FoldBy { keys: 0, start: 1 },
        Pipe::Delay { first: 9 },
        Pipe::FlatMap { modulus: 3 },
        Pipe::Flatten,
        Pipe::Compact,
        Pipe::WindowsBy(Windows { size: 3, every: Some(2), lateness: 1, keep: true, most: 4, last: false }),
        Pipe::Stream(Stream::Take(3)),
        Pipe::Stream(Stream::Dedup(3)),
        Pipe::Stream(Stream::Chunks(2)),
        Pipe::Stream(Stream::Windows(2)),
        Pipe::Stream(Stream::MapWindows(2)),
        Pipe::Stream(Stream::Pairwise),
        Pipe::Stream(Stream::Streak(3)),
        Pipe::Text { modulus: 3, plus: 1 },
        Pipe::Fanout(map(), map()),
        Pipe::Both(map(), Pipe::Delay { first: 3 }.into()),
        Pipe::Choose(map(), Pipe::Scan { start: 3 }.into()),
        Pipe::Merge(map(), map()),
        Pipe::Feedback(1, map()),
        Pipe::Part,
        Pipe::Maybe,
        Pipe::Block(Graph {
            statements: vec![
                Statement::Body(0, Pipe::Scan { start: 1 }),
                Statement::If { wire: 0, modulus: 2, yes: (1, *map()), no: (0, Pipe::Filter { modulus: 3 }) },
                Statement::Or(2, 0),
                Statement::Join(vec![0, 1, 3]),
            ],
            result: 4,
        }),
        Pipe::Tee(map()),
        Pipe::Shard(3, map()),
        Pipe::ShardBy { keys: 3, most: 2, k: 2, body: Pipe::Scan { start: 1 }.into() },
        Pipe::ShardBy { keys: 0, most: 2, k: 2, body: Pipe::Scan { start: 1 }.into() },
        Pipe::TryMap { modulus: 3, plus: 2 },
        Pipe::Words { modulus: 3 },
        Pipe::TeeTo,
        Pipe::Stream(Stream::Skip(3)),
        // Behind a stage, since the first values of tests are often 0.
        Pipe::Then(map(), Pipe::Stream(Stream::SkipWhile(7)).into()),
        Pipe::Then(map(), Pipe::Stream(Stream::TakeWhile(7)).into()),
        Pipe::Stream(Stream::Enumerate),
        Pipe::Stream(Stream::Inspect),
        Pipe::Stream(Stream::MapM(2)),
        in_a_row([
            Pipe::FilterMap { modulus: 5, plus: 1 },
            Pipe::Tuple,
            Pipe::Swap,
            Pipe::Cloned,
            Pipe::Distribute,
            Pipe::Seconds,
            Pipe::Fork,
            Pipe::Firsts,
            Pipe::Tee(Pipe::DeadEnd.into()),
        ]),
    ]
}

fn in_a_row<const N: usize>(stages: [Pipe; N]) -> Pipe {
    let then = |p: Pipe, q: Pipe| Pipe::Then(p.into(), q.into());
    stages.into_iter().reduce(then).expect("there are some")
}

fn sessions(keys: Option<i64>) -> Pipe {
    let windows = Windows { size: 3, every: None, lateness: 9, keep: false, most: 4, last: false };
    Pipe::FoldWindows(FoldWindows { windows, keys, own_watermark: false, early: None, refine: 3, start: 1 })
}
