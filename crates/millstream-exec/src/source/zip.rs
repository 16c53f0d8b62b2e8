use super::Source;
use millstream_core::Item;

/// Two sources side by side. See [`zip`].
#[derive(Clone, Debug)]
pub struct Zip<X, Y> {
    first: X,
    second: Y,
}

/// Two sources, joined by number: value n of the one with value n of the other. It ends when one of them does; what the
/// other one has then is left in it, apart from at most one value of the first.
///
/// One value of each is asked for in turn, the first source's first, by whoever runs the source. So nothing is kept,
/// the slower one sets the pace, and a failure of either fails the run at the pair's number.
///
/// **Sources that wait**: a join that is determinate waits for the source whose turn it is, whatever the others have. Values
/// can come through bounded channels, whose receivers are iterators: each from a thread of its own, or from one that sends to
/// both in the order in which they are wanted. One thread that sends more to the one channel than fits, before it sends to
/// the other one, waits for ever: no bounded join can help it.
///
/// ```
/// use millstream_core::pipeline;
/// use millstream_exec::{Rings, Run, source};
/// let p = pipeline::<(u64, char)>().map(|(n, c)| format!("{n}{c}"));
/// # use millstream_core::Arrow;
/// assert_eq!(p.collect(&Rings::new(), source::zip(0.., ['a', 'b']))?, ["0a", "1b"]);
/// # Ok::<(), millstream_exec::RunError>(())
/// ```
pub fn zip<X, Y>(first: X, second: Y) -> Zip<X, Y> {
    Zip { first, second }
}

impl<A: Item, B: Item, X: Source<A>, Y: Source<B>> Source<(A, B)> for Zip<X, Y> {
    type Values = std::iter::Zip<X::Values, Y::Values>;
    const WAITS: bool = X::WAITS || Y::WAITS;

    fn values(self) -> Self::Values {
        self.first.values().zip(self.second.values())
    }
}
