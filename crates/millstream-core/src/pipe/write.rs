use super::combinator;
use crate::plan::{Describe, Port, StageKind};
use crate::text::{Textual, Writer};
use crate::{Arrow, Density, Flow, Holed, Text};
use std::{marker::PhantomData, sync::Arc};

/// What a stage that writes text makes of one value.
pub trait Writing: Send + Sync + 'static {
    /// What it reads.
    type In: Flow;
    /// What it writes: bytes, or UTF-8.
    type Kind: Textual + ?Sized;
    /// Whether it leaves slots empty.
    type Density: Density;
    /// The combinator's name.
    const NAME: &'static str;
    /// Writes what becomes the value's piece; false if its slot stays empty, and then what was written is taken back.
    fn write(&self, value: <Self::In as Flow>::Ref<'_>, out: &mut Writer<'_, Self::Kind>) -> bool;
}

/// Text that is written at every value: pieces of the stage's own blocks.
pub struct Write<W> {
    /// What writes, shared by every deployment.
    pub writing: Arc<W>,
}
combinator!(Write<W>: KeepsClock Quiet Stateless Determinate; through :);

impl<W> Write<W> {
    pub(crate) fn new(writing: W) -> Self {
        Write { writing: Arc::new(writing) }
    }
}

impl<W: Writing> Arrow for Write<W> {
    type In = W::In;
    type Out = Text<W::Kind, W::Density>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, full) = (Self::Out::BYTES, W::Density::FULL);
        plan.stage(&input, StageKind { name: W::NAME, stateful: false, slot_bytes, full, fills: input.filled() })
    }
}

type Shape<A, T> = PhantomData<fn() -> (A, Box<T>)>;

/// Text at every value of an `A`.
pub type MapText<A, F, T> = Write<Always<A, F, T>>;

/// Text at some values of an `A`.
pub type FilterMapText<A, F, T> = Write<Sometimes<A, F, T>>;

/// A piece at every value.
pub struct Always<A, F, T: ?Sized> {
    f: F,
    shape: Shape<A, T>,
}

/// A piece at the values of which the function says so.
pub struct Sometimes<A, F, T: ?Sized> {
    f: F,
    shape: Shape<A, T>,
}

impl<A, F, T: ?Sized> Always<A, F, T> {
    pub(crate) fn new(f: F) -> Self {
        Always { f, shape: PhantomData }
    }
}

impl<A, F, T: ?Sized> Sometimes<A, F, T> {
    pub(crate) fn new(f: F) -> Self {
        Sometimes { f, shape: PhantomData }
    }
}

impl<A: Flow, F, T: Textual + ?Sized> Writing for Always<A, F, T>
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

impl<A: Flow, F, T: Textual + ?Sized> Writing for Sometimes<A, F, T>
where
    F: for<'a> Fn(A::Ref<'a>, &mut Writer<'_, T>) -> bool + Send + Sync + 'static,
{
    type In = A;
    type Kind = T;
    type Density = Holed;
    const NAME: &'static str = "filter_map_text";

    #[inline(always)]
    fn write(&self, value: A::Ref<'_>, out: &mut Writer<'_, T>) -> bool {
        (self.f)(value, out)
    }
}

super::debug!(Always<A, F, T>);
super::debug!(Sometimes<A, F, T>);
