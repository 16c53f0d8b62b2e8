//! Text that the last stage of a run on one worker writes: lines take their way to it past the slots, and what it has
//! written goes on block by block.

use crate::new_clocks::{number, numbered};
use millstream_core::text::{Block, OwnedPiece, Piece};
use millstream_core::{Arrow, ClockExt, ModelExt, RunOutcome, SequenceNumber, TextExt, pipeline};
use millstream_exec::{JobExt, JobRefExt, Rings, Runner, source};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

#[test]
fn each_line_is_written_before_the_next_one_is_cut() {
    let (parsed, alone) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (parses, in_a_row, before) = (parsed.clone(), alone.clone(), AtomicBool::new(false));
    let p = pipeline::<Block>().lines().map(move |line| {
        parses.fetch_add(1, Relaxed);
        number(&line)
    });
    // Through the slots, of a batch only the last line is.
    let p = p.map_bytes(move |x, out| {
        let is_alone = parsed.load(Relaxed) == x + 1;
        in_a_row.fetch_add(u64::from(before.swap(is_alone, Relaxed) && is_alone), Relaxed);
        out.extend(format!("{x}\n").as_bytes());
    });
    // Neighbours are in one block.
    let shares = |(last, changes, all): &mut (usize, u64, u64), number: SequenceNumber, piece: Piece<'_>| {
        assert_eq!((&*piece, number.0), (format!("{all}\n").as_bytes(), *all));
        let block = piece.block().identity();
        *changes += u64::from(std::mem::replace(last, block) != block);
        *all += 1;
    };
    let job = p.from(numbered(100, 1_000)).to_fold((0, 0, 0), shares);
    let ((_, changes, all), report) = Rings::new().workers(1).run(job).unwrap();
    assert_eq!((all, report.numbers.0, report.values), (100_000, 100_000, 100_000));
    assert!(changes < 10_000, "a block has many lines, and there were {changes} of {all}");
    assert!(alone.load(Relaxed) > 0, "{report:?}");
    let moved: Vec<_> = report.stages.iter().map(|stage| stage.moved).collect();
    assert_eq!(&moved[2..], [100_001, 100_001, 100_001], "{report:?}");
}

/// What fails at its number 700: the error, and how many values the sink got.
fn fails(rings: &Rings, at: &'static str) -> (String, u64) {
    let fail = move |here: &str, x: u64| assert!(here != at || x != 700, "seven hundred");
    let got = Arc::new(AtomicU64::new(0));
    let p = pipeline::<Block>().lines().map(move |line| {
        let x = number(&line);
        fail("before", x);
        x
    });
    let p = p.named("before").filter_map_bytes(move |x, out| {
        fail("writes", *x);
        out.extend(x.to_string().as_bytes());
        x.is_multiple_of(2)
    });
    let seen = got.clone();
    let end = rings.start(p.named("writes").from(numbered(10, 1_000)).to_each(move |_, line: Piece<'_>| {
        fail("sink", number(&line));
        seen.fetch_add(1, Relaxed);
    }));
    let end = end.unwrap().join();
    assert_eq!((end.report.outcome, end.report.values), (RunOutcome::Failed, got.load(Relaxed)));
    (end.failure.unwrap().to_string(), got.load(Relaxed))
}

#[test]
fn a_failure_names_the_stage_and_its_number_and_what_comes_before_is_written() {
    let mut all_came = 0;
    for at in ["before", "writes", "sink"] {
        for rings in [Rings::new().workers(1), Rings::new().workers(1).batch(64), Rings::new().workers(2)] {
            let (failed, got) = fails(&rings, at);
            assert_eq!(failed, format!("stage \"{at}\", number 700: panicked: seven hundred"), "{rings:?}");
            assert!(got <= 350, "{got} before {at} on {rings:?}");
            all_came += u32::from(got == 350 && at != "sink");
        }
    }
    assert!(all_came > 0, "a loop gives what comes before a failure");
}

#[test]
fn a_loop_reports_the_failure_of_the_sink() {
    // The stage before the sink has failed earlier, at a later number of the same block.
    let p = pipeline::<Block>().lines().map_bytes(|line, out| {
        assert!(number(&line) != 9, "the ninth");
        out.extend(&line);
    });
    let mut by_loop = 0;
    for _ in 0..30 {
        let sink = |_, line: Piece<'_>| assert!(number(&line) != 3, "the third");
        let end = Rings::new().workers(1).batch(64).start((&p).from(numbered(1, 10)).to_each(sink)).unwrap().join();
        match &*end.failure.unwrap().to_string() {
            "stage \"sink\", number 3: panicked: the third" => {
                assert_eq!((end.report.numbers.0, end.report.values), (3, 3));
                by_loop += 1;
            }
            // Now and then a step goes through the slots, to be timed: there the stage before the sink fails first.
            failure => assert_eq!(failure, "stage \"map_text-1\", number 9: panicked: the ninth"),
        }
    }
    assert!(by_loop > 0, "a loop takes the lines one by one");
}

proptest! {
    /// What is written last, after stages of every kind, on many settings: the model's slots, and pieces that are kept.
    #[test]
    fn text_that_is_written_last_is_the_model(
        numbers in prop::collection::vec(prop_oneof![19 => 0..9_u64, 1 => 0..90_000_u64], 0..200),
        cut in 1..50_usize,
        ring in 0..8_u32,
        batch in 1..200_usize,
        workers in 0..3_usize,
        (ready, set) in any::<(bool, bool)>(),
        chain in 0..4_u8,
    ) {
        let rings = Rings::new().ring(1 << ring);
        let rings = if set { rings.batch(batch) } else { rings };
        let rings = if workers == 0 { rings } else { rings.workers(workers) };
        let blocks = || {
            let lines = |some: &[u64]| some.iter().map(|n| format!("{n}\n")).collect::<String>();
            numbers.chunks(cut).map(|some| Block::from(lines(some).into_bytes())).collect::<Vec<_>>()
        };
        macro_rules! hold {
            ($p:expr) => {{
                let p = $p;
                let slots: Result<Vec<Option<OwnedPiece<_>>>, _> = if ready {
                    rings.collect_slots((&p).from(source::ready(blocks())))
                } else {
                    rings.collect_slots((&p).from(blocks()))
                };
                prop_assert!(slots.unwrap() == p.model_slots(blocks()), "{:?}", rings);
            }};
        }
        match chain {
            0 => hold!(pipeline::<Block>().lines_with_ends().map_bytes(|line, out| {
                out.extend(b"> ");
                out.extend(&line);
            })),
            1 => hold!(pipeline::<Block>().lines().filter_map_bytes(|line, out| {
                (0..number(&line)).for_each(|n| out.push(n as u8));
                !number(&line).is_multiple_of(3)
            })),
            2 => hold!(pipeline::<Block>().lines().map(|line| number(&line)).flat_map(|n| 0..*n % 9).scan(
                0,
                |sum: &mut u64, n| {
                    *sum += n;
                    *sum
                }
            ).filter(|sum| sum % 7 != 2).map_str(|sum, out| out.push_str(&sum.to_string()))),
            _ => hold!(pipeline::<Block>().lines().map_slice(|line| line.narrow(line.text().trim_ascii())).map_bytes(
                |line, out| out.extend(&line)
            ).filter(|line| line.len() != 3)),
        }
    }
}
