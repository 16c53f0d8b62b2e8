use super::{Policy, combinator};
use crate::plan::{Describe, Port, StageKind};
use crate::text::{Piece, Textual};
use crate::{Arrow, Cause, Density, OfPieces, Shape, Sparse, Text};
use std::{marker::PhantomData, sync::Arc};

/// How a stage keeps a part of the text of one value.
pub trait SliceKernel: Send + Sync + 'static {
    /// The shape of the input.
    type In: OfPieces;
    /// The kind of the output: bytes, or UTF-8.
    type Kind: Textual + ?Sized;
    /// The density of the output.
    type Density: Density;
    /// The combinator's name.
    const NAME: &'static str;
    /// The output of the value, or `None` for an empty slot.
    fn part<'a>(&self, value: <Self::In as Shape>::Ref<'a>) -> Option<Piece<'a, Self::Kind>>;
}

/// A part of the text at every value: a piece of the same block, or of any other one. Nothing is copied.
pub struct Slice<K> {
    /// The kernel, shared by every deployment.
    pub kernel: Arc<K>,
}
combinator!(Slice<K>: KeepsClock Quiet Shardable Determinate; through :);

impl<K> Slice<K> {
    pub(crate) fn new(kernel: K) -> Self {
        Slice { kernel: Arc::new(kernel) }
    }
}

impl<K: SliceKernel> Arrow for Slice<K> {
    type In = K::In;
    type Out = Text<K::Kind, K::Density>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (Self::Out::BYTES, K::Density::DENSE);
        plan.stage(&input, StageKind { name: K::NAME, state: None, slot_bytes, dense, fills: input.filled() })
    }
}

/// A part of every value.
pub struct MapSlice<A, F> {
    f: F,
    shape: PhantomData<fn() -> A>,
}

/// A part of some values.
pub struct FilterMapSlice<A, F> {
    f: F,
    shape: PhantomData<fn() -> A>,
}

/// Every value as UTF-8.
pub struct ToStr<A, P> {
    policy: P,
    shape: PhantomData<fn() -> A>,
}

impl<A, F> MapSlice<A, F> {
    pub(crate) fn new(f: F) -> Self {
        MapSlice { f, shape: PhantomData }
    }
}

impl<A, F> FilterMapSlice<A, F> {
    pub(crate) fn new(f: F) -> Self {
        FilterMapSlice { f, shape: PhantomData }
    }
}

impl<A, P> ToStr<A, P> {
    pub(crate) fn new(policy: P) -> Self {
        ToStr { policy, shape: PhantomData }
    }
}

impl<A: OfPieces, F> SliceKernel for MapSlice<A, F>
where
    F: for<'a> Fn(Piece<'a, A::Kind>) -> Piece<'a, A::Kind> + Send + Sync + 'static,
{
    type In = A;
    type Kind = A::Kind;
    type Density = A::Density;
    const NAME: &'static str = "map_slice";

    #[inline(always)]
    fn part<'a>(&self, value: A::Ref<'a>) -> Option<Piece<'a, A::Kind>> {
        Some((self.f)(A::piece(value)))
    }
}

impl<A: OfPieces, F> SliceKernel for FilterMapSlice<A, F>
where
    F: for<'a> Fn(Piece<'a, A::Kind>) -> Option<Piece<'a, A::Kind>> + Send + Sync + 'static,
{
    type In = A;
    type Kind = A::Kind;
    type Density = Sparse;
    const NAME: &'static str = "filter_map_slice";

    #[inline(always)]
    fn part<'a>(&self, value: A::Ref<'a>) -> Option<Piece<'a, A::Kind>> {
        (self.f)(A::piece(value))
    }
}

/// Why a piece is not UTF-8. Positions count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotUtf8 {
    /// The position of the first invalid byte of the piece.
    pub at: usize,
}

impl std::fmt::Display for NotUtf8 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not UTF-8 from byte {} on", self.at)
    }
}

impl std::error::Error for NotUtf8 {}

impl<A: OfPieces<Kind = [u8]>, P> SliceKernel for ToStr<A, P>
where
    NotUtf8: Cause,
    P: for<'a> Policy<Output<Piece<'a, str>, NotUtf8> = Piece<'a, str>>,
{
    type In = A;
    type Kind = str;
    type Density = P::Density<A::Density>;
    const NAME: &'static str = "utf8";

    #[inline]
    fn part<'a>(&self, value: A::Ref<'a>) -> Option<Piece<'a, str>> {
        let piece = A::piece(value);
        let read = || piece.to_str().map_err(|error| NotUtf8 { at: error.valid_up_to() });
        // Neither policy of a `ToStr` waits.
        self.policy.judge(read, |_| ())
    }
}

super::debug!(MapSlice<A, F>);
super::debug!(FilterMapSlice<A, F>);
super::debug!(ToStr<A, P>);
