//! Keys that are parts of the values: what is kept of them is what an owned key leaves.

use crate::as_the_model::as_the_model;
use millstream_core::{Arrow, BorrowedKeysExt, Bound, KeysExt, Model, ModelExt, Window, WindowsExt, pipeline};
use millstream_exec::{Durable, Inline, JobRefExt, Queues, Rings, Runner, Snapshot, source};
use std::sync::{Arc, Mutex};

fn words(from: u64) -> Vec<String> {
    (from..200).map(|n| format!("word {}", n * n % 11)).collect()
}

/// Runs the first, and goes on from every snapshot with the second, by way of bytes.
macro_rules! goes_on {
    ($first:expr, $second:expr) => {{
        let (first, second) = ($first, $second);
        let taken = Arc::new(Mutex::new(Vec::<Snapshot>::new()));
        let kept = taken.clone();
        let rings = Rings::new().batch(5).workers(2).snapshot_every(23, move |one| kept.lock().unwrap().push(one));
        let whole = Durable::new(rings).collect_slots((&first).from(source::ready(words(0)))).unwrap();
        assert_eq!(whole, second.model_slots(words(0)));
        let taken = std::mem::take(&mut *taken.lock().unwrap());
        assert!(!taken.is_empty());
        for snapshot in taken {
            let (at, output) = (snapshot.at().0, snapshot.output_at().unwrap().0 as usize);
            let read = Snapshot::from_bytes(&snapshot.to_bytes().unwrap()).unwrap();
            let rings = Durable::new(Rings::new().ring(64).resume(read));
            let rest = rings.collect_slots((&second).from(source::ready(words(at)))).unwrap();
            assert_eq!(rest[output..], whole[output..], "from {at}");
        }
    }};
}

#[test]
fn a_run_with_owned_keys_goes_on_with_borrowed_ones_and_the_other_way_round() {
    let (owned, borrowed) = (
        || pipeline::<String>().count_by(String::clone).named("counts"),
        || pipeline::<String>().count_by_ref(String::as_str).named("counts"),
    );
    goes_on!(owned(), borrowed());
    goes_on!(borrowed(), owned());
    let longest = |longest: &mut usize, word: &String| *longest = word.len().max(*longest);
    let (owned, borrowed) = (
        || pipeline::<String>().fold_by(String::clone, 0, longest, |length| length).named("longest"),
        || pipeline::<String>().fold_by_ref(String::as_str, 0, longest, |length| length).named("longest"),
    );
    goes_on!(owned(), borrowed());
    goes_on!(borrowed(), owned());
    let tens = Window::tumbling(10).lateness(30);
    let time = |word: &String| word.bytes().map(u64::from).sum::<u64>() % 40;
    let (owned, borrowed) = (
        || pipeline::<String>().fold_windows_by(String::clone, tens, time, 0, longest).named("longest"),
        || pipeline::<String>().fold_windows_by_ref(String::as_str, tens, time, 0, longest).named("longest"),
    );
    goes_on!(owned(), borrowed());
    goes_on!(borrowed(), owned());
    macro_rules! numbered {
        ($shard_by:ident, $key:expr) => {
            pipeline::<String>().$shard_by(Bound::forget(5), $key, 3, |p| {
                p.scan(0, |n, word| {
                    *n += 1;
                    format!("{word} {n}")
                })
                .named("number")
            })
        };
    }
    let (owned, borrowed) = (
        || numbered!(shard_by_within, String::clone).named("keys"),
        || numbered!(shard_by_ref_within, |word: &String| word.as_str()).named("keys"),
    );
    goes_on!(owned(), borrowed());
    goes_on!(borrowed(), owned());
}

#[test]
fn a_field_a_value_and_a_slice_are_keys() {
    let pairs = [("a", 1), ("b", 2), ("a", 3)].map(|(name, x)| (name.to_owned(), x));
    let groups = pipeline::<(String, u64)>().group_by_ref(|(name, _)| name.as_str());
    let [a, b] = [&pairs[0], &pairs[1]].map(|pair| pair.0.clone());
    let expected = vec![(a, vec![pairs[0].clone(), pairs[2].clone()]), (b, vec![pairs[1].clone()])];
    assert_eq!(Inline::default().collect((&groups).from(pairs.clone())).unwrap(), [expected]);

    let evens = pipeline::<u64>().count_by_ref(|x| x);
    assert_eq!(Rings::new().collect((&evens).from([4, 2, 4])).unwrap(), [[(2, 1), (4, 2)]]);

    let starts = pipeline::<Vec<u8>>().shard_by_ref(
        |bytes| &bytes[..1],
        2,
        |p| {
            p.scan(0, |n, _| {
                *n += 1;
                *n
            })
        },
    );
    let values = ["ab", "b", "ac", "bd"].map(|text| text.as_bytes().to_vec());
    assert_eq!(Rings::new().collect((&starts).from(values)).unwrap(), [1, 1, 2, 2]);
}

#[test]
fn every_deployment_finds_borrowed_keys_also_inside_others() {
    macro_rules! numbered {
        ($p:expr) => {
            $p.shard_by_ref(
                |word| &word.as_bytes()[word.len() - 1..],
                2,
                |p| {
                    p.scan(0, |n, word| {
                        *n += 1;
                        format!("{word} {n}")
                    })
                },
            )
        };
    }
    let words = || pipeline::<u64>().map(|n| format!("word {}", n * n % 11));
    as_the_model!(numbered!(words()));
    as_the_model!(words().shard_by_ref(String::as_str, 3, |p| numbered!(p)));
    as_the_model!(words().group_by_ref(String::as_str));
    let lengths = |sum: &mut usize, word: &String| *sum += word.len();
    let time = |word: &String| word.bytes().map(u64::from).sum::<u64>() % 40;
    as_the_model!(words().fold_windows_by_ref(String::as_str, Window::tumbling(7).lateness(9), time, 0, lengths));
    let visits = Window::session(3).lateness(9);
    let join = |sum: &mut usize, later| *sum += later;
    as_the_model!(words().fold_sessions_by_ref(String::as_str, visits, time, 0, lengths, join));
}

#[test]
fn a_borrowed_key_too_many_is_refused() {
    macro_rules! refused {
        ($p:expr) => {{
            let (p, words) = ($p, || ["a", "b", "a", "c"].map(str::to_owned));
            let refused = "there are 2 keys, and this value would add one";
            // The model has all slots at once, and no number.
            let error = Model.collect((&p).from(words())).unwrap_err().to_string();
            assert!(error.contains(refused), "{error}");
            for error in [
                Inline::default().collect((&p).from(words())).unwrap_err().to_string(),
                Rings::new().workers(2).collect((&p).from(words())).unwrap_err().to_string(),
            ] {
                assert!(error.contains(&format!("number 3: {refused}")), "{error}");
            }
        }};
    }
    refused!(pipeline::<String>().count_by_ref_within(2, String::as_str));
    refused!(pipeline::<String>().group_by_ref_within(2, String::as_str));
    refused!(pipeline::<String>().fold_by_ref_within(2, String::as_str, 0, |n, _| *n += 1, |n| n));
    refused!(pipeline::<String>().shard_by_ref_within(Bound::refuse(2), String::as_str, 2, |p| p.map(String::len)));
}
