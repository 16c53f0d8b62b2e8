//! A lane for each side of a choice.

use super::{Extent, Model, ModelShape, projected};
use crate::pipe::{Choose, Merge};
use crate::{Arrow, Deploy, Lens, On, Projected, SameItem, lens};

impl<A: ModelShape, P, Q> Deploy<Model> for Choose<A, P, Q>
where
    lens::Left: Lens<A>,
    lens::Right: Lens<A>,
    P: Deploy<Model> + Arrow<In = Projected<A, lens::Left>, Out: ModelShape>,
    Q: Deploy<Model> + Arrow<In = Projected<A, lens::Right>, Out: ModelShape>,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> <Self::Out as On<Model>>::Edge {
        (
            self.left.deploy(projected::<A, lens::Left>(input.clone()), extent),
            self.right.deploy(projected::<A, lens::Right>(input), extent),
        )
    }
}

impl<A: ModelShape, P, Q> Deploy<Model> for Merge<A, P, Q>
where
    lens::Left: Lens<A>,
    lens::Right: Lens<A>,
    P: Deploy<Model> + Arrow<In = Projected<A, lens::Left>, Out: ModelShape>,
    Q: Deploy<Model> + Arrow<In = Projected<A, lens::Right>, Out: ModelShape + SameItem<P::Out>>,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> <Self::Out as On<Model>>::Edge {
        (
            self.left.deploy(projected::<A, lens::Left>(input.clone()), extent),
            self.right.deploy(projected::<A, lens::Right>(input), extent),
        )
    }
}
