//! Stages on text, from one ring of values to another.

use super::edge::{Boxed, Chain};
use super::kind::Kind;
use super::shape::RandomShape;
use super::steps::kept;
use super::tree::Pipe;
use super::value::Value;
use millstream_core::text::Piece;
use millstream_core::{Arrow, TextExt, id};
use std::io::Write;

/// The number of a piece: it depends on every byte.
fn number(text: &str) -> i64 {
    text.bytes().fold(3, |sum, byte| sum.wrapping_mul(7).wrapping_add(i64::from(byte)))
}

/// Text that is written, narrowed, filtered, joined and read, on one clock.
pub(crate) fn text<A: RandomShape>(tree: &Pipe, input: Kind) -> Chain {
    let Pipe::Text { modulus, plus } = *tree else { unreachable!("{tree} is on one clock") };
    let written = id::<A>().filter_map_bytes(move |slot, out| {
        let value = A::value(slot);
        writeln!(out, " {} {plus}", value.digest()).expect("a writer never fails");
        kept(&value, modulus)
    });
    let trimmed = written.map_slice(|line| line.narrow(line.text().trim_ascii())).utf8();
    let halves =
        trimmed.fanout(|p| p.map_str(|text, out| out.push_str(&text[..1])), |p| p.filter(|text| text.len() > 4));
    let stage = halves.map(|(first, all)| Value::pair(Value::I(number(&first)), Value::I(number(&all))));
    Chain::empty(input).then(Boxed::new(stage))
}

/// Text that is written, and split twice.
pub(crate) fn words<A: RandomShape>(tree: &Pipe, input: Kind) -> Chain {
    let Pipe::Words { modulus } = *tree else { unreachable!("{tree} has a new clock") };
    let lines = id::<A>().map_bytes(move |slot, out| {
        let digest = A::value(slot).digest();
        for i in 0..digest.rem_euclid(modulus) {
            let end = if i % 3 == 2 { '\n' } else { ' ' };
            write!(out, "{digest}.{i}{end}").expect("a writer never fails");
        }
    });
    let words = lines.lines().words().map(|word: Piece<'_>| Value::I(number(&word.to_str().expect("digits"))));
    Chain::empty(input).then(Boxed::free(words))
}
