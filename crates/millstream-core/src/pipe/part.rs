use super::{Policy, combinator};
use crate::plan::{Describe, Port, StageKind};
use crate::text::{Piece, Textual};
use crate::{Arrow, Cause, Density, Flow, Holed, OfPieces, Text};
use std::{marker::PhantomData, sync::Arc};

/// What a stage that keeps parts of text keeps of one value.
pub trait Parting: Send + Sync + 'static {
    /// What it reads.
    type In: OfPieces;
    /// What it gives: bytes, or UTF-8.
    type Kind: Textual + ?Sized;
    /// Whether it leaves slots empty.
    type Density: Density;
    /// The combinator's name.
    const NAME: &'static str;
    /// The piece that goes on, if there is one.
    fn part<'a>(&self, value: <Self::In as Flow>::Ref<'a>) -> Option<Piece<'a, Self::Kind>>;
}

/// A part of the text at every value: a piece of the same block, or of any other. Nothing is copied.
pub struct Parts<K> {
    /// What tells the parts, shared by every deployment.
    pub parting: Arc<K>,
}
combinator!(Parts<K>: KeepsClock Quiet Stateless Determinate; through :);

impl<K> Parts<K> {
    pub(crate) fn new(parting: K) -> Self {
        Parts { parting: Arc::new(parting) }
    }
}

impl<K: Parting> Arrow for Parts<K> {
    type In = K::In;
    type Out = Text<K::Kind, K::Density>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, full) = (Self::Out::BYTES, K::Density::FULL);
        plan.stage(&input, StageKind { name: K::NAME, stateful: false, slot_bytes, full, fills: input.filled() })
    }
}

/// A part of every value.
pub struct MapPart<A, F> {
    f: F,
    shape: PhantomData<fn() -> A>,
}

/// A part of some values.
pub struct FilterMapPart<A, F> {
    f: F,
    shape: PhantomData<fn() -> A>,
}

/// Every value as UTF-8.
pub struct ToStr<A, P> {
    policy: P,
    shape: PhantomData<fn() -> A>,
}

impl<A, F> MapPart<A, F> {
    pub(crate) fn new(f: F) -> Self {
        MapPart { f, shape: PhantomData }
    }
}

impl<A, F> FilterMapPart<A, F> {
    pub(crate) fn new(f: F) -> Self {
        FilterMapPart { f, shape: PhantomData }
    }
}

impl<A, P> ToStr<A, P> {
    pub(crate) fn new(policy: P) -> Self {
        ToStr { policy, shape: PhantomData }
    }
}

impl<A: OfPieces, F> Parting for MapPart<A, F>
where
    F: for<'a> Fn(Piece<'a, A::Kind>) -> Piece<'a, A::Kind> + Send + Sync + 'static,
{
    type In = A;
    type Kind = A::Kind;
    type Density = A::Density;
    const NAME: &'static str = "map_part";

    #[inline(always)]
    fn part<'a>(&self, value: A::Ref<'a>) -> Option<Piece<'a, A::Kind>> {
        Some((self.f)(A::piece(value)))
    }
}

impl<A: OfPieces, F> Parting for FilterMapPart<A, F>
where
    F: for<'a> Fn(Piece<'a, A::Kind>) -> Option<Piece<'a, A::Kind>> + Send + Sync + 'static,
{
    type In = A;
    type Kind = A::Kind;
    type Density = Holed;
    const NAME: &'static str = "filter_map_part";

    #[inline(always)]
    fn part<'a>(&self, value: A::Ref<'a>) -> Option<Piece<'a, A::Kind>> {
        (self.f)(A::piece(value))
    }
}

/// Why a piece is no UTF-8. Numbers count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotUtf8 {
    /// The first byte of the piece that is none.
    pub at: usize,
}

impl std::fmt::Display for NotUtf8 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not UTF-8 from byte {} on", self.at)
    }
}

impl std::error::Error for NotUtf8 {}

impl<A: OfPieces<Kind = [u8]>, P: Policy> Parting for ToStr<A, P>
where
    NotUtf8: Cause,
{
    type In = A;
    type Kind = str;
    type Density = P::Density<A::Density>;
    const NAME: &'static str = "utf8";

    #[inline]
    fn part<'a>(&self, value: A::Ref<'a>) -> Option<Piece<'a, str>> {
        let piece = A::piece(value);
        let read = || piece.to_str().map_err(|error| NotUtf8 { at: error.valid_up_to() });
        // No policy that a `ToStr` is made with waits.
        self.policy.judge(read, |_| ())
    }
}

super::debug!(MapPart<A, F>);
super::debug!(FilterMapPart<A, F>);
super::debug!(ToStr<A, P>);
