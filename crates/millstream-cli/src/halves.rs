//! Fan-outs of two to twenty ways: the copying workload, for the command and for the benches.

/// A nest of halves, which [`fan_out!`](crate::fan_out) makes. It yields the sum of one number from each half.
///
/// ```
/// use millstream::{cli::{fan_out, halves::Halves}, prelude::*};
/// let p = fan_out!(5, pipeline::<u64>()).map(|halves| halves.total());
/// assert_eq!(p.model([1, 2]), [5, 10]);
/// ```
pub trait Halves {
    /// The sum of the halves' numbers; it wraps around.
    fn total(self) -> u64;
}

impl Halves for &u64 {
    fn total(self) -> u64 {
        *self
    }
}

impl<A: Halves, B: Halves> Halves for (A, B) {
    fn total(self) -> u64 {
        self.0.total().wrapping_add(self.1.total())
    }
}

/// A pipeline whose output fans out into this many halves (1, 2, 3, 4, 5, 8, 10, 16, 20 or 32), by repeated halving.
///
/// See [`Halves`](crate::halves::Halves).
#[macro_export]
macro_rules! fan_out {
    (1, $p:expr) => {
        $p
    };
    (2, $p:expr) => {
        $crate::fan_out!(1, 1, $p)
    };
    (3, $p:expr) => {
        $crate::fan_out!(1, 2, $p)
    };
    (4, $p:expr) => {
        $crate::fan_out!(2, 2, $p)
    };
    (5, $p:expr) => {
        $crate::fan_out!(2, 3, $p)
    };
    (8, $p:expr) => {
        $crate::fan_out!(4, 4, $p)
    };
    (10, $p:expr) => {
        $crate::fan_out!(5, 5, $p)
    };
    (16, $p:expr) => {
        $crate::fan_out!(8, 8, $p)
    };
    (20, $p:expr) => {
        $crate::fan_out!(10, 10, $p)
    };
    (32, $p:expr) => {
        $crate::fan_out!(16, 16, $p)
    };
    ($first:tt, $second:tt, $p:expr) => {
        $p.fanout(|p| $crate::fan_out!($first, p), |p| $crate::fan_out!($second, p))
    };
}
