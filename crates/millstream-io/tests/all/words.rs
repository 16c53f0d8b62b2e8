//! The fast counters agree with the definition, byte by byte, for any cuts of the text.

use millstream_io::text::{Words, is_graphic, is_space, line_ends};
use proptest::prelude::*;

/// The definition: a run without white space is a word if it contains a graphic byte.
fn words_of(text: &[u8]) -> u64 {
    let runs = text.split(|&byte| is_space(byte));
    runs.filter(|run| run.iter().any(|&byte| is_graphic(byte))).count() as u64
}

/// Bytes of all kinds, or words with a rare other byte: the counters use different algorithms for these.
fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![odd_text(), plain_text()]
}

fn plain_text() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        20 => prop::sample::select(b" \n".as_slice()),
        100 => 0x21..=0x7e_u8,
        1 => prop::sample::select([0x00, 0x7f, 0x80, 0xff].as_slice()),
    ];
    prop::collection::vec(byte, 0..1000)
}

/// Bytes that matter are more frequent than in random ones.
fn odd_text() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        3 => prop::sample::select(b" \t\n\x0b\x0c\r".as_slice()),
        3 => 0x21..=0x7e_u8,
        2 => prop::sample::select([0x00, 0x08, 0x0e, 0x1f, 0x20, 0x7f, 0x80, 0xa0, 0xff].as_slice()),
        1 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..600)
}

/// Pieces of the text, each for one read, in order.
fn pieces(text: &[u8], cuts: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).chain([0, text.len()]).collect();
    at.sort_unstable();
    at.windows(2).map(|w| text[w[0]..w[1]].to_vec()).collect()
}

proptest! {
    #[test]
    fn words_do_not_depend_on_cuts(text in text(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let mut words = Words::default();
        for piece in pieces(&text, &cuts) {
            words.read(&piece);
        }
        prop_assert_eq!(words.count(), words_of(&text));
    }

    #[test]
    fn parts_read_apart_add_up(
        text in text(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        joined in 0..13_usize,
    ) {
        let parts: Vec<Words> = pieces(&text, &cuts).iter().map(|piece| {
            let mut words = Words::default();
            words.read(piece);
            words
        }).collect();
        let append = |mut words: Words, next: &Words| { words.append(next); words };
        let (front, back) = parts.split_at(joined.min(parts.len()));
        let back = back.iter().fold(Words::default(), append);
        let all = append(front.iter().fold(Words::default(), append), &back);
        prop_assert_eq!(all.count(), words_of(&text));
    }

    #[test]
    fn line_ends_are_line_feeds(text in text()) {
        prop_assert_eq!(line_ends(&text), text.iter().filter(|&&byte| byte == b'\n').count() as u64);
    }
}

#[test]
fn a_run_that_is_no_word_anywhere() {
    for at in 0..600 {
        for odd in [b" \x80 a".as_slice(), b" \x80 ", b" \x80a ", b"a\x80 "] {
            let mut text = b"ab cde ".repeat(100);
            text[at..at + odd.len()].copy_from_slice(odd);
            let mut words = Words::default();
            words.read(&text);
            assert_eq!(words.count(), words_of(&text), "{odd:?} at {at}");
        }
    }
}

#[test]
fn every_byte_alone_and_between() {
    for byte in 0..=255_u8 {
        for text in [vec![byte], vec![b' ', byte, b' '], vec![b'a', byte, b'b'], vec![0x80, byte, 0x80]] {
            let mut words = Words::default();
            words.read(&text);
            assert_eq!(words.count(), words_of(&text), "{text:?}");
        }
    }
}

#[test]
fn the_carry_runs_through_many_chunks() {
    let mut text = vec![b'x'];
    text.extend([0xff; 1000]);
    let mut words = Words::default();
    words.read(&text);
    assert_eq!(words.count(), 1);
    words.read(b" ");
    assert_eq!(words.count(), 1);
    words.read(b"y");
    assert_eq!(words.count(), 2);
}

#[test]
fn the_classes_are_those_of_c() {
    let of = |is: fn(u8) -> bool| (0..=255_u8).filter(|&byte| is(byte)).collect::<Vec<u8>>();
    assert_eq!(of(is_space), [9, 10, 11, 12, 13, 32]);
    assert_eq!(of(is_graphic), (0x21..=0x7e).collect::<Vec<u8>>());
}
