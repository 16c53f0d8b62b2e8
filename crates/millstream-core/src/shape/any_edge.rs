//! Edges whose shape is known only at run time.

use super::{Item, Lens, OfPieces, Phantom, Shape, ToOwnedItem, Val};
use crate::text::{Block, Piece};
use crate::{Density, Sparse};
use std::cmp::Ordering;

/// An edge of `T`s of any shape, which a deployment knows only at run time. No value is copied.
///
/// [`any_edge`](crate::PartsExt::any_edge) turns every [`ItemShape`](crate::ItemShape) into one. So pipelines that end
/// with a `map`, a `filter` or a dead letter have one output type. Any slot can be empty, and END can have a value.
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

impl<T> std::fmt::Debug for AnyEdge<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(std::any::type_name::<Self>())
    }
}
