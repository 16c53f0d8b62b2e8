use super::{Fanout, Project};
use crate::fusion::{OfPassage, chain_within};
use crate::plan::{Describe, Port};
use crate::{Arrow, Backend, Deploy, Determinate, Flat, KeepsClock, Lens, Pair, Projected, Quiet, Shardable};
use std::marker::PhantomData;

/// The same values through three to eight bodies, joined by number, as one flat tuple.
///
/// It is made of fan-outs in fan-outs, `P`, and [`Flat`], the lens `L`: no deployment knows it.
pub struct FanoutAll<P, L> {
    /// The bodies, as fan-outs in fan-outs: `fanout(fanout(first, second), third)`.
    pub nested: P,
    lens: PhantomData<fn() -> L>,
}
super::debug!(FanoutAll<P, L>);

macro_rules! as_the_bodies {
    ($($marker:ident)+) => {$(
        // It adds no line to the list of types with the marker that the compiler prints.
        #[diagnostic::do_not_recommend]
        impl<P: $marker, L> $marker for FanoutAll<P, L> {}
    )+};
}
as_the_bodies!(KeepsClock Quiet Shardable Determinate);

impl<P, L> FanoutAll<P, L> {
    pub(crate) fn new(nested: P) -> Self {
        FanoutAll { nested, lens: PhantomData }
    }
}

/// Fan-outs in fan-outs: as a type, as a pattern, and what they write.
macro_rules! nested {
    (type $all:ty) => { $all };
    (type $first:ty, $second:ty $(, $rest:ty)*) => { nested!(type Fanout<$first, $second> $(, $rest)*) };
    (pattern $all:pat) => { $all };
    (pattern $first:pat, $second:pat $(, $rest:pat)*) => {
        nested!(pattern Fanout { first: $first, second: $second } $(, $rest)*)
    };
    (output $all:ty) => { $all };
    (output $first:ty, $second:ty $(, $rest:ty)*) => { nested!(output Pair<$first, $second> $(, $rest)*) };
}

macro_rules! fanout_all {
    ($n:literal: $first:ident $one:ident $(, $body:ident $other:ident)+) => {
        impl<$first: Arrow, $($body: Arrow<In = $first::In>),+> Arrow
            for FanoutAll<nested!(type $first, $($body),+), Flat<$n>>
        {
            type In = $first::In;
            type Out = Projected<nested!(output $first::Out, $($body::Out),+), Flat<$n>>;

            fn describe(&self, input: Port, plan: &mut Describe) -> Port {
                let nested!(pattern $one, $($other),+) = &self.nested;
                let input = &input;
                plan.join_all("fanout", vec![
                    Box::new(move |plan| $one.describe(input.clone(), plan)),
                    $(Box::new(move |plan| $other.describe(input.clone(), plan)),)+
                ])
            }
        }
    };
}
fanout_all!(3: A a, B b, C c);
fanout_all!(4: A a, B b, C c, D d);
fanout_all!(5: A a, B b, C c, D d, E e);
fanout_all!(6: A a, B b, C c, D d, E e, F f);
fanout_all!(7: A a, B b, C c, D d, E e, F f, G g);
fanout_all!(8: A a, B b, C c, D d, E e, F f, G g, H h);

impl<K: Backend, P: Deploy<K>, L: Lens<P::Out>> Deploy<K> for FanoutAll<P, L>
where
    Self: Arrow<In = P::In, Out = Projected<P::Out, L>>,
    Project<P::Out, L>: Deploy<K> + Arrow<In = P::Out, Out = Projected<P::Out, L>>,
{
    fn deploy(
        &self,
        input: <P::In as crate::On<K>>::Edge,
        wiring: &mut K::Wiring,
    ) -> <Projected<P::Out, L> as crate::On<K>>::Edge {
        let nested = self.nested.deploy(input, wiring);
        Project::<P::Out, L>::new().deploy(nested, wiring)
    }

    fn passage<V: OfPassage<K, P::In, Projected<P::Out, L>>>(
        &self,
        wiring: &mut K::Wiring,
        then: V,
    ) -> Option<V::Made> {
        chain_within(&self.nested, &Project::<P::Out, L>::new(), wiring, then)
    }
}
