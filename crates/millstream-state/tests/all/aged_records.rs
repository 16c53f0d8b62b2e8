//! Answers of effects, and dead letters, that an earlier version of this crate has kept.

use millstream::prelude::*;
use millstream::state::StateDir;
use millstream::state::dead_letters::{KeptLetter, KeptLetters};
use millstream::state::effects::{EffectKey, Effects, Unknown};
use millstream::state::journal::JournalOptions;
use serde::{Deserialize, Serialize};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// An answer with a field of each kind that has a form of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Receipt {
    id: u64,
    text: String,
    discount: Option<i32>,
    lines: Vec<(u8, f64)>,
}

fn receipt(number: u64) -> Receipt {
    let lines = (0..number).map(|line| (line as u8, line as f64 / 4.0)).collect();
    let discount = number.is_multiple_of(2).then_some(-5 - number as i32);
    Receipt { id: 1 << (number * 15), text: format!("number {number}, ä"), discount, lines }
}

/// The numbers at which `charge` has an answer, has an intent alone, and at which there is a letter.
const CHARGED: [u64; 3] = [0, 1, 2];
const IN_DOUBT: u64 = 3;
const LETTERS: [(u64, &str); 2] = [(1, "x"), (40_000, " 3")];

fn open(home: &Path) -> (StateDir, Effects, KeptLetters) {
    let state = StateDir::open(home, "records").unwrap();
    let (effects, _) = Effects::open(&state, JournalOptions::default()).unwrap();
    let letters = KeptLetters::open(&state, JournalOptions::default()).unwrap();
    (state, effects, letters)
}

/// What the fixture was written with.
fn write(home: &Path) {
    let (_state, effects, letters) = open(home);
    let charge = effects.recorded("charge", Unknown::fail(), |key, _: &u64| {
        assert_ne!(key.number(), IN_DOUBT, "the end of this process");
        receipt(key.number())
    });
    let price = effects.recorded("price", Unknown::retry(), |_, x: &u64| x * 100);
    for number in CHARGED {
        charge((&SequenceNumber(number), &0)).unwrap();
        price((&SequenceNumber(number), &number)).unwrap();
    }
    catch_unwind(AssertUnwindSafe(|| charge((&SequenceNumber(IN_DOUBT), &0)))).unwrap_err();
    let take = letters.taking::<String, std::num::ParseIntError>();
    for (number, input) in LETTERS {
        let (input, fault) = (input.to_owned(), Fault::Error("x".parse::<u8>().unwrap_err()));
        take(DeadLetter { stage: "parse", number: SequenceNumber(number), input: &input, fault: &fault });
    }
}

fn has_what_was_written(home: &Path) {
    for _ in 0..2 {
        let (_state, effects, letters) = open(home);
        let none = |key: &EffectKey, _: &u64| -> Receipt { panic!("{key} is performed again") };
        let charge = effects.recorded("charge", Unknown::fail(), none);
        let price = effects.recorded("price", Unknown::retry(), |key, _: &u64| -> u64 { panic!("{key} again") });
        for number in CHARGED {
            assert_eq!(charge((&SequenceNumber(number), &0)), Ok(receipt(number)));
            assert_eq!(price((&SequenceNumber(number), &0)), Ok(number * 100));
        }
        let unknown = charge((&SequenceNumber(IN_DOUBT), &0)).unwrap_err();
        assert_eq!(unknown.key.to_string(), "records/charge/3");
        let kept: Vec<KeptLetter> = letters.list();
        let seen: Vec<(u64, &str)> = kept.iter().map(|letter| (letter.number, postcard_text(&letter.input))).collect();
        assert_eq!(seen, LETTERS);
        assert!(kept.iter().all(|letter| letter.stage == "parse" && letter.why == "invalid digit found in string"));
    }
}

/// A short text as postcard writes it: its length, and its bytes.
fn postcard_text(bytes: &[u8]) -> &str {
    let (length, text) = bytes.split_first().unwrap();
    assert_eq!(usize::from(*length), text.len());
    std::str::from_utf8(text).unwrap()
}

/// The fixture is the directory that `write` has made, with a journal of format 2.
#[test]
fn answers_and_letters_of_every_format_are_read_for_ever() {
    let home = tempfile::tempdir().unwrap();
    let fresh = home.path().join("fresh");
    write(&fresh);
    has_what_was_written(&fresh);
    let aged = home.path().join("aged");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-2-records");
    for below in ["effects", "dead-letters"] {
        fs::create_dir_all(aged.join(below)).unwrap();
        for entry in fs::read_dir(fixture.join(below)).unwrap().map(Result::unwrap) {
            fs::copy(entry.path(), aged.join(below).join(entry.file_name())).unwrap();
        }
    }
    fs::copy(fixture.join("job"), aged.join("job")).unwrap();
    has_what_was_written(&aged);
}
