//! Text on rings and queues: failures at their numbers, folds with a result at END, and no output held back.

use millstream_core::text::{Block, Prefixed, Splitter};
use millstream_core::{Arrow, ModelExt, StreamsExt, TextExt, pipeline};
use millstream_exec::{Inline, JobExt, JobRefExt, Queues, Rings, RunError, Runner, source};
use std::sync::mpsc;

fn block(text: &str) -> Block {
    Block::from(text.as_bytes().to_vec())
}

/// The place and the cause of a run's failure.
fn failure<T>(outcome: Result<T, RunError>) -> (String, Option<u64>, String) {
    match outcome.err() {
        Some(RunError::Stage { stage, number, cause }) => (stage, number.map(|number| number.0), cause.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_writer_that_panics_fails_at_its_number() {
    let text = block(&"line\n".repeat(1000));
    for shards in [1, 3] {
        let p = pipeline::<Block>().lines().enumerate().shard(shards, |p| {
            p.map_bytes(|(number, line), out| {
                assert_ne!(number.0, 777, "not this one");
                out.extend(&line);
            })
            .named("copy")
        });
        for workers in 1..=2 {
            let rings = Rings::new().workers(workers).ring(64);
            let (stage, number, cause) = failure(rings.collect((&p).from([text.clone()])));
            assert_eq!((stage.as_str(), number), ("copy", Some(777)), "{shards} shards, {workers} workers");
            assert!(cause.contains("not this one"), "{cause}");
        }
        assert_eq!(failure(Queues::new().collect((&p).from([text.clone()]))).1, Some(777));
    }
}

#[test]
fn text_that_is_not_utf8_fails_at_its_number() {
    let text = Block::from(b"to\nbe\n\xc3\xa9\nor \xff not\n".to_vec());
    let p = pipeline::<Block>().lines().utf8().named("read").map(|line| line.chars().count());
    let (stage, number, cause) = failure(p.collect([text.clone()]));
    assert_eq!((stage.as_str(), number), ("read", Some(3)));
    assert!(cause.contains("not UTF-8 from byte 3 on"), "{cause}");
    let some = pipeline::<Block>().lines().utf8_or_empty().map(|line| line.chars().count());
    assert_eq!(Rings::new().collect_slots((&some).from([text])).unwrap(), [Some(2), Some(2), Some(1), None, None]);
}

/// It is an error, as that of a function that can fail is, and no panic.
#[test]
fn a_record_that_is_cut_short_fails_at_the_number_of_its_text() {
    let p = pipeline::<Block>().prefixed(Prefixed::BigEndian).map(|record| record.len());
    let text = || Block::from(vec![0, 0, 0, 1, 7, 0, 0, 0, 9, 1]);
    let expected =
        r#"stage "prefixed-1", number 0: the text ends in the middle of a record, which begins 5 bytes before"#;
    for ended in [p.collect([text()]), Queues::new().collect((&p).from([text()]))] {
        let failed = ended.unwrap_err();
        assert_eq!(failed.to_string(), expected);
        assert!(std::error::Error::source(&failed).is_some(), "{failed:?}");
    }
}

#[test]
fn an_invalid_cut_fails_at_the_number_of_its_text() {
    let beyond = |text: &[u8], from: usize| (from == 0).then(|| Splitter { range: 0..text.len() + 1, next: 1 });
    let p = pipeline::<Block>().cut(beyond).named("beyond");
    let (stage, number, cause) = failure(p.collect([block(""), block("a")].into_iter().skip(1)));
    assert_eq!((stage.as_str(), number), ("beyond", Some(0)));
    assert!(cause.contains("cut at 0 and 2, which is not a part of 1 bytes"), "{cause}");
}

#[test]
fn a_folds_result_at_end_is_written_and_cut() {
    let p = pipeline::<u64>()
        .fold(0, |sum, x| *sum += x, |sum| sum)
        .shard(2, |p| p.map_str(|sum, out| out.push_str(&format!("sum {sum}"))))
        .words();
    assert_eq!(p.model(0..5), ["sum", "10"]);
    assert_eq!(p.collect(0..5).unwrap(), ["sum", "10"]);
    assert_eq!(Queues::new().collect((&p).from(0..5)).unwrap(), ["sum", "10"]);
    assert_eq!(Inline::default().collect((&p).from(0..5)).unwrap(), ["sum", "10"]);
}

/// A value of many pieces passes through a ring of one slot, and so does a text that is longer than all that a ring may
/// hold.
#[test]
fn long_texts_go_through_small_rings() {
    let text = "word ".repeat(20_000);
    let p = pipeline::<Block>().words().map(|word| word.len());
    for (ring, batch) in [(1, 1), (2, 5), (1024, 2048)] {
        let rings = Rings::new().ring(ring).batch(batch);
        assert_eq!(rings.collect((&p).from([block(&text)])).unwrap(), vec![4; 20_000]);
    }
    let long = pipeline::<u64>().map_bytes(|n, out| out.extend_with((0..3 << 20).map(|i| (i + n) as u8)));
    let lengths = long.shard(2, |p| p.map_slice(|text| text.part(0..1 << 20).unwrap())).map(|text| text.len());
    assert_eq!(Rings::new().ring(64).collect((&lengths).from(0..9)).unwrap(), vec![1 << 20; 9]);
}

/// A reader that sends one line and waits sees it come out, although the sink buffers.
#[test]
fn no_output_is_held_back_while_no_input_comes() {
    let (lines, given) = mpsc::channel::<Block>();
    let (written, seen) = mpsc::channel::<Vec<u8>>();
    let p = pipeline::<Block>().lines_with_ends().map_bytes(|line, out| out.extend_with(line.iter().rev().copied()));
    let blocks = source::few::<4, _>(given.into_iter());
    let gather = |gathered: &mut Vec<u8>, _, piece: millstream_core::text::Piece<'_>| gathered.extend(&*piece);
    let write = move |gathered: &mut Vec<u8>| {
        if !gathered.is_empty() {
            written.send(std::mem::take(gathered)).unwrap();
        }
    };
    let run = Rings::new().start((&p).from(blocks).to_fold(Vec::new(), gather).on_pause(write)).unwrap();
    for line in ["to be\n", "or not\n"] {
        lines.send(block(line)).unwrap();
        let mut seen_of_it = Vec::new();
        while seen_of_it.len() < line.len() {
            seen_of_it.extend(seen.recv().unwrap());
        }
        assert_eq!(seen_of_it, line.bytes().rev().collect::<Vec<_>>());
    }
    drop(lines);
    assert!(run.wait().unwrap().0.is_empty());
}

/// Pieces that are kept are not overwritten.
#[test]
fn kept_pieces_stay_valid() {
    let p = pipeline::<u64>().map_bytes(|n, out| out.extend(n.to_string().repeat(100).as_bytes())).windows(3);
    let expected = p.model(0..3000);
    assert_eq!(Rings::new().ring(16).collect((&p).from(0..3000)).unwrap(), expected);
    let read = pipeline::<u64>().map_bytes(|n, out| out.extend(&n.to_le_bytes()));
    let kept = Rings::new().ring(16).collect((&read).from(0..100_000)).unwrap();
    assert!(kept.iter().zip(0_u64..).all(|(piece, n)| **piece == n.to_le_bytes()));
}
