//! Runs of one loop through stages that start a clock, and stages of text: values go past the slots after the source's
//! ring, and nothing else of it shows.

use millstream_core::text::{Block, OwnedPiece, Splitter};
use millstream_core::{Arrow, ClockExt, ModelExt, RunOutcome, SequenceNumber, TextExt, pipeline};
use millstream_exec::{JobExt, JobRefExt, Rings, Runner, source};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A counter, and a function that counts its calls.
fn counting() -> (Arc<AtomicU64>, impl Fn(u64) -> u64 + Clone + Send + Sync + 'static) {
    let calls = Arc::new(AtomicU64::new(0));
    let counter = calls.clone();
    (calls, move |x| {
        counter.fetch_add(1, Relaxed);
        x
    })
}

/// Blocks of lines, which are the numbers from 0 on.
pub(crate) fn numbered(blocks: u64, lines: u64) -> impl Iterator<Item = Block> + Send {
    let block = move |n| (n * lines..(n + 1) * lines).map(|line| format!("{line}\n")).collect::<String>();
    (0..blocks).map(move |n| Block::from(block(n).into_bytes()))
}

pub(crate) fn number(line: &[u8]) -> u64 {
    line.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}

#[test]
fn each_line_takes_its_way_before_the_next_one_is_cut() {
    let (calls, count) = counting();
    let p = pipeline::<Block>().lines().map(move |line| count(number(&line)));
    // How many lines came before the next one was cut, as did those before them. Through the slots, of a batch only the
    // last one does.
    let in_a_row = move |(before, pairs, all): &mut (bool, u64, u64), number: SequenceNumber, _: &u64| {
        let alone = calls.load(Relaxed) == number.0 + 1;
        (*pairs, *all) = (*pairs + u64::from(alone && *before), *all + 1);
        *before = alone;
    };
    let job = p.from(numbered(100, 1_000)).to_fold((false, 0, 0), in_a_row);
    let ((_, pairs, all), report) = Rings::new().workers(1).batch(64).run(job).unwrap();
    assert_eq!(all, 100_000);
    // Other tests may have the core so often that the loop takes its values for dear, for a time.
    assert!(pairs > 0, "{report:?}");
    assert_eq!((report.numbers, report.values), (SequenceNumber(100_000), 100_000));
    let moved: Vec<_> = report.stages.iter().map(|stage| stage.moved).collect();
    assert_eq!((moved[0], &moved[2..]), (101, &[100_001, 100_001][..]), "{report:?}");
}

#[test]
fn each_output_takes_its_way_before_the_next_one_is_made() {
    for rings in [Rings::new().workers(1), Rings::new().workers(1).batch(64), Rings::new()] {
        for ready in [true, false] {
            let (calls, count) = counting();
            let p = pipeline::<Block>().lines().map(|line| number(&line) + 1);
            let p = p.flat_map(|x| *x..x + 3).filter(|x| x % 3 != 0);
            let p = p.map(move |x| count(*x)).scan(0, |sum: &mut u64, x| {
                *sum += x;
                *sum
            });
            let expected = p.model(numbered(3, 1_000));
            assert_eq!(rings.collect((&p).from(numbered(3, 1_000))).unwrap(), expected, "{rings:?}");
            calls.store(0, Relaxed);
            // A filter's slots have numbers, too.
            let sink = move |(alone, all): &mut (u64, u64), number: SequenceNumber, _: &u64| {
                *alone += u64::from(calls.load(Relaxed) == number.0 - number.0 / 3);
                *all += 1;
            };
            let ((alone, all), report) = if ready {
                rings.run((&p).from(source::ready(numbered(3, 1_000))).to_fold((0, 0), sink)).unwrap()
            } else {
                rings.run((&p).from(numbered(3, 1_000)).to_fold((0, 0), sink)).unwrap()
            };
            assert_eq!((all, report.numbers.0, report.values), (6_000, 9_000, 6_000));
            assert!(alone > 0, "{alone} of {all} on {rings:?}");
        }
    }
}

#[test]
fn text_that_a_sink_keeps_is_not_written_over() {
    let p = pipeline::<Block>().lines_with_ends().shard(1, |p| {
        p.map_bytes(|line, out| {
            out.extend(b"> ");
            out.extend(&line);
        })
    });
    let p = p.filter_map_slice(|line| (!line.ends_with(b"7\n")).then(|| line.part(2..line.len())).flatten());
    let expected = p.model(numbered(7, 500));
    assert_eq!(expected.len(), 3_150);
    for rings in [Rings::new().workers(1), Rings::new().workers(1).batch(3), Rings::new()] {
        let lines: Vec<OwnedPiece> = rings.collect((&p).from(numbered(7, 500))).unwrap();
        assert_eq!(lines, expected, "{rings:?}");
    }
}

#[test]
fn a_value_with_many_outputs_goes_on_through_the_slots() {
    let p = pipeline::<Block>().lines().flat_map(|line| 0..number(&line));
    let p = p.flat_map(|n| [*n, n + 1]).map(|x| x * 3);
    let numbers = || {
        let numbers = [3, 0, 70_000, 1, 2_000, 0, 0, 5, 9_000].into_iter().chain(std::iter::repeat_n(7, 500));
        [Block::from(numbers.map(|n| format!("{n}\n")).collect::<String>().into_bytes())]
    };
    let expected = p.model(numbers());
    for rings in [Rings::new().workers(1), Rings::new().workers(1).batch(9), Rings::new(), Rings::new().ring(2)] {
        let collected = rings.collect((&p).from(numbers())).unwrap();
        assert!(collected == expected, "{rings:?}");
    }
}

#[test]
fn outputs_without_an_end_do_not_keep_a_run_from_its_end() {
    let p = pipeline::<Block>().lines().flat_map(|_| 0_u64..).map(|x| x * 3);
    let seen = Arc::new(AtomicU64::new(0));
    let sees = seen.clone();
    let run = Rings::new().workers(1).start(p.from(numbered(1, 9)).to_each(move |_, x: &u64| {
        sees.store(*x, Relaxed);
    }));
    let run = run.unwrap();
    while seen.load(Relaxed) < 300_000 {
        std::thread::yield_now();
    }
    run.observe(true);
    run.stopper().stop_now();
    assert_eq!(run.join().report.outcome, RunOutcome::Stopped);
}

#[test]
fn a_stage_of_a_new_clock_speaks_at_end() {
    let p = pipeline::<Block>().lines().map(|line| number(&line) + 1).flat_scan_finish(
        0,
        |sum: &mut u64, x: &u64| {
            *sum += x;
            sum.is_multiple_of(2).then_some(*sum)
        },
        Some,
    );
    let p = p.fold(0, |count, _| *count += 1, |count| count);
    for n in [0, 1, 5_000] {
        for rings in [Rings::new().workers(1), Rings::new()] {
            assert_eq!(rings.collect((&p).from(numbered(1, n))).unwrap(), p.model(numbered(1, n)));
        }
    }
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
    let p = p.named("before").flat_map(move |x| {
        fail("renumbers", *x);
        let x = *x;
        (0..3).map(move |i| {
            fail("outputs", x);
            3 * x + i
        })
    });
    let p = p.named("renumbers").filter_map(move |x| {
        fail("behind", *x);
        (x % 2 == 0).then_some(*x)
    });
    let (p, seen) = (p.named("behind").map(|x| *x), got.clone());
    let end = rings.start(p.from(numbered(10, 1_000)).to_each(move |_, x: &u64| {
        fail("sink", *x);
        seen.fetch_add(1, Relaxed);
    }));
    let end = end.unwrap().join();
    assert_eq!((end.report.outcome, end.report.values), (RunOutcome::Failed, got.load(Relaxed)));
    (end.failure.unwrap().to_string(), got.load(Relaxed))
}

#[test]
fn a_failure_names_the_stage_and_the_number_of_its_clock() {
    let mut all_came = false;
    let cases = [("before", "before", 1_050), ("renumbers", "renumbers", 1_050), ("outputs", "renumbers", 1_050)];
    for (at, stage, most) in cases.into_iter().chain([("behind", "behind", 350), ("sink", "sink", 350)]) {
        for workers in [1, 2] {
            for rings in [Rings::new().workers(workers), Rings::new().workers(workers).batch(64)] {
                let (failed, got) = fails(&rings, at);
                assert_eq!(failed, format!("stage \"{stage}\", number 700: panicked: seven hundred"), "{rings:?}");
                assert!(got <= most, "{got} before {at} on {rings:?}");
                all_came |= got == most && rings == Rings::new().workers(1).batch(64);
            }
        }
    }
    assert!(all_came, "a loop gives what comes before a failure");
}

#[test]
fn a_cut_that_fails_is_the_failure_of_its_block() {
    let cut = |text: &[u8], from: usize| -> Option<Splitter> {
        assert!(!text.starts_with(b"7000\n"), "seven thousand");
        let end = from + text[from..].iter().position(|byte| *byte == b'\n')?;
        Some(Splitter { range: from..end, next: end + 1 })
    };
    let p = pipeline::<Block>().cut(cut).map(|line| number(&line));
    assert_eq!(p.model(numbered(7, 10)), Vec::from_iter(0..70));
    for workers in [1, 2] {
        let failed = Rings::new().workers(workers).collect((&p).from(numbered(100, 100))).unwrap_err();
        assert_eq!(failed.to_string(), "stage \"cut-1\", number 70: panicked: seven thousand");
    }
}

/// Lines in order, whatever happens to the run meanwhile.
fn changes(rings: Rings, change: impl Fn(&millstream_exec::Handle<u64>, u64)) {
    let p = pipeline::<Block>().lines().map(|line| number(&line)).named("number").scan(0_u64, |count, x| {
        *count += 1;
        (*count, *x)
    });
    let check = |next: &mut u64, number: SequenceNumber, (count, x): &(u64, u64)| {
        assert_eq!((number.0, *count, *x), (*next, *next + 1, *next), "no line is lost or comes twice");
        *next += 1;
    };
    let run = rings.start(p.from(numbered(u64::MAX, 5_000)).to_fold(0_u64, check)).unwrap();
    while run.snapshot().unwrap().at() == SequenceNumber(0) {
        std::thread::yield_now();
    }
    (0..30).for_each(|round| change(&run, round));
    let (next, report) = run.drain(Duration::from_secs(60)).unwrap();
    assert_eq!((report.outcome, report.numbers.0, report.values), (RunOutcome::Drained, next, next));
    assert!(next > 0 && next % 5_000 == 0, "each block that was taken came out: {next}");
}

#[test]
fn a_run_is_snapshotted_observed_and_gets_more_workers_within_a_block() {
    for rings in [Rings::new().workers(1), Rings::new(), Rings::new().workers(1).batch(64)] {
        changes(rings, |run, round| {
            let at = run.snapshot().unwrap().at();
            run.observe(round % 4 == 1);
            run.set_workers(1 + round as usize % 3).unwrap();
            assert!(run.snapshot().unwrap().at() >= at);
        });
    }
}

/// What the property below has found: the first stage has read END, its output has no room for END, and the loop goes
/// on.
#[test]
fn a_ready_source_of_one_block_in_small_rings_ends() {
    let lines = || vec![Block::from(b"8\n8\n6\n5\n3\n1\n0\n5\n".to_vec())];
    let sum = |sum: &mut u64, x: &u64| {
        *sum += x;
        *sum
    };
    let numbers = pipeline::<Block>().lines().flat_map(|line| 0..number(&line)).filter(|x| x % 3 != 1);
    let p = numbers.flat_map(|x| vec![*x; *x as usize % 4]).scan(1, sum);
    let rings = Rings::new().workers(1).ring(2);
    assert_eq!(rings.collect_slots((&p).from(source::ready(lines()))).unwrap(), p.model_slots(lines()));
}

proptest! {
    /// Chains of every kind of stage around new clocks, on many settings: the model's slots.
    #[test]
    fn a_loop_through_new_clocks_is_the_model(
        numbers in prop::collection::vec(prop_oneof![9 => 0..9_u64, 1 => 0..3_000_u64], 0..60),
        ring in 0..8_u32,
        batch in 1..200_usize,
        workers in 0..3_usize,
        (ready, set) in any::<(bool, bool)>(),
        chain in 0..4_u8,
    ) {
        let rings = Rings::new().ring(1 << ring);
        let rings = if set { rings.batch(batch) } else { rings };
        let rings = if workers == 0 { rings } else { rings.workers(workers) };
        macro_rules! hold {
            ($p:expr, $values:expr) => {{
                let (p, values) = ($p, $values);
                let slots = if ready {
                    rings.collect_slots((&p).from(source::ready(values.clone())))
                } else {
                    rings.collect_slots((&p).from(values.clone()))
                };
                prop_assert_eq!(slots.unwrap(), p.model_slots(values), "{:?}", rings);
            }};
        }
        let sum = |sum: &mut u64, x: &u64| {
            *sum = sum.wrapping_mul(31) + x;
            *sum
        };
        let text = || numbers.iter().map(|n| Block::from(vec![b"ab\n c\n"[*n as usize % 6]; *n as usize])).collect();
        match chain {
            0 => hold!(
                pipeline::<Block>().lines().flat_map(|line| 0..number(&line)).filter(|x| x % 3 != 1)
                    .flat_map(|x| vec![*x; *x as usize % 4]).scan(1, sum),
                vec![Block::from(numbers.iter().map(|n| format!("{n}\n")).collect::<String>().into_bytes())]
            ),
            1 => hold!(
                pipeline::<u64>().filter_map(|n| (n % 5 != 2).then_some(*n)).scan(1, sum).map(|x| x % 11)
                    .flat_map(|n| vec![*n; *n as usize % 7]).flat_scan(0, |state: &mut u64, x: &u64| {
                        *state += x;
                        (0..*state % 3).collect::<Vec<_>>()
                    }).map(|x| x + 1).fold(0, |all: &mut u64, x| *all = *all * 31 % 1_000_003 + x, |all| all),
                numbers.clone()
            ),
            2 => hold!(
                pipeline::<Block>().lines().map_slice(|line| line.narrow(line.text().trim_ascii()))
                    .map_bytes(|line, out| {
                        out.push(b'<');
                        out.extend(&line);
                    }).filter(|line| line.len() != 3)
                    .fanout(|p| p.map(|line| line.len()), |p| p.filter_map(|line| line.last().copied())),
                Vec::from_iter::<Vec<Block>>(text())
            ),
            _ => hold!(
                pipeline::<Block>().words().map(|word| word.len() as u64).flat_map(|n| 0..*n).delay(5),
                Vec::from_iter::<Vec<Block>>(text())
            ),
        }
    }
}
