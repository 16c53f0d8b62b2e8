//! The shapes of the edges of random pipelines: a type for each, a name for it, and the way from name to type.

use super::value::Value;
use millstream_core::{AnyEdge, AtEnd, Choice, Dense, Either, Filtered, Lane, Merged, Pair, Sparse, Val};
use std::any::TypeId;

pub(crate) type F = Val<Value, Dense>;
pub(crate) type H = Val<Value, Sparse>;
/// The output of a fold.
pub(crate) type N = Val<Value, AtEnd>;
/// Tuples in one ring.
pub(crate) type TF = Val<(Value, Value), Dense>;
pub(crate) type TH = Val<(Value, Value), Sparse>;
/// Choices in one ring.
pub(crate) type EF = Val<Either<Value, Value>, Dense>;
pub(crate) type EH = Val<Either<Value, Value>, Sparse>;
/// The output of a lane of a choice.
pub(crate) type LF = Val<Value, Lane<Dense>>;
pub(crate) type LH = Val<Value, Lane<Sparse>>;
/// Two lanes side by side.
pub(crate) type Cll = Choice<LF, LF>;
pub(crate) type Clh = Choice<LF, H>;
pub(crate) type Chl = Choice<H, LF>;
pub(crate) type Chh = Choice<H, H>;
pub(crate) type Oll = Merged<LF, LF>;
pub(crate) type Olh = Merged<LF, H>;
pub(crate) type Ohl = Merged<H, LF>;
pub(crate) type Ohh = Merged<H, H>;
pub(crate) type MF = Filtered<F>;
pub(crate) type MH = Filtered<H>;
pub(crate) type Mtf = Filtered<TF>;
/// Two rings side by side.
pub(crate) type Pff = Pair<F, F>;
pub(crate) type Pfh = Pair<F, H>;
pub(crate) type Phf = Pair<H, F>;
pub(crate) type Phh = Pair<H, H>;
pub(crate) type Pnn = Pair<N, N>;
pub(crate) type Pmf = Pair<MF, F>;
pub(crate) type Phm = Pair<H, MF>;
pub(crate) type Mpff = Filtered<Pff>;
/// The output of a box of the library.
pub(crate) type Any = AnyEdge<Value>;
pub(crate) type MAny = Filtered<Any>;

/// The name of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Whole(Whole),
    /// The first half of a whole.
    First(Whole),
    /// The second half of a whole.
    Second(Whole),
    /// The left lane of a whole.
    Left(Whole),
    /// The right lane of a whole.
    Right(Whole),
}

/// The name of a shape that a pipeline's output can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    F,
    H,
    N,
    TF,
    TH,
    MF,
    MH,
    Mtf,
    Pff,
    Pfh,
    Phf,
    Phh,
    Pnn,
    Pmf,
    Phm,
    Mpff,
    EF,
    EH,
    LF,
    LH,
    Cll,
    Clh,
    Chl,
    Chh,
    Oll,
    Olh,
    Ohl,
    Ohh,
    Any,
    MAny,
}

impl Whole {
    /// The name of a shape, if it has one.
    pub(crate) fn of<S: 'static>() -> Option<Self> {
        macro_rules! find {
            ($($kind:ident)*) => {
                [$((Whole::$kind, TypeId::of::<$kind>())),*]
                    .into_iter()
                    .find(|(_, id)| *id == TypeId::of::<S>())
            };
        }
        let found =
            find!(F H N TF TH MF MH Mtf Pff Pfh Phf Phh Pnn Pmf Phm Mpff EF EH LF LH Cll Clh Chl Chh Oll Olh Ohl Ohh);
        let found = found.or_else(|| find!(Any MAny));
        found.map(|(whole, _)| whole)
    }

    /// Whether its slots are pairs, which `both` can take apart.
    pub(crate) fn has_halves(self) -> bool {
        use Whole::{Mpff, Mtf, Pff, Pfh, Phf, Phh, Phm, Pmf, Pnn, TF, TH};
        matches!(self, TF | TH | Mtf | Pff | Pfh | Phf | Phh | Pnn | Pmf | Phm | Mpff)
    }

    /// Whether its slots are choices, which `choose` and `merge` can take apart.
    pub(crate) fn has_lanes(self) -> bool {
        matches!(self, Whole::EF | Whole::EH | Whole::Cll | Whole::Clh | Whole::Chl | Whole::Chh)
    }

    /// Two edges side by side; `None` if that shape is not among these.
    pub(crate) fn pair(first: Whole, second: Whole) -> Option<Self> {
        Some(match (first, second) {
            (Whole::F, Whole::F) => Whole::Pff,
            (Whole::F, Whole::H) => Whole::Pfh,
            (Whole::H, Whole::F) => Whole::Phf,
            (Whole::H, Whole::H) => Whole::Phh,
            (Whole::N, Whole::N) => Whole::Pnn,
            (Whole::MF, Whole::F) => Whole::Pmf,
            (Whole::H, Whole::MF) => Whole::Phm,
            _ => return None,
        })
    }
}

/// Evaluates the expression with the shape of a `Whole`.
macro_rules! with_whole {
    ($whole:expr, $shape:ident => $body:expr) => {
        $crate::random::kind::with!($whole, Whole, $shape => $body;
            F H N TF TH MF MH Mtf Pff Pfh Phf Phh Pnn Pmf Phm Mpff EF EH LF LH Cll Clh Chl Chh Oll Olh Ohl Ohh Any MAny)
    };
}

/// Evaluates the expression with a shape that has halves, or the second expression for any other shape.
macro_rules! with_halved {
    ($whole:expr, $shape:ident => $body:expr, $otherwise:expr) => {
        $crate::random::kind::with!($whole, Whole, $shape => $body;
            TF TH Mtf Pff Pfh Phf Phh Pnn Pmf Phm Mpff; $otherwise)
    };
}

/// Evaluates the expression with a shape that has lanes, or the second expression for any other shape.
macro_rules! with_laned {
    ($whole:expr, $shape:ident => $body:expr, $otherwise:expr) => {
        $crate::random::kind::with!($whole, Whole, $shape => $body; EF EH Cll Clh Chl Chh; $otherwise)
    };
}

/// Evaluates the expression with the shapes of the halves of a pair of rings.
macro_rules! with_pair {
    ($whole:expr, $first:ident, $second:ident => $body:expr) => {
        $crate::random::kind::with_pair_of!($whole, $first, $second => $body;
            Pff(F, F) Pfh(F, H) Phf(H, F) Phh(H, H) Pnn(N, N) Pmf(MF, F) Phm(H, MF))
    };
}

/// Evaluates the expression with the shape of a `Kind`.
macro_rules! with_kind {
    ($kind:expr, $shape:ident => $body:expr) => {
        match $kind {
            $crate::random::kind::Kind::Whole(whole) => $crate::random::kind::with_whole!(whole, $shape => $body),
            $crate::random::kind::Kind::First(whole) => $crate::random::kind::with_halved!(whole, Halved => {
                type $shape = millstream_core::Projected<Halved, millstream_core::lens::First>;
                $body
            }, unreachable!("{whole:?} has no halves")),
            $crate::random::kind::Kind::Second(whole) => $crate::random::kind::with_halved!(whole, Halved => {
                type $shape = millstream_core::Projected<Halved, millstream_core::lens::Second>;
                $body
            }, unreachable!("{whole:?} has no halves")),
            $crate::random::kind::Kind::Left(whole) => $crate::random::kind::with_laned!(whole, Laned => {
                type $shape = millstream_core::Projected<Laned, millstream_core::lens::Left>;
                $body
            }, unreachable!("{whole:?} has no lanes")),
            $crate::random::kind::Kind::Right(whole) => $crate::random::kind::with_laned!(whole, Laned => {
                type $shape = millstream_core::Projected<Laned, millstream_core::lens::Right>;
                $body
            }, unreachable!("{whole:?} has no lanes")),
        }
    };
}

macro_rules! with {
    ($name:expr, $names:ident, $shape:ident => $body:expr; $($kind:ident)* $(; $otherwise:expr)?) => {
        match $name {
            $($crate::random::kind::$names::$kind => {
                type $shape = $crate::random::kind::$kind;
                $body
            })*
            $(_ => $otherwise,)?
        }
    };
}

macro_rules! with_pair_of {
    ($name:expr, $first:ident, $second:ident => $body:expr; $($kind:ident($a:ident, $b:ident))*) => {
        match $name {
            $($crate::random::kind::Whole::$kind => {
                type $first = $crate::random::kind::$a;
                type $second = $crate::random::kind::$b;
                $body
            })*
            other => unreachable!("{other:?} is not a pair of rings"),
        }
    };
}

pub(crate) use {with, with_halved, with_kind, with_laned, with_pair, with_pair_of, with_whole};
