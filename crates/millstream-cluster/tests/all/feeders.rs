//! Feeders that append at once: of the same input, one of which was thought dead, and of different ones.

use crate::schedules::Random;
use millstream_cluster::{Adversary, App, Batch, FeedError, FeedWait, Feeder, Log, MemoryLog, Text};

fn goes_on(_: &FeedWait) -> bool {
    true
}

/// A feeder of an input that begins again where the edge ends.
fn resumed<L: Log + Clone>(log: &L) -> Feeder<L> {
    Feeder::new(log.clone(), true, &mut goes_on).unwrap()
}

fn appends<L: Log>(feeder: &mut Feeder<L>, text: &'static str) -> Result<(), FeedError> {
    feeder.append(text.as_bytes().into(), &mut goes_on)
}

/// The text of the edge, and which of its batches are the last one.
fn fed(log: &MemoryLog) -> (String, Vec<bool>) {
    let entries = log.read_from(App::INPUT, 1, 1000).unwrap().into_iter();
    let batches: Vec<Batch<Text>> = entries.map(|entry| Batch::from_bytes(&entry.bytes).unwrap()).collect();
    let text = batches.iter().flat_map(|batch| &batch.values);
    let text = text.map(|(_, text)| std::str::from_utf8(&text.0).unwrap()).collect();
    (text, batches.iter().map(|batch| batch.end).collect())
}

#[test]
fn a_feeder_that_was_thought_dead_appends_nothing_twice() {
    let log = MemoryLog::default();
    let mut paused = resumed(&log);
    appends(&mut paused, "one ").unwrap();
    let mut next = resumed(&log);
    assert_eq!(next.position(), 4);
    appends(&mut next, "two ").unwrap();
    appends(&mut next, "three ").unwrap();
    appends(&mut paused, "two ").unwrap();
    assert_eq!(paused.position(), 8);
    appends(&mut paused, "three ").unwrap();
    // It may also be the first one again.
    appends(&mut paused, "four ").unwrap();
    appends(&mut next, "four ").unwrap();
    next.end(&mut goes_on).unwrap();
    paused.end(&mut goes_on).unwrap();
    assert_eq!(fed(&log), ("one two three four ".to_owned(), vec![false, false, false, false, true]));
}

#[test]
fn no_text_comes_after_the_end_of_another_feeder() {
    let log = MemoryLog::default();
    let (mut paused, mut next) = (resumed(&log), resumed(&log));
    appends(&mut next, "one ").unwrap();
    next.end(&mut goes_on).unwrap();
    appends(&mut paused, "one ").unwrap();
    assert_eq!(appends(&mut paused, "two "), Err(FeedError::Ended(4)));
    paused.end(&mut goes_on).unwrap();
    assert_eq!(fed(&log), ("one ".to_owned(), vec![false, true]));
}

#[test]
fn a_feeder_of_the_same_input_that_cuts_it_elsewhere_fails() {
    let log = MemoryLog::default();
    let (mut paused, mut next) = (resumed(&log), resumed(&log));
    appends(&mut paused, "one ").unwrap();
    let error = appends(&mut next, "one two ").unwrap_err();
    assert_eq!(error, FeedError::Another(1));
    let says = "batch 1 of the input is another feeder's, or is dropped by now: once that feeder is over, feed this \
                input again, with `--resume`";
    assert_eq!(error.to_string(), says);
    // Started again, it goes on there.
    let mut again = resumed(&log);
    assert_eq!(again.position(), 4);
    appends(&mut again, "two ").unwrap();
    assert_eq!(fed(&log).0, "one two ");
    // One that is far behind cannot compare any more.
    log.trim(App::INPUT, 2).unwrap();
    assert_eq!(appends(&mut next, "one two "), Err(FeedError::Another(1)));
}

#[test]
fn a_feeder_that_is_far_behind_others_goes_on_behind_them() {
    let log = MemoryLog::default();
    let other = || Feeder::new(log.clone(), false, &mut goes_on).unwrap();
    let (mut first, mut second) = (other(), other());
    for _ in 0..3 {
        appends(&mut first, "one ").unwrap();
    }
    // Their entries are read and dropped; the second has no append without an answer.
    log.trim(App::INPUT, 3).unwrap();
    appends(&mut second, "two ").unwrap();
    assert_eq!(fed(&log).0, "one two ");
    assert_eq!(log.last(App::INPUT), Ok(4));
}

#[test]
fn a_feeder_that_waited_for_room_and_was_overtaken_goes_on_behind_the_others() {
    let log = MemoryLog::with_capacity(1);
    let other = || Feeder::new(log.clone(), false, &mut goes_on).unwrap();
    let (mut first, mut second) = (other(), other());
    appends(&mut first, "one ").unwrap();
    // It is stopped while it waits, until the place of its text has another one, which is dropped already.
    let mut looks = 0;
    let fed_after = second.append("two ".into(), &mut |wait| {
        assert_eq!(wait, &FeedWait::Full);
        looks += 1;
        if looks == 1 {
            for number in [2, 3] {
                log.trim(App::INPUT, number).unwrap();
                appends(&mut first, "one ").unwrap();
            }
        } else {
            log.trim(App::INPUT, 4).unwrap();
        }
        true
    });
    assert_eq!((fed_after, log.last(App::INPUT)), (Ok(()), Ok(4)));
    assert_eq!(fed(&log).0, "two ");
}

#[test]
fn a_feeder_whose_batches_are_lost_can_be_stopped_and_fails_if_they_stay_lost() {
    let log = MemoryLog::default();
    let mut feeder = Feeder::new(log.clone(), false, &mut goes_on).unwrap();
    for text in ["one ", "two ", "three "] {
        appends(&mut feeder, text).unwrap();
    }
    log.lose(App::INPUT, 1);
    let mut waits = 0;
    let stopped = feeder.append("four ".into(), &mut |wait| {
        assert!(matches!(wait, FeedWait::Unavailable(_)), "{wait:?}");
        waits += 1;
        waits < 10
    });
    assert_eq!((stopped, waits), (Err(FeedError::Stopped), 10));
    assert_eq!(appends(&mut feeder, "four "), Err(FeedError::Lost { last: 1, known: 3 }));
    // The application was removed, and made again.
    log.lose(App::INPUT, 0);
    assert_eq!(feeder.end(&mut goes_on), Err(FeedError::Lost { last: 0, known: 3 }));
    assert_eq!(log.last(App::INPUT), Ok(0));
    // Once the edge is as long as it was, it goes on.
    let mut other = Feeder::new(log.clone(), false, &mut goes_on).unwrap();
    for text in ["one ", "two ", "three "] {
        appends(&mut other, text).unwrap();
    }
    appends(&mut feeder, "four ").unwrap();
    assert_eq!(fed(&log).0, "one two three four ");
}

#[test]
fn feeders_of_the_same_input_append_it_once_over_a_bad_network() {
    let words: Vec<String> = (0..12).map(|number| format!("{number} ")).collect();
    for seed in 0..500 {
        let (mut random, log) = (Random(seed), Adversary::new(MemoryLog::default(), seed, seed % 60));
        let mut feeders: Vec<_> = (0..2).map(|_| (resumed(&log), 0)).collect();
        while feeders.iter().any(|(_, fed)| *fed <= words.len()) {
            let (feeder, fed) = &mut feeders[random.below(2) as usize];
            match words.get(*fed) {
                Some(word) => feeder.append(word.clone().into(), &mut goes_on).unwrap(),
                None => feeder.end(&mut goes_on).unwrap(),
            }
            *fed += 1;
        }
        let (text, ends) = fed(log.behind());
        assert_eq!((text, ends.len()), (words.concat(), words.len() + 1), "seed {seed}");
        assert!(ends.iter().position(|end| *end) == Some(words.len()), "seed {seed}");
    }
}

#[test]
fn nothing_comes_after_the_end_while_the_answer_to_a_text_is_lost() {
    let mut between = 0;
    for seed in 0..500 {
        let log = Adversary::new(MemoryLog::default(), seed, 50);
        let mut other = Feeder::new(log.clone(), false, &mut goes_on).unwrap();
        let mut feeder = Feeder::new(log.clone(), false, &mut goes_on).unwrap();
        let mut ended = false;
        let first = feeder.append("one ".into(), &mut |_| {
            if !std::mem::replace(&mut ended, true) {
                other.end(&mut goes_on).unwrap();
            }
            true
        });
        other.end(&mut goes_on).unwrap();
        assert!(appends(&mut feeder, "two ").is_err(), "seed {seed}");
        let (text, ends) = fed(log.behind());
        assert_eq!(ends.iter().position(|end| *end), Some(ends.len() - 1), "seed {seed}: {text}");
        assert_eq!(text == "one ", first.is_ok(), "seed {seed}");
        between += u32::from(ended && first.is_ok());
    }
    assert!(between > 20, "{between} ends between a text and its answer prove little");
}
