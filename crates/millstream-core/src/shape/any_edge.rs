//! Edges whose shape is known only at run time.

use super::{Filtered, Item, Lens, Merged, OfPieces, Otherwise, Phantom, Projected, SameItem, Shape, ToOwnedItem, Val};
use crate::text::{Block, Piece};
use crate::{Density, Sparse};
use std::cmp::Ordering;

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
pub trait ItemShape: Shape {
    /// The reference that a filled slot lends.
    type Item: Item;
    /// The item of a slot.
    fn item<'a>(value: Self::Ref<'a>) -> &'a Self::Item;
}

/// An edge of `T`s of any shape, which a deployment knows only at run time. No value is copied.
///
/// [`any_edge`](crate::PartsExt::any_edge) turns every [`ItemShape`] into one. So pipelines that end with a `map`, a
/// `filter` or a dead letter have one output type. Any slot can be empty, and END can have a value.
///
/// On rings, if the edge is one ring, or one ring with one mask, a stage that reads it makes two virtual calls a batch,
/// and then runs the loop that it would run if the shape were known. With two to four masks, as after as many filters,
/// the loop tests a few flags a number. Otherwise, at merged lanes, at a part of a value and after a fifth filter, it
/// makes one virtual call a number.
pub struct AnyEdge<T>(Phantom<T>);

impl<T: Item> Shape for AnyEdge<T> {
    type Ref<'a> = &'a T;
    type Density = Sparse;
    const BYTES: usize = size_of::<Option<T>>();

    #[inline(always)]
    fn shorten<'s, 'l: 's>(value: Self::Ref<'l>) -> Self::Ref<'s> {
        value
    }
}

super::owns_its_item!([] AnyEdge<T>);

#[diagnostic::do_not_recommend]
impl<T: Item, L: Lens<Val<T>>> Lens<AnyEdge<T>> for L {
    type Target = L::Target;
    type Part<D: Density> = L::Part<D>;
    #[inline(always)]
    fn focus<'a>(whole: <AnyEdge<T> as Shape>::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
        <L as Lens<Val<T>>>::focus(whole)
    }
}

impl OfPieces for AnyEdge<Block> {
    type Kind = [u8];
    #[inline(always)]
    fn piece<'a>(value: Self::Ref<'a>) -> Piece<'a> {
        Piece::whole(value)
    }
}

impl<T: Item> ItemShape for AnyEdge<T> {
    type Item = T;
    #[inline(always)]
    fn item<'a>(value: Self::Ref<'a>) -> &'a T {
        value
    }
}

impl<T: Item, D: Density> ItemShape for Val<T, D> {
    type Item = T;
    #[inline(always)]
    fn item<'a>(value: Self::Ref<'a>) -> &'a T {
        value
    }
}

impl<F: ItemShape> ItemShape for Filtered<F> {
    type Item = F::Item;
    #[inline(always)]
    fn item<'a>(value: Self::Ref<'a>) -> &'a F::Item {
        F::item(value)
    }
}

impl<A: ItemShape, B: SameItem<A>> ItemShape for Merged<A, B> {
    type Item = A::Item;
    #[inline(always)]
    fn item<'a>(value: Self::Ref<'a>) -> &'a A::Item {
        A::item(value)
    }
}

impl<A: ItemShape, B: SameItem<A>> ItemShape for Otherwise<A, B> {
    type Item = A::Item;
    #[inline(always)]
    fn item<'a>(value: Self::Ref<'a>) -> &'a A::Item {
        A::item(value)
    }
}

impl<F: Shape, L: Lens<F, Target: ItemShape>> ItemShape for Projected<F, L> {
    type Item = <L::Target as ItemShape>::Item;
    #[inline(always)]
    fn item<'a>(value: Self::Ref<'a>) -> &'a Self::Item {
        <L::Target as ItemShape>::item(value)
    }
}

impl<T> std::fmt::Debug for AnyEdge<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(std::any::type_name::<Self>())
    }
}
