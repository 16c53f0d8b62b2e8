//! A part of every value, shown by a closure, and every number of an edge.

use super::{Item, Lens, Phantom, Shape, ToOwnedItem, Val};
use crate::{Density, Sparse};
use std::marker::PhantomData;
use std::{cmp::Ordering, fmt};

/// A part of every value of `F`, which is a `T` that `C` shows. Nothing is copied.
pub struct Part<F, C, T>(Phantom<(F, C, T)>);

/// A function that shows a part of a value of `F`. Nothing to implement: [`part`](crate::ViewExt::part) takes a
/// closure.
pub trait Shows<F: Shape, T: Item>: Send + Sync + 'static {
    /// The part.
    fn show<'a>(&self, whole: F::Ref<'a>) -> &'a T;
}

/// A closure of a reference to a `U`.
pub struct ShownBy<C, U> {
    show: C,
    whole: PhantomData<fn() -> U>,
}

impl<C, U> ShownBy<C, U> {
    /// The part that this closure shows.
    pub fn new<T>(show: C) -> Self
    where
        C: for<'a> Fn(&'a U) -> &'a T,
    {
        ShownBy { show, whole: PhantomData }
    }
}

impl<U: Item, T: Item, F: for<'a> Shape<Ref<'a> = &'a U>, C> Shows<F, T> for ShownBy<C, U>
where
    C: for<'a> Fn(&'a U) -> &'a T + Send + Sync + 'static,
{
    #[inline(always)]
    fn show<'a>(&self, whole: F::Ref<'a>) -> &'a T {
        (self.show)(whole)
    }
}

impl<F: Shape, T: Item, C: Shows<F, T>> Shape for Part<F, C, T> {
    type Ref<'a> = &'a T;
    type Density = F::Density;
    const BYTES: usize = F::BYTES;

    #[inline(always)]
    fn shorten<'s, 'l: 's>(value: Self::Ref<'l>) -> Self::Ref<'s> {
        value
    }
}

super::owns_its_item!([F: Shape, C: Shows<F, T>] Part<F, C, T>);

#[diagnostic::do_not_recommend]
impl<F: Shape, T: Item, C: Shows<F, T>, L: Lens<Val<T>>> Lens<Part<F, C, T>> for L {
    type Target = L::Target;
    type Part<D: Density> = L::Part<D>;
    #[inline(always)]
    fn focus<'a>(whole: <Part<F, C, T> as Shape>::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
        <L as Lens<Val<T>>>::focus(whole)
    }
}

/// Every slot of an edge below END, empty or not, as an `Option`; and END's where it holds a value. Nothing is copied.
pub struct Maybe<F>(Phantom<F>);

impl<F: Shape> Shape for Maybe<F> {
    type Ref<'a> = Option<F::Ref<'a>>;
    type Density = Sparse;
    const BYTES: usize = F::BYTES;

    #[inline(always)]
    fn shorten<'s, 'l: 's>(value: Self::Ref<'l>) -> Self::Ref<'s> {
        value.map(F::shorten)
    }
}

impl<F: ToOwnedItem> ToOwnedItem for Maybe<F> {
    type Owned = Option<F::Owned>;
    fn to_owned_item(value: Self::Ref<'_>) -> Self::Owned {
        value.map(F::to_owned_item)
    }
}

super::shape_debug!(Part<F, C, T>, Maybe<F>);

impl<C, U> fmt::Debug for ShownBy<C, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShownBy")
    }
}
