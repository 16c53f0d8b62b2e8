//! Stages that keep a state and their clock.

use super::edge::{Boxed, Chain, then_called};
use super::kind::{F, H, Kind, MF, MH, Mpff, Mtf, Pff, TF, Whole};
use super::leaf::{copied, on_ring};
use super::shape::{Element, RandomShape, of_slot};
use super::steps::{kept, mapped};
use super::streak::Streak;
use super::value::Value;
use millstream_core::{Arrow, Filtered, KernelsExt, StreamsExt, id};
use std::fmt;

/// The stages of [`StreamsExt`]; none of them is stateless.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// The first values. At the outer level the stream ends after them; in a body the following slots are empty.
    Take(usize),
    /// As [`Stream::Take`], with the values before the first one whose digest is divisible by the modulus, at least 1.
    TakeWhile(i64),
    /// All but the first values.
    Skip(usize),
    /// The values from the first one on whose digest is divisible by the modulus, at least 1.
    SkipWhile(i64),
    /// The digest modulo this number, at least 1, if it differs from the one before.
    Dedup(i64),
    /// A list of this many values, at least 1, at the last of them; at END the remaining ones.
    Chunks(usize),
    /// At every value the list of the last values, this many, at least 1; nothing before there are that many.
    Windows(usize),
    /// As [`Stream::Windows`], by a function that borrows the values.
    MapWindows(usize),
    /// The value before, and the value.
    Pairwise,
    /// The number, and the value.
    Enumerate,
    /// The same values.
    Inspect,
    /// The number `digest * 31` plus this one.
    MapM(i64),
    /// How many values in a row have a digest that the modulus, at least 1, does not divide: a kernel
    /// as a program defines one.
    Streak(i64),
}

impl Stream {
    /// Whether it fills a slot only if its input is filled.
    #[must_use]
    pub fn is_quiet(self) -> bool {
        !matches!(self, Stream::Chunks(_))
    }

    /// Whether another stage follows the one with the state.
    pub(super) fn is_followed(self) -> bool {
        matches!(self, Stream::Chunks(_) | Stream::Windows(_) | Stream::Pairwise)
    }

    /// Whether it can end the stream at the outer level.
    #[must_use]
    pub fn ends(self) -> bool {
        matches!(self, Stream::Take(_) | Stream::TakeWhile(_))
    }
}

/// The stage; one that another one follows in its box has this name.
pub(crate) fn stream(stage: Stream, input: Kind, name: Option<&str>) -> Chain {
    match stage {
        Stream::Take(_) | Stream::TakeWhile(_) | Stream::Skip(_) | Stream::SkipWhile(_) => filtered(stage, input),
        Stream::Dedup(modulus) => {
            let rest = on_ring(input, |input| match input {
                Kind::Whole(Whole::F) => rest::<F>(modulus, input),
                _ => rest::<H>(modulus, input),
            });
            let differing = filtered(stage, rest.output);
            rest.followed_by(differing)
        }
        _ => on_ring(input, |input| match input {
            Kind::Whole(Whole::F) => stateful::<F>(stage, input, name),
            _ => stateful::<H>(stage, input, name),
        }),
    }
}

fn rest<A: RandomShape>(modulus: i64, input: Kind) -> Chain {
    let rest = id::<A>().map(move |slot| of_slot::<A, _>(slot, |value| value.like(value.digest().rem_euclid(modulus))));
    Chain::empty(input).then(Boxed::new(rest))
}

fn stateful<A: RandomShape>(stage: Stream, input: Kind, name: Option<&str>) -> Chain {
    fn list<E: Element>(list: &[E]) -> Value {
        Value::List(list.iter().map(E::value).collect())
    }
    let chain = Chain::empty(input);
    match stage {
        Stream::Chunks(n) => {
            then_called!(chain, name, id::<A>().chunks(n), |chunks| Boxed::new(chunks.map(|values| list(values))))
        }
        Stream::Windows(n) => {
            then_called!(chain, name, id::<A>().windows(n), |windows| Boxed::new(windows.map(|values| list(values))))
        }
        Stream::MapWindows(n) => chain.then(Boxed::new(id::<A>().map_windows(n, list))),
        Stream::Pairwise => {
            then_called!(chain, name, id::<A>().pairwise(), |pairs| {
                Boxed::new(pairs.map(|(before, now)| Value::pair(before.value(), A::value(now))))
            })
        }
        Stream::Enumerate => {
            let numbered = id::<A>().enumerate();
            let pairs = numbered.map(|(number, value)| Value::pair(Value::I(number.0 as i64), A::value(value)));
            chain.then(Boxed::new(pairs))
        }
        Stream::Inspect => chain.then(Boxed::new(id::<A>().inspect(|_| ()).map(|slot| A::value(slot)))),
        Stream::MapM(plus) => {
            chain.then(Boxed::new(id::<A>().map_m(move |slot| of_slot::<A, _>(slot, |value| mapped(value, plus)))))
        }
        Stream::Streak(modulus) => chain.then(Boxed::new(id::<A>().scan_with(Streak::new(modulus)))),
        _ => unreachable!("{stage} is a filter"),
    }
}

/// A filter with a state. It follows a copy if random pipelines do not have the filtered shape of its input.
fn filtered(stage: Stream, input: Kind) -> Chain {
    fn on<A: RandomShape>(stage: Stream) -> Boxed<A, Filtered<A>> {
        let id = id::<A>();
        match stage {
            Stream::Take(n) => Boxed::new(id.take(n)),
            Stream::TakeWhile(modulus) => Boxed::new(id.take_while(move |slot| kept(&A::value(slot), modulus))),
            Stream::Skip(n) => Boxed::new(id.skip(n)),
            Stream::SkipWhile(modulus) => Boxed::new(id.skip_while(move |slot| kept(&A::value(slot), modulus))),
            _ => Boxed::new(id.dedup()),
        }
    }
    let chain = Chain::empty(input);
    match input {
        Kind::Whole(Whole::F) => chain.then::<F, MF, _>(on(stage)),
        Kind::Whole(Whole::H) => chain.then::<H, MH, _>(on(stage)),
        Kind::Whole(Whole::TF) => chain.then::<TF, Mtf, _>(on(stage)),
        Kind::Whole(Whole::Pff) => chain.then::<Pff, Mpff, _>(on(stage)),
        _ => {
            let copied = copied(input);
            let filtered = filtered(stage, copied.output);
            copied.followed_by(filtered)
        }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stream::Take(n) => write!(f, "take({n})"),
            Stream::TakeWhile(modulus) => write!(f, "take_while({modulus})"),
            Stream::Skip(n) => write!(f, "skip({n})"),
            Stream::SkipWhile(modulus) => write!(f, "skip_while({modulus})"),
            Stream::Dedup(modulus) => write!(f, "dedup({modulus})"),
            Stream::Chunks(n) => write!(f, "chunks({n})"),
            Stream::Windows(n) => write!(f, "windows({n})"),
            Stream::MapWindows(n) => write!(f, "map_windows({n})"),
            Stream::Pairwise => write!(f, "pairwise"),
            Stream::Enumerate => write!(f, "enumerate"),
            Stream::Inspect => write!(f, "inspect"),
            Stream::MapM(plus) => write!(f, "map_m({plus})"),
            Stream::Streak(modulus) => write!(f, "streak({modulus})"),
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
