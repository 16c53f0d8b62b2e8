//! Shapes whose slots lend one reference each.

use super::{AnyEdge, Filtered, Item, Lens, Merged, Otherwise, Part, Projected, SameItem, Shape, Shows, Text, Val};
use crate::Density;
use crate::text::Textual;

/// A shape whose filled slots lend a reference to one value: an item, or a piece of text. Nothing to implement.
///
/// A sink of bytes asks for `A: Lends<Lent: AsRef<[u8]>>`. To ask the same of each `A::Ref<'a>` would not do: the
/// compiler does not find it for the output of a function that returns `impl Pipeline` and takes a closure.
#[diagnostic::on_unimplemented(
    message = "the edge `{Self}` does not carry single items",
    label = "its slots lend a tuple or an `Either`, and not one value",
    note = "a `map` makes one item of them: `.map(|(a, b)| ..)`"
)]
pub trait Lends: Shape {
    /// What is behind the reference.
    type Lent: ?Sized + 'static;
    /// The value of a slot.
    fn lent<'a>(value: Self::Ref<'a>) -> &'a Self::Lent;
}

/// A shape of single items: a stage on it borrows a `&Item` from each filled slot. Nothing to implement.
///
/// Rings, filters, dead letters, lanes and halves of pairs are such shapes. Pairs, choices and texts are not: their
/// slots lend tuples, `Either`s and pieces.
#[diagnostic::on_unimplemented(
    message = "the edge `{Self}` does not carry single items",
    label = "a stage on it borrows a tuple, an `Either` or a piece of text, and not a `&T`",
    note = "a `map` makes one item of them: `.map(|(a, b)| ..)`",
    note = "`boxed_exact` boxes a pipeline as it is; the type of the box then names the shapes of both ends"
)]
pub trait ItemShape: Lends<Lent = <Self as ItemShape>::Item> {
    /// The reference that a filled slot lends.
    type Item: Item;
    /// The item of a slot.
    fn item<'a>(value: Self::Ref<'a>) -> &'a Self::Item;
}

#[diagnostic::do_not_recommend]
impl<A: Lends<Lent: Item + Sized>> ItemShape for A {
    type Item = A::Lent;
    #[inline(always)]
    fn item<'a>(value: Self::Ref<'a>) -> &'a A::Lent {
        A::lent(value)
    }
}

impl<T: Item> Lends for AnyEdge<T> {
    type Lent = T;
    #[inline(always)]
    fn lent<'a>(value: Self::Ref<'a>) -> &'a T {
        value
    }
}

impl<T: Item, D: Density> Lends for Val<T, D> {
    type Lent = T;
    #[inline(always)]
    fn lent<'a>(value: Self::Ref<'a>) -> &'a T {
        value
    }
}

impl<T: Textual + ?Sized, D: Density> Lends for Text<T, D> {
    type Lent = T;
    #[inline(always)]
    fn lent<'a>(value: Self::Ref<'a>) -> &'a T {
        value.text()
    }
}

impl<F: Lends> Lends for Filtered<F> {
    type Lent = F::Lent;
    #[inline(always)]
    fn lent<'a>(value: Self::Ref<'a>) -> &'a F::Lent {
        F::lent(value)
    }
}

impl<A: Lends, B: SameItem<A>> Lends for Merged<A, B> {
    type Lent = A::Lent;
    #[inline(always)]
    fn lent<'a>(value: Self::Ref<'a>) -> &'a A::Lent {
        A::lent(value)
    }
}

impl<A: Lends, B: SameItem<A>> Lends for Otherwise<A, B> {
    type Lent = A::Lent;
    #[inline(always)]
    fn lent<'a>(value: Self::Ref<'a>) -> &'a A::Lent {
        A::lent(value)
    }
}

impl<F: Shape, L: Lens<F, Target: Lends>> Lends for Projected<F, L> {
    type Lent = <L::Target as Lends>::Lent;
    #[inline(always)]
    fn lent<'a>(value: Self::Ref<'a>) -> &'a Self::Lent {
        <L::Target as Lends>::lent(value)
    }
}

impl<F: Shape, T: Item, C: Shows<F, T>> Lends for Part<F, C, T> {
    type Lent = T;
    #[inline(always)]
    fn lent<'a>(value: Self::Ref<'a>) -> &'a T {
        value
    }
}
