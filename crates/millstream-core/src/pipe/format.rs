use super::combinator;
use crate::plan::{Describe, Port, StageKind};
use crate::text::{Textual, Writer};
use crate::{Arrow, Density, Shape, Sparse, Text};
use std::{marker::PhantomData, sync::Arc};

/// How a stage writes the text of one value.
pub trait FormatKernel: Send + Sync + 'static {
    /// The shape of the input.
    type In: Shape;
    /// The kind of the output: bytes, or UTF-8.
    type Kind: Textual + ?Sized;
    /// The density of the output.
    type Density: Density;
    /// The combinator's name.
    const NAME: &'static str;
    /// Writes the value's piece. Returns false to leave the slot empty; the bytes written are then discarded.
    fn write(&self, value: <Self::In as Shape>::Ref<'_>, out: &mut Writer<'_, Self::Kind>) -> bool;
}

/// Text written at every value: pieces of the stage's own blocks.
pub struct Format<W> {
    /// The kernel, shared by every deployment.
    pub kernel: Arc<W>,
}
combinator!(Format<W>: KeepsClock Quiet Shardable Determinate; through :);

impl<W> Format<W> {
    pub(crate) fn new(kernel: W) -> Self {
        Format { kernel: Arc::new(kernel) }
    }
}

impl<W: FormatKernel> Arrow for Format<W> {
    type In = W::In;
    type Out = Text<W::Kind, W::Density>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (Self::Out::BYTES, W::Density::DENSE);
        plan.stage(&input, StageKind { name: W::NAME, state: None, slot_bytes, dense, fills: input.filled() })
    }
}

type Phantom<A, T> = PhantomData<fn() -> (A, Box<T>)>;

/// Text at every value of an `A`.
pub type MapText<A, F, T> = Format<FormatAll<A, F, T>>;

/// Text at some values of an `A`.
pub type FilterMapText<A, F, T> = Format<FormatSome<A, F, T>>;

/// A function that writes a piece at every value.
pub struct FormatAll<A, F, T: ?Sized> {
    f: F,
    shape: Phantom<A, T>,
}

/// A function that writes a piece, and returns whether the slot is filled.
pub struct FormatSome<A, F, T: ?Sized> {
    f: F,
    shape: Phantom<A, T>,
}

impl<A, F, T: ?Sized> FormatAll<A, F, T> {
    pub(crate) fn new(f: F) -> Self {
        FormatAll { f, shape: PhantomData }
    }
}

impl<A, F, T: ?Sized> FormatSome<A, F, T> {
    pub(crate) fn new(f: F) -> Self {
        FormatSome { f, shape: PhantomData }
    }
}

impl<A: Shape, F, T: Textual + ?Sized> FormatKernel for FormatAll<A, F, T>
where
    F: for<'a> Fn(A::Ref<'a>, &mut Writer<'_, T>) + Send + Sync + 'static,
{
    type In = A;
    type Kind = T;
    type Density = A::Density;
    const NAME: &'static str = "map_text";

    #[inline(always)]
    fn write(&self, value: A::Ref<'_>, out: &mut Writer<'_, T>) -> bool {
        (self.f)(value, out);
        true
    }
}

impl<A: Shape, F, T: Textual + ?Sized> FormatKernel for FormatSome<A, F, T>
where
    F: for<'a> Fn(A::Ref<'a>, &mut Writer<'_, T>) -> bool + Send + Sync + 'static,
{
    type In = A;
    type Kind = T;
    type Density = Sparse;
    const NAME: &'static str = "filter_map_text";

    #[inline(always)]
    fn write(&self, value: A::Ref<'_>, out: &mut Writer<'_, T>) -> bool {
        (self.f)(value, out)
    }
}

super::debug!(FormatAll<A, F, T>);
super::debug!(FormatSome<A, F, T>);
