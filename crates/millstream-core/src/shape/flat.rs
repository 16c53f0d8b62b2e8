//! Several edges side by side, as one flat tuple.

use super::{Lens, Pair, Phantom, Shape, ToOwnedItem};
use crate::Density;
use std::fmt;

/// What a stage sees of several edges side by side through [`Flat`]: `T` is a tuple of three to eight shapes.
pub struct Tuple<T>(Phantom<T>);

/// `N` edges side by side, which are pairs of pairs (`((a, b), c)`), as one flat tuple (`(a, b, c)`).
#[derive(Clone, Copy, Debug)]
pub enum Flat<const N: usize> {}

impl<T> fmt::Debug for Tuple<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<Self>())
    }
}

/// Pairs of pairs, to the left: as a type, and as a pattern.
macro_rules! nested {
    (type $all:ty) => { $all };
    (type $first:ty, $second:ty $(, $rest:ty)*) => { nested!(type Pair<$first, $second> $(, $rest)*) };
    (pattern $all:pat) => { $all };
    (pattern $first:pat, $second:pat $(, $rest:pat)*) => { nested!(pattern ($first, $second) $(, $rest)*) };
}

macro_rules! flat {
    ($n:literal: $($shape:ident $value:ident),+) => {
        impl<$($shape: Shape),+> Shape for Tuple<($($shape,)+)> {
            type Ref<'a> = ($($shape::Ref<'a>,)+);
            type Density = <nested!(type $($shape),+) as Shape>::Density;
            const BYTES: usize = <nested!(type $($shape),+) as Shape>::BYTES;

            #[inline(always)]
            fn shorten<'s, 'l: 's>(($($value,)+): Self::Ref<'l>) -> Self::Ref<'s> {
                ($($shape::shorten($value),)+)
            }
        }

        impl<$($shape: ToOwnedItem),+> ToOwnedItem for Tuple<($($shape,)+)> {
            type Owned = ($($shape::Owned,)+);
            fn to_owned_item(($($value,)+): Self::Ref<'_>) -> Self::Owned {
                ($($shape::to_owned_item($value),)+)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($shape: Shape),+> Lens<nested!(type $($shape),+)> for Flat<$n> {
            type Target = Tuple<($($shape,)+)>;
            type Part<Y: Density> = Y;
            #[inline(always)]
            fn focus<'a>(
                nested!(pattern $($value),+): <nested!(type $($shape),+) as Shape>::Ref<'a>,
            ) -> Option<<Self::Target as Shape>::Ref<'a>> {
                Some(($($value,)+))
            }
        }
    };
}
flat!(3: A a, B b, C c);
flat!(4: A a, B b, C c, D d);
flat!(5: A a, B b, C c, D d, E e);
flat!(6: A a, B b, C c, D d, E e, F f);
flat!(7: A a, B b, C c, D d, E e, F f, G g);
flat!(8: A a, B b, C c, D d, E e, F f, G g, H h);
