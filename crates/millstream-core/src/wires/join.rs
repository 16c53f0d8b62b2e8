//! Tuples of wires: joined by number.

use super::{BlockBackend, Edges, Joins, Scope};
use crate::pipe::Project;
use crate::plan::{Branch, Describe, Port};
use crate::{Arrow, Deploy, Determinate, Flat, KeepsClock, Lens, On, Pair, Projected, Quiet, Shardable};

macro_rules! as_its_parts {
    ($parts:tt $($marker:ident)+) => { $(as_its_parts!(@ $marker $parts);)+ };
    (@ $marker:ident [$($part:ident)+]) => {
        #[diagnostic::do_not_recommend]
        impl<$($part: $marker),+> $marker for ($($part,)+) {}
    };
}

impl<S: 'static, P: Arrow<In = Scope<S>>, Q: Arrow<In = Scope<S>>> Arrow for (P, Q) {
    type In = Scope<S>;
    type Out = Pair<P::Out, Q::Out>;

    fn describe(&self, scope: Port, plan: &mut Describe) -> Port {
        let second = scope.clone();
        plan.join_wires(vec![
            Box::new(|plan| self.0.describe(scope, plan)),
            Box::new(|plan| self.1.describe(second, plan)),
        ])
    }
}
as_its_parts!([P Q] KeepsClock Quiet Shardable Determinate);

#[diagnostic::do_not_recommend]
impl<K, S: 'static, P, Q> Deploy<K> for (P, Q)
where
    K: Joins<P::Out, Q::Out>,
    P: Deploy<K> + Arrow<In = Scope<S>>,
    Q: Deploy<K> + Arrow<In = Scope<S>>,
    Pair<P::Out, Q::Out>: On<K>,
    Scope<S>: On<K, Edge = Edges<K>>,
{
    fn deploy(&self, scope: Edges<K>, wiring: &mut K::Wiring) -> <Pair<P::Out, Q::Out> as On<K>>::Edge {
        let first = K::in_body(wiring, Branch::First, |wiring| self.0.deploy_body(scope.clone(), wiring));
        let second = K::in_body(wiring, Branch::Second, |wiring| self.1.deploy_body(scope, wiring));
        K::join(first, second, wiring)
    }
}

/// Pairs of pairs, to the left.
macro_rules! nested {
    ($all:ty) => { $all };
    ($first:ty, $second:ty $(, $rest:ty)*) => { nested!(Pair<$first, $second> $(, $rest)*) };
}

/// Calls `$do` with every prefix of the shapes that is a pair, and the shape after it.
macro_rules! joins {
    (impl [$($head:tt)*] [$($where:tt)*] $fn:tt; $all:ty) => {
        $($head)* where $($where)* $fn
    };
    (impl $head:tt [$($where:tt)*] $fn:tt; $first:ty, $second:ty $(, $rest:ty)*) => {
        joins!(impl $head [
            K: Joins<$first, $second>,
            $first: On<K>,
            $second: On<K>,
            Pair<$first, $second>: On<K>,
            $($where)*
        ] $fn; Pair<$first, $second> $(, $rest)*);
    };
}

/// The edge `joined`, of shape `$all`, and those of further parts, side by side.
macro_rules! joined {
    ($scope:ident, $wiring:ident, $joined:expr, $all:ty;) => { $joined };
    (
        $scope:ident, $wiring:ident, $joined:expr, $all:ty;
        $part:ty, $other:ident, $branch:ident; $($rest:tt)*
    ) => {{
        let next = K::in_body($wiring, Branch::$branch, |wiring| $other.deploy_body($scope.clone(), wiring));
        let joined = <K as Joins<$all, $part>>::join($joined, next, $wiring);
        joined!($scope, $wiring, joined, Pair<$all, $part>; $($rest)*)
    }};
}

macro_rules! tuple {
    ($n:literal: $first:ident $one:ident $first_branch:ident $(, $part:ident $other:ident $branch:ident)+) => {
        impl<S: 'static, $first: Arrow<In = Scope<S>>, $($part: Arrow<In = Scope<S>>),+> Arrow
            for ($first, $($part,)+)
        {
            type In = Scope<S>;
            type Out = Projected<nested!($first::Out, $($part::Out),+), Flat<$n>>;

            fn describe(&self, scope: Port, plan: &mut Describe) -> Port {
                let ($one, $($other,)+) = self;
                let scope = &scope;
                plan.join_wires(vec![
                    Box::new(move |plan| $one.describe(scope.clone(), plan)),
                    $(Box::new(move |plan| $other.describe(scope.clone(), plan)),)+
                ])
            }
        }
        as_its_parts!([$first $($part)+] KeepsClock Quiet Shardable Determinate);

        joins!(impl [
            #[diagnostic::do_not_recommend]
            impl<K, S: 'static, $first: Deploy<K> + Arrow<In = Scope<S>>, $($part: Deploy<K> + Arrow<In = Scope<S>>),+>
                Deploy<K> for ($first, $($part,)+)
        ] [
            K: BlockBackend,
            Flat<$n>: Lens<nested!($first::Out, $($part::Out),+)>,
            Projected<nested!($first::Out, $($part::Out),+), Flat<$n>>: On<K>,
            Project<nested!($first::Out, $($part::Out),+), Flat<$n>>: Deploy<K> + Arrow<
                In = nested!($first::Out, $($part::Out),+),
                Out = Projected<nested!($first::Out, $($part::Out),+), Flat<$n>>,
            >,
            Scope<S>: On<K, Edge = Edges<K>>,
        ] {
            fn deploy(&self, scope: Edges<K>, wiring: &mut K::Wiring) -> <Self::Out as On<K>>::Edge {
                let ($one, $($other,)+) = self;
                let first = |wiring: &mut K::Wiring| $one.deploy_body(scope.clone(), wiring);
                let joined = K::in_body(wiring, Branch::$first_branch, first);
                let joined = joined!(scope, wiring, joined, $first::Out; $($part::Out, $other, $branch;)+);
                Project::<nested!($first::Out, $($part::Out),+), Flat<$n>>::new().deploy(joined, wiring)
            }
        }; $first::Out, $($part::Out),+);
    };
}
tuple!(3: A a First, B b Second, C c Third);
tuple!(4: A a First, B b Second, C c Third, D d Fourth);
tuple!(5: A a First, B b Second, C c Third, D d Fourth, E e Fifth);
tuple!(6: A a First, B b Second, C c Third, D d Fourth, E e Fifth, F f Sixth);
tuple!(7: A a First, B b Second, C c Third, D d Fourth, E e Fifth, F f Sixth, G g Seventh);
tuple!(8: A a First, B b Second, C c Third, D d Fourth, E e Fifth, F f Sixth, G g Seventh, H h Eighth);
