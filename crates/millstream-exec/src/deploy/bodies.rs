//! Combinators with bodies, and views of an edge: none of them makes a ring or a tasklet of its own.

use crate::fusion::{Focused, Shown, Unfocused, sides};
use crate::wiring::WiringScope;
use crate::{RingBackend, RingRunner, RingShape, Wiring};
use millstream_core::fusion::{OfPassage, Passage};
use millstream_core::pipe::{Both, Choose, Fanout, Merge, Project, Shard, Tee, ToAnyEdge};
use millstream_core::plan::Branch;
use millstream_core::{
    AnyEdge, Arrow, Choice, Deploy, ItemShape, Lens, Merged, On, Pair, Projected, SameItem, Shape, lens,
};
use millstream_ring::{Reader, RingLayout};

impl<R: RingRunner, P: Deploy<RingBackend<R>>, Q: Deploy<RingBackend<R>> + Arrow<In = P::In>> Deploy<RingBackend<R>>
    for Fanout<P, Q>
where
    P::In: RingShape<R>,
    P::Out: RingShape<R>,
    Q::Out: RingShape<R>,
{
    fn deploy(&self, input: Reader<P::In>, wiring: &mut Wiring) -> Reader<Pair<P::Out, Q::Out>> {
        let second = input.fork();
        let first = self.first.deploy_body(input, &mut wiring.body(Branch::First));
        first.zip(self.second.deploy_body(second, &mut wiring.body(Branch::Second)))
    }

    fn passage<V: OfPassage<RingBackend<R>, P::In, Pair<P::Out, Q::Out>>>(
        &self,
        wiring: &mut Wiring,
        then: V,
    ) -> Option<V::Made> {
        let (bodies, branches) = ((&self.first, &self.second), [Branch::First, Branch::Second]);
        sides::<R, _, _, Unfocused, Unfocused, _, _, _>(bodies, branches, wiring, then)
    }
}

impl<R: RingRunner, A: RingShape<R>, P, Q> Deploy<RingBackend<R>> for Both<A, P, Q>
where
    lens::First: Lens<A>,
    lens::Second: Lens<A>,
    P: Deploy<RingBackend<R>> + Arrow<In = Projected<A, lens::First>, Out: RingShape<R>>,
    Q: Deploy<RingBackend<R>> + Arrow<In = Projected<A, lens::Second>, Out: RingShape<R>>,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Pair<P::Out, Q::Out>> {
        let second = input.fork();
        let first = self.first.deploy_body(seen::<R, A, lens::First>(input), &mut wiring.body(Branch::First));
        first.zip(self.second.deploy_body(seen::<R, A, lens::Second>(second), &mut wiring.body(Branch::Second)))
    }

    fn passage<V: OfPassage<RingBackend<R>, A, Pair<P::Out, Q::Out>>>(
        &self,
        wiring: &mut Wiring,
        then: V,
    ) -> Option<V::Made> {
        let (bodies, branches) = ((&self.first, &self.second), [Branch::First, Branch::Second]);
        sides::<R, _, _, Focused<lens::First>, Focused<lens::Second>, _, _, _>(bodies, branches, wiring, then)
    }
}

fn seen<R: RingRunner, A: RingShape<R>, L: Lens<A>>(input: Reader<A>) -> <Projected<A, L> as On<RingBackend<R>>>::Edge {
    input.seen::<L>()
}

impl<R: RingRunner, A: RingShape<R>, P, Q> Deploy<RingBackend<R>> for Choose<A, P, Q>
where
    lens::Left: Lens<A>,
    lens::Right: Lens<A>,
    P: Deploy<RingBackend<R>> + Arrow<In = Projected<A, lens::Left>, Out: RingShape<R>>,
    Q: Deploy<RingBackend<R>> + Arrow<In = Projected<A, lens::Right>, Out: RingShape<R>>,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Choice<P::Out, Q::Out>> {
        let right = input.fork();
        let left = self.left.deploy_body(seen::<R, A, lens::Left>(input), &mut wiring.body(Branch::Left));
        left.beside(self.right.deploy_body(seen::<R, A, lens::Right>(right), &mut wiring.body(Branch::Right)))
    }

    fn passage<V: OfPassage<RingBackend<R>, A, Choice<P::Out, Q::Out>>>(
        &self,
        wiring: &mut Wiring,
        then: V,
    ) -> Option<V::Made> {
        let (bodies, branches) = ((&self.left, &self.right), [Branch::Left, Branch::Right]);
        sides::<R, _, _, Focused<lens::Left>, Focused<lens::Right>, _, _, _>(bodies, branches, wiring, then)
    }
}

impl<R: RingRunner, A: RingShape<R>, P, Q> Deploy<RingBackend<R>> for Merge<A, P, Q>
where
    lens::Left: Lens<A>,
    lens::Right: Lens<A>,
    P: Deploy<RingBackend<R>> + Arrow<In = Projected<A, lens::Left>, Out: RingShape<R>>,
    Q: Deploy<RingBackend<R>> + Arrow<In = Projected<A, lens::Right>, Out: RingShape<R> + SameItem<P::Out>>,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Merged<P::Out, Q::Out>> {
        let right = seen::<R, A, lens::Right>(input.fork());
        let left = seen::<R, A, lens::Left>(input);
        if self.left.is_lane(wiring) && self.right.is_lane(wiring) {
            let other = self.left.deploy_lane(left, None, &mut wiring.body(Branch::Left));
            let both = self.right.deploy_lane(right, Some(other), &mut wiring.body(Branch::Right));
            let both =
                both.downcast::<Reader<<P::Out as RingLayout>::Whole>>().expect("both lanes have values of one type");
            return Reader::of_lanes(*both);
        }
        let left = self.left.deploy_body(left, &mut wiring.body(Branch::Left));
        left.or(self.right.deploy_body(right, &mut wiring.body(Branch::Right)))
    }

    fn passage<V: OfPassage<RingBackend<R>, A, Merged<P::Out, Q::Out>>>(
        &self,
        wiring: &mut Wiring,
        then: V,
    ) -> Option<V::Made> {
        let (bodies, branches) = ((&self.left, &self.right), [Branch::Left, Branch::Right]);
        sides::<R, _, _, Focused<lens::Left>, Focused<lens::Right>, _, _, _>(bodies, branches, wiring, then)
    }
}

impl<R: RingRunner, A: RingShape<R>, L: Lens<A>> Deploy<RingBackend<R>> for Project<A, L> {
    fn deploy(&self, input: Reader<A>, _: &mut Wiring) -> Reader<Projected<A, L>> {
        input.seen::<L>()
    }

    fn passage<V: OfPassage<RingBackend<R>, A, Projected<A, L>>>(
        &self,
        wiring: &mut Wiring,
        then: V,
    ) -> Option<V::Made> {
        then.make(Shown::<L>::new(), wiring)
    }
}

impl<R: RingRunner, A: RingShape<R> + ItemShape> Deploy<RingBackend<R>> for ToAnyEdge<A> {
    fn deploy(&self, input: Reader<A>, _: &mut Wiring) -> Reader<AnyEdge<A::Item>> {
        input.any_edge()
    }
}

impl<R: RingRunner, P: Deploy<RingBackend<R>>> Deploy<RingBackend<R>> for Tee<P>
where
    P::In: RingShape<R>,
{
    fn deploy(&self, input: Reader<P::In>, wiring: &mut Wiring) -> Reader<P::In> {
        let mut body = wiring.body(Branch::Only);
        body.scope.side_output = true;
        // A ring without readers never holds back its stage.
        drop(self.body.deploy_body(input.fork(), &mut body));
        input
    }
}

impl<R: RingRunner, P: Deploy<RingBackend<R>>> Deploy<RingBackend<R>> for Shard<P> {
    fn deploy(
        &self,
        input: <P::In as On<RingBackend<R>>>::Edge,
        wiring: &mut Wiring,
    ) -> <P::Out as On<RingBackend<R>>>::Edge {
        let mut body = wiring.body(Branch::Only);
        body.scope.width *= self.k;
        self.body.deploy_body(input, &mut body)
    }

    fn passage<V: OfPassage<RingBackend<R>, P::In, P::Out>>(&self, wiring: &mut Wiring, then: V) -> Option<V::Made> {
        if self.k > 1 {
            return None;
        }
        let scope = wiring.scope.clone();
        self.body.passage(&mut wiring.body(Branch::Only), BehindBody { scope, then })
    }
}

/// The use of a body's passage, if the body is all of its combinator.
struct BehindBody<V> {
    /// The scope of the combinator.
    scope: WiringScope,
    then: V,
}

impl<R: RingRunner, A: Shape, X: Shape, V: OfPassage<RingBackend<R>, A, X>> OfPassage<RingBackend<R>, A, X>
    for BehindBody<V>
{
    type Made = V::Made;

    fn make<P: Passage<A, X>>(self, body: P, wiring: &mut Wiring) -> Option<V::Made> {
        wiring.scope = self.scope;
        self.then.make(body, wiring)
    }
}
