//! Loops over batches, compiled a second time for wider vectors.

/// A loop that changes a `T`.
///
/// The `T` is passed apart from everything else. The compiler knows that a reference does not point into a slot only if
/// the reference is itself an argument; without that it cannot process several slots at a time.
pub(crate) trait Loop<T: ?Sized> {
    type Output;

    /// Must be `#[inline(always)]`: a function that is not inlined is compiled for any machine.
    fn run(self, state: &mut T) -> Self::Output;
}

/// Runs a loop as compiled for the widest vectors of this machine, among those that are tried: on x86-64 a build for
/// any machine uses 128 bits, and nearly every machine has 256. The results are the same bit by bit: no operation is
/// fused with another, and none is reordered. A build with debug assertions has no second copy: it does not optimise,
/// and the copies would take a tenth of its time.
#[inline(always)]
pub(crate) fn vectorised<T: ?Sized, L: Loop<T>>(state: &mut T, work: L) -> L::Output {
    #[cfg(all(target_arch = "x86_64", not(target_feature = "avx2"), not(debug_assertions), not(miri), not(loom)))]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: this machine has the feature that the function is compiled for.
        return unsafe { with_avx2(state, work) };
    }
    work.run(state)
}

#[cfg(all(
    target_arch = "x86_64",
    not(target_feature = "avx2"),
    any(test, not(debug_assertions)),
    not(miri),
    not(loom)
))]
#[target_feature(enable = "avx2")]
fn with_avx2<T: ?Sized, L: Loop<T>>(state: &mut T, work: L) -> L::Output {
    work.run(state)
}

/// A [`Loop`] that changes three things, each passed apart.
pub(crate) trait Loop3<A: ?Sized, B: ?Sized, C: ?Sized> {
    /// As [`Loop::run`].
    fn run(self, a: &mut A, b: &mut B, c: &mut C);
}

/// As [`vectorised`].
#[inline(always)]
pub(crate) fn vectorised3<A: ?Sized, B: ?Sized, C: ?Sized>(a: &mut A, b: &mut B, c: &mut C, work: impl Loop3<A, B, C>) {
    #[cfg(all(target_arch = "x86_64", not(target_feature = "avx2"), not(debug_assertions), not(miri), not(loom)))]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: this machine has the feature that the function is compiled for.
        return unsafe { with_avx2_3(a, b, c, work) };
    }
    work.run(a, b, c);
}

#[cfg(all(target_arch = "x86_64", not(target_feature = "avx2"), not(debug_assertions), not(miri), not(loom)))]
#[target_feature(enable = "avx2")]
fn with_avx2_3<A: ?Sized, B: ?Sized, C: ?Sized>(a: &mut A, b: &mut B, c: &mut C, work: impl Loop3<A, B, C>) {
    work.run(a, b, c);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Loop, vectorised};

    /// A product and a sum that a fused operation would round once, and a sum that depends on its order.
    struct Sum<'a>(&'a [f64]);

    impl Loop<f64> for Sum<'_> {
        type Output = u64;

        #[inline(always)]
        fn run(self, sum: &mut f64) -> u64 {
            self.0.iter().for_each(|x| *sum += x * 1.1 + 0.3);
            sum.to_bits()
        }
    }

    #[test]
    fn wider_vectors_change_no_bit() {
        let values: Vec<f64> = (1..1000).map(|n| 1.0 / f64::from(n)).collect();
        let expected = Sum(&values).run(&mut 0.1);
        assert_eq!(vectorised(&mut 0.1, Sum(&values)), expected);
        #[cfg(all(target_arch = "x86_64", not(target_feature = "avx2"), not(miri)))]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: this machine has the feature.
            assert_eq!(unsafe { super::with_avx2(&mut 0.1, Sum(&values)) }, expected);
        }
    }
}
