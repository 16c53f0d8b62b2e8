use super::{Filtered, Lens, Merged, Phantom, Projected, SameItem, Shape, ToOwnedItem, Val};
use crate::text::{Block, OwnedPiece, Piece, Textual};
use crate::{Dense, Density};

/// Pieces of text: bytes, or, as `Text<str>`, UTF-8.
///
/// A slot holds the position of its piece in a [block](crate::text::Block), and no byte of it. A stage that passes on
/// pieces, or parts of them, passes on their block. A block is kept alive until its pieces are read.
pub struct Text<T: ?Sized = [u8], D = Dense>(Phantom<(Box<T>, D)>);

impl<T: Textual + ?Sized, D: Density> Shape for Text<T, D> {
    type Ref<'a> = Piece<'a, T>;
    type Density = D;
    /// The block, and the piece's position in it.
    const BYTES: usize = size_of::<usize>() + 8;

    #[inline(always)]
    fn shorten<'s, 'l: 's>(value: Piece<'l, T>) -> Piece<'s, T> {
        value
    }
}

impl<T: Textual + ?Sized, D: Density> ToOwnedItem for Text<T, D> {
    type Owned = OwnedPiece<T>;
    fn to_owned_item(value: Piece<'_, T>) -> OwnedPiece<T> {
        value.into()
    }
    #[inline]
    fn eq_owned(owned: &OwnedPiece<T>, value: Piece<'_, T>) -> bool {
        owned == &value
    }
}

impl<T: ?Sized, D> std::fmt::Debug for Text<T, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(std::any::type_name::<Self>())
    }
}

/// A shape whose values are pieces of text, or blocks, which are pieces of themselves.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no text to be cut or narrowed",
    note = "`lines`, `words`, `map_slice` and their like work on edges of blocks (`Val<Block>`) and of `Text`",
    note = "`map_bytes` and `map_str` write text at every value of any edge"
)]
pub trait OfPieces: Shape {
    /// The type as which the pieces are read.
    type Kind: Textual + ?Sized;
    /// The piece of a value.
    fn piece<'a>(value: Self::Ref<'a>) -> Piece<'a, Self::Kind>;
}

impl<D: Density> OfPieces for Val<Block, D> {
    type Kind = [u8];
    #[inline(always)]
    fn piece<'a>(value: Self::Ref<'a>) -> Piece<'a> {
        Piece::whole(value)
    }
}

impl<T: Textual + ?Sized, D: Density> OfPieces for Text<T, D> {
    type Kind = T;
    #[inline(always)]
    fn piece<'a>(value: Self::Ref<'a>) -> Piece<'a, T> {
        value
    }
}

impl<F: OfPieces> OfPieces for Filtered<F> {
    type Kind = F::Kind;
    #[inline(always)]
    fn piece<'a>(value: Self::Ref<'a>) -> Piece<'a, F::Kind> {
        F::piece(value)
    }
}

impl<F: Shape, L: Lens<F, Target: OfPieces>> OfPieces for Projected<F, L> {
    type Kind = <L::Target as OfPieces>::Kind;
    #[inline(always)]
    fn piece<'a>(value: Self::Ref<'a>) -> Piece<'a, Self::Kind> {
        <L::Target as OfPieces>::piece(value)
    }
}

impl<A: OfPieces, B: SameItem<A>> OfPieces for Merged<A, B> {
    type Kind = A::Kind;
    #[inline(always)]
    fn piece<'a>(value: Self::Ref<'a>) -> Piece<'a, A::Kind> {
        A::piece(value)
    }
}
