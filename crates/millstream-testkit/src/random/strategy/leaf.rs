//! Random stages without bodies.

use super::{Context, below};
use crate::random::answer::Answer;
use crate::random::fold_windows::FoldWindows;
use crate::random::row::{LastOfRow, Row};
use crate::random::stream::Stream;
use crate::random::tree::Pipe;
use crate::random::try_scan::TryScanBy;
use crate::random::windows::Windows;
use proptest::test_runner::TestRng;

pub(in crate::random) fn leaf(rng: &mut TestRng, place: Context) -> Pipe {
    let small = below(rng, 9) as i64;
    if place.has_clocks() && below(rng, 4) == 0 {
        return match below(rng, 8) {
            0 => Pipe::Flatten,
            1 => Pipe::Compact,
            2 if place.keeps_states() => Pipe::WindowsBy(windows(rng)),
            4 => Pipe::Words { modulus: 1 + small },
            5 if place.keeps_states() => Pipe::FlatScan { modulus: 1 + small % 4, finish: small > 3 },
            3 => Pipe::Unordered { limit: 1 + below(rng, 5), plus: small },
            _ => Pipe::FlatMap { modulus: 1 + small % 4 },
        };
    }
    let stages = match place {
        Context::Shard | Context::Scattered => 23,
        Context::Lane => 33,
        Context::Body | Context::Outer => 47,
    };
    match below(rng, stages) {
        0 => Pipe::Id,
        1 => Pipe::Tuple,
        2 | 3 => Pipe::Filter { modulus: 1 + small },
        4 => Pipe::Map { plus: small },
        5 => Pipe::FilterMap { modulus: 1 + small, plus: small },
        6 => Pipe::Firsts,
        7 => Pipe::Seconds,
        8 => Pipe::MapBlocking { plus: small },
        9 => Pipe::TryMap { modulus: 1 + small, plus: small },
        10 => Pipe::Swap,
        11 => Pipe::Fork,
        12 => Pipe::Distribute,
        13 if small > 0 => Pipe::TryMapOrError(1 + small, small),
        13 => Pipe::DeadEnd,
        14 => Pipe::MapAsync { limit: 1 + below(rng, 5), plus: small },
        15 if below(rng, 2) == 0 => Pipe::DeadLetterAsync(1 + below(rng, 5), 1 + small, small),
        15 => Pipe::DeadLetter { modulus: 1 + small, plus: small },
        16 => Pipe::Text { modulus: 1 + small, plus: small },
        17 => Pipe::MapOwned { plus: small },
        18 => Pipe::Cloned,
        19 => Pipe::Partition { modulus: 1 + small },
        20 => Pipe::Part,
        21 | 22 => Pipe::Row(Row { modulus: 1 + small, plus: small, last: last_of_row(rng, place) }),
        23 => Pipe::Delay { first: small },
        24 | 25 => Pipe::Scan { start: small },
        26 => Pipe::TryScan { start: small, modulus: 1 + below(rng, 9) as i64, by: TryScanBy::EVERY[below(rng, 9)] },
        27..=31 => Pipe::Stream(stream(rng, 12)),
        32 => Pipe::Park { keys: 1 + small, modulus: 1 + below(rng, 20) as i64, plus: small },
        33 => Pipe::Stream(stream(rng, 13)),
        34 => Pipe::FoldBy { keys: small, start: small },
        35 | 36 => Pipe::Answer(answer(rng)),
        37 | 38 => Pipe::TeeTo,
        39 | 40 => Pipe::Maybe,
        41 | 42 => Pipe::ScanFinish { start: small },
        43..=45 => Pipe::FoldWindows(fold_windows(rng)),
        _ => Pipe::Fold { start: small },
    }
}

fn last_of_row(rng: &mut TestRng, place: Context) -> LastOfRow {
    let fitting = match place {
        Context::Shard | Context::Scattered => 2,
        Context::Lane => 3,
        Context::Body | Context::Outer => 5,
    };
    LastOfRow::EVERY[below(rng, fitting)]
}

fn answer(rng: &mut TestRng) -> Answer {
    let (modulus, keys) = (1 + below(rng, 12) as i64, below(rng, 5) as i64);
    match below(rng, 18) {
        0 => Answer::Count,
        1 => Answer::Sum,
        2 => Answer::Last,
        3 => Answer::Min,
        4 => Answer::Max,
        5 => Answer::MinByKey(modulus),
        6 => Answer::MaxByKey(modulus),
        7 => Answer::Find(modulus),
        8 => Answer::Any(modulus),
        9 => Answer::All(modulus),
        10 => Answer::CountBy(keys),
        12 => Answer::TopN(below(rng, 5)),
        13 => Answer::TopNByKey(below(rng, 5), modulus),
        14 => Answer::MinBy(modulus),
        15 => Answer::MaxBy(modulus),
        16 => Answer::TopNBy(below(rng, 5), modulus),
        _ => Answer::GroupBy(keys),
    }
}

fn windows(rng: &mut TestRng) -> Windows {
    let size = 1 + below(rng, 12) as u64;
    Windows {
        size,
        every: (below(rng, 3) > 0).then(|| 1 + below(rng, size as usize) as u64),
        lateness: below(rng, 20) as u64,
        keep: below(rng, 2) == 0,
        most: [below(rng, 30), 1000][below(rng, 2)],
        last: below(rng, 4) == 0,
    }
}

fn fold_windows(rng: &mut TestRng) -> FoldWindows {
    let some = |rng: &mut TestRng, below_this: usize| (below(rng, 2) == 0).then(|| 1 + below(rng, below_this) as u64);
    let most = [1 + below(rng, 8), 1000][below(rng, 2)];
    FoldWindows {
        windows: Windows { keep: false, most, ..windows(rng) },
        keys: some(rng, 6).map(|keys| keys as i64 - 1),
        own_watermark: below(rng, 2) == 0,
        early: some(rng, 4),
        refine: some(rng, 15).unwrap_or(0),
        start: below(rng, 9) as i64,
    }
}

/// The last stage is not quiet.
fn stream(rng: &mut TestRng, stages: usize) -> Stream {
    let small = below(rng, 6);
    let modulus = 1 + small as i64;
    match below(rng, stages) {
        0 => Stream::Take(3 * small),
        1 => Stream::TakeWhile(3 + 7 * modulus),
        2 => Stream::Skip(small),
        3 => Stream::SkipWhile(modulus),
        4 => Stream::Dedup(modulus),
        5 => Stream::Windows(1 + small),
        6 => Stream::Pairwise,
        7 => Stream::Enumerate,
        8 => Stream::Inspect,
        9 => Stream::MapM(modulus),
        10 => Stream::Streak(modulus),
        11 => Stream::MapWindows(1 + small),
        _ => Stream::Chunks(1 + small),
    }
}
