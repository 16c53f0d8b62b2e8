//! One wire, and another where the first is empty.

use super::as_parts;
use super::{Edges, Merges, Scope};
use crate::pipe::debug;
use crate::plan::{Branch, Describe, Port};
use crate::{Arrow, Deploy, KeepsClock, Merged, On, Otherwise, SameItem};

/// One pipeline over a block, and another one where the first is empty.
pub struct Or<P, Q> {
    first: P,
    second: Q,
}
debug!(Or<P, Q>);
as_parts!(Or<P, Q>: P Q; KeepsClock Quiet Shardable Determinate);

/// The methods of wires and tuples of wires beyond the combinators: for every pipeline over a block.
pub trait WireExt<S: 'static>: Arrow<In = Scope<S>> {
    /// This wire, and `other` at the numbers at which this wire is empty. It is filled where either is.
    ///
    /// Both have items of one type. At END it is the same: END's value is that of `other` if this wire has none there.
    /// No value is copied on rings, and there is no stage.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// let p = wires!(|x: Val<u64>| {
    ///     let even = x.filter(|x| x % 2 == 0);
    ///     let three = x.filter(|x| x % 3 == 0).map(|x| x * 100);
    ///     three.or(even)
    /// });
    /// assert_eq!(p.model(1..7), [2, 300, 4, 600]);
    /// ```
    #[doc(alias("otherwise", "coalesce", "default"))]
    fn or<Q>(self, other: Q) -> Or<Self, Q>
    where
        Q: Arrow<In = Scope<S>, Out: SameItem<Self::Out>> + KeepsClock,
    {
        Or { first: self, second: other }
    }
}

impl<S: 'static, P: Arrow<In = Scope<S>>> WireExt<S> for P {}

impl<S: 'static, P: Arrow<In = Scope<S>>, Q: Arrow<In = Scope<S>, Out: SameItem<P::Out>>> Arrow for Or<P, Q> {
    type In = Scope<S>;
    type Out = Otherwise<P::Out, Q::Out>;

    fn describe(&self, scope: Port, plan: &mut Describe) -> Port {
        let second = scope.clone();
        plan.otherwise("or", |plan| self.first.describe(scope, plan), |plan| self.second.describe(second, plan))
    }
}

#[diagnostic::do_not_recommend]
impl<K, S: 'static, P, Q> Deploy<K> for Or<P, Q>
where
    K: Merges<P::Out, Q::Out>,
    P: Deploy<K> + Arrow<In = Scope<S>>,
    Q: Deploy<K> + Arrow<In = Scope<S>, Out: SameItem<P::Out>>,
    Merged<P::Out, Q::Out>: On<K>,
    Otherwise<P::Out, Q::Out>: On<K>,
    Scope<S>: On<K, Edge = Edges<K>>,
{
    fn deploy(&self, scope: Edges<K>, wiring: &mut K::Wiring) -> <Otherwise<P::Out, Q::Out> as On<K>>::Edge {
        let first = K::in_body(wiring, Branch::Left, |wiring| self.first.deploy_body(scope.clone(), wiring));
        let second = K::in_body(wiring, Branch::Right, |wiring| self.second.deploy_body(scope, wiring));
        K::otherwise(first, second, wiring)
    }
}
