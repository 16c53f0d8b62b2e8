use super::message::Queue;
use crate::Queues;
use millstream_core::{
    AnyEdge, Choice, Density, Filtered, Item, Lens, Maybe, Merged, On, Otherwise, Pair, Part, Projected, SameItem,
    Shape, Shows, ToOwnedItem, Tuple, Val,
};

/// A shape whose owned values can be lent to a stage: the reverse of [`ToOwnedItem`]. Nothing to implement.
pub trait LendItem: ToOwnedItem {
    /// The view of a value that a stage receives.
    fn lend(owned: &Self::Owned) -> Self::Ref<'_>;
}

/// A shape that queues carry: every shape of this project whose values are `Clone`, since every reader has its own
/// copy. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "queues carry values that are `Clone`, and those of the edge `{Self}` are not known to be",
    label = "queues are not known to carry `{Self}`",
    note = "a type of your own is `Clone` by `#[derive(Clone)]`",
    note = "a function says that its pipeline ends with such values by `+ Everywhere`",
    note = "a function that follows any edge has `E: EverywhereEdge<..>` for `E: Edge<..>`"
)]
pub trait QueueShape: LendItem + On<Queues, Edge = Queue<<Self as ToOwnedItem>::Owned>> {}
#[diagnostic::do_not_recommend]
impl<F: LendItem + On<Queues, Edge = Queue<<F as ToOwnedItem>::Owned>>> QueueShape for F {}

impl<T: Item + Clone, D: Density> On<Queues> for Val<T, D> {
    type Edge = Queue<T>;
}

impl<T: Item + Clone, D: Density> LendItem for Val<T, D> {
    fn lend(owned: &T) -> &T {
        owned
    }
}

impl<T: Item + Clone> On<Queues> for AnyEdge<T> {
    type Edge = Queue<T>;
}

impl<T: Item + Clone> LendItem for AnyEdge<T> {
    fn lend(owned: &T) -> &T {
        owned
    }
}

impl<A: LendItem, B: LendItem> On<Queues> for Pair<A, B> {
    type Edge = Queue<(A::Owned, B::Owned)>;
}

impl<A: LendItem, B: LendItem> LendItem for Pair<A, B> {
    fn lend((a, b): &Self::Owned) -> Self::Ref<'_> {
        (A::lend(a), B::lend(b))
    }
}

impl<A: LendItem, B: LendItem> On<Queues> for Choice<A, B> {
    type Edge = Queue<<Self as ToOwnedItem>::Owned>;
}

impl<A: LendItem, B: LendItem> LendItem for Choice<A, B> {
    fn lend(owned: &Self::Owned) -> Self::Ref<'_> {
        owned.as_ref().map_either(A::lend, B::lend)
    }
}

impl<A: LendItem, B: LendItem + SameItem<A>> On<Queues> for Merged<A, B> {
    type Edge = Queue<A::Owned>;
}

impl<A: LendItem, B: LendItem + SameItem<A>> LendItem for Merged<A, B> {
    fn lend(owned: &A::Owned) -> A::Ref<'_> {
        A::lend(owned)
    }
}

impl<A: LendItem, B: LendItem + SameItem<A>> On<Queues> for Otherwise<A, B> {
    type Edge = Queue<A::Owned>;
}

impl<A: LendItem, B: LendItem + SameItem<A>> LendItem for Otherwise<A, B> {
    fn lend(owned: &A::Owned) -> A::Ref<'_> {
        A::lend(owned)
    }
}

impl<A: LendItem, T: Item + Clone, C: Shows<A, T>> On<Queues> for Part<A, C, T> {
    type Edge = Queue<T>;
}

impl<A: LendItem, T: Item + Clone, C: Shows<A, T>> LendItem for Part<A, C, T> {
    fn lend(owned: &T) -> &T {
        owned
    }
}

impl<A: LendItem> On<Queues> for Maybe<A> {
    type Edge = Queue<Option<A::Owned>>;
}

impl<A: LendItem> LendItem for Maybe<A> {
    fn lend(owned: &Option<A::Owned>) -> Option<A::Ref<'_>> {
        owned.as_ref().map(A::lend)
    }
}

impl<A: LendItem> On<Queues> for Filtered<A> {
    type Edge = Queue<A::Owned>;
}

impl<A: LendItem> LendItem for Filtered<A> {
    fn lend(owned: &A::Owned) -> A::Ref<'_> {
        A::lend(owned)
    }
}

impl<A: Shape, L: Lens<A, Target: LendItem>> On<Queues> for Projected<A, L> {
    type Edge = Queue<<L::Target as ToOwnedItem>::Owned>;
}

impl<A: Shape, L: Lens<A, Target: LendItem>> LendItem for Projected<A, L> {
    fn lend(owned: &Self::Owned) -> Self::Ref<'_> {
        <L::Target as LendItem>::lend(owned)
    }
}

macro_rules! lend_tuple {
    ($($shape:ident $value:ident),+) => {
        impl<$($shape: LendItem),+> LendItem for Tuple<($($shape,)+)> {
            fn lend(($($value,)+): &Self::Owned) -> Self::Ref<'_> {
                ($($shape::lend($value),)+)
            }
        }
    };
}
lend_tuple!(A a, B b, C c);
lend_tuple!(A a, B b, C c, D d);
lend_tuple!(A a, B b, C c, D d, E e);
lend_tuple!(A a, B b, C c, D d, E e, F f);
lend_tuple!(A a, B b, C c, D d, E e, F f, G g);
lend_tuple!(A a, B b, C c, D d, E e, F f, G g, H h);
