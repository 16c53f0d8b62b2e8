//! Stages that are one loop: the rings' side of [`millstream_core::fusion`].
//!
//! A run on one thread fuses its stages, in the outer level and in bodies, but not inside `shard` or `shard_by`. A run
//! that may try more workers does not: a second worker can share only stages that are apart. The body of a `feedback`
//! is fused in every run, since one worker steps all of a loop.
//!
//! Where the source is [`ready`](crate::source::ready), and no stage needs its ring, a run with one worker goes past
//! all rings, those of the source and the sink among them (`fusion/whole.rs`). So does a run on the calling thread,
//! value by value if its source may wait. Where the first stage cuts text, a number of the source becomes many there.
//! Then the loop takes the values from the source's ring, whatever the source, in the first stage's place
//! (`fusion/new_clock.rs`). Steps of a few numbers go through the rings.
//!
//! The tasklet of the loop is the last stage's. Each stage before it also has a tasklet, an *onlooker*, which only
//! counts the numbers that the loop has moved. So reports, observers and errors have the same stages, with the same
//! names and numbers, fused or not. The time of the loop counts for the last stage.

mod clocks;
mod cost;
mod ends;
mod lent_stage;
pub(crate) mod link;
mod make_loop;
mod new_clock;
mod passages;
mod past;
mod stages;
mod taken;
mod texts;
mod whole;

pub(crate) use cost::LEAST_PAST;
pub(crate) use ends::{JobEnds, LentSource, NoEnds, RunEnds, sink_tasklet};
pub(crate) use make_loop::{MakeLoop, MakesLoop};
pub(crate) use new_clock::{OfCut, OfExpand};
pub(crate) use passages::{Focused, OfFilter, OfStage, OfState, Shown, Unfocused, sides};
pub(crate) use stages::{InFront, Last, LastWithState, Making, fuse, fuse_on};
pub(crate) use texts::{OfFormat, Slicing};

/// The methods of [`Deploy`](millstream_core::Deploy) for a stage on the workers that keeps no state, apart and fused.
/// The block maps a slot, for a ring of these items and this density; `$empties` says whether a filled slot can become
/// an empty one. It calls a function and has no closure: a closure's type has the parameters of the methods around it,
/// which are the stages of the whole chain.
macro_rules! stateless {
    (|$stage:ident: $a:ty| -> ($b:ty, $d:ty, $empties:literal) $making:block) => {
        fn deploy(&self, input: Reader<$a>, wiring: &mut Wiring) -> Reader<Val<$b, $d>> {
            let $stage = self;
            let end = crate::stage::EndSlot::of::<$d>();
            crate::group_stage::stateless_stage::<$a, $b, $d>(input, wiring, end, crate::wiring::Home::Workers, $making)
        }

        crate::fusion::fused_stage!(|$stage: $a, _wiring| crate::fusion::Making::<_, $b, $d, $empties>::new($making));
    };
}

/// The methods of [`Deploy`](millstream_core::Deploy) for a stage that can be before others and last, `if` a condition
/// of its types holds. The function maps a slot.
macro_rules! fused_stage {
    ($(if $fuses:expr;)? |$stage:ident: $a:ty, $wiring:ident| $making:expr) => {
        crate::fusion::fused_last!($(if $fuses;)? |$stage: $a, $wiring| crate::fusion::Last($making));
        crate::fusion::fused_in_front!($(if $fuses;)? |$stage: $a, $wiring| $making);
    };
}

/// The method of [`Deploy`](millstream_core::Deploy) for a stage that can be last. `$last` is a kernel.
macro_rules! fused_last {
    ($(if $fuses:expr;)? |$stage:ident: $a:ty, $wiring:ident| $last:expr) => {
        fn fused_after<P0: Deploy<RingBackend<R>> + Arrow<Out = Self::In>>(
            &self,
            before: &P0,
            input: <P0::In as On<RingBackend<R>>>::Edge,
            level: Level,
            $wiring: &mut Wiring,
        ) -> <Self::Out as On<RingBackend<R>>>::Edge {
            $(if !$fuses {
                let between = before.deploy_fused(input, level, $wiring);
                $wiring.advance();
                return self.deploy_fused(between, level, $wiring);
            })?
            let $stage = self;
            let last = $last;
            crate::fusion::fuse::<R, $a, P0, _>(before, input, last, level, $wiring)
        }
    };
}

/// The methods of [`Deploy`](millstream_core::Deploy) for a stage with a state, that can be last. `$last` is a
/// [`LastWithState`].
macro_rules! fused_with_state {
    (|$stage:ident: $a:ty, $wiring:ident| $last:expr) => {
        crate::fusion::fused_last!(|$stage: $a, $wiring| $last);

        fn passage<V0: OfPassage<RingBackend<R>, Self::In, Self::Out>>(
            &self,
            $wiring: &mut Wiring,
            then: V0,
        ) -> Option<V0::Made> {
            let $stage = self;
            let last = $last;
            then.make(crate::fusion::OfState::new(last, $wiring), $wiring)
        }
    };
}

/// The methods of [`Deploy`](millstream_core::Deploy) for a stage that can be before others.
macro_rules! fused_in_front {
    ($(if $fuses:expr;)? |$stage:ident: $a:ty, $wiring:ident| $in_front:expr) => {
        fn fused_between<P0, N0>(
            &self,
            before: &P0,
            input: <P0::In as On<RingBackend<R>>>::Edge,
            next: N0,
            level: Level,
            $wiring: &mut Wiring,
        ) -> Fusing<RingBackend<R>, Self::Out, N0>
        where
            P0: Deploy<RingBackend<R>> + Arrow<Out = Self::In>,
            N0: SlotKernel<RingBackend<R>, Self::Out>,
        {
            $(if !$fuses {
                return Fusing::Apart(self.fused_after(before, input, level, $wiring), next);
            })?
            let $stage = self;
            let in_front = $in_front;
            crate::fusion::fuse_on::<R, $a, Self::Out, P0, _, N0>(before, input, in_front, next, level, $wiring)
        }

        fn passage<V0: OfPassage<RingBackend<R>, Self::In, Self::Out>>(
            &self,
            $wiring: &mut Wiring,
            then: V0,
        ) -> Option<V0::Made> {
            $(if !$fuses {
                return None;
            })?
            let $stage = self;
            let in_front = $in_front;
            then.make(crate::fusion::OfStage::in_front::<$a, Self::Out>(in_front, $wiring), $wiring)
        }
    };
}
pub(crate) use {fused_in_front, fused_last, fused_stage, fused_with_state, stateless};
