//! Stages: one thread each, from one queue to another.

use super::control::Activity;
use super::message::{At, Queue};
use super::queue_shape::{LendItem, QueueShape};
use super::wiring::QueuesWiring;
use millstream_core::pipe::{ExpandKernel, FilterKernel};
use millstream_core::{Item, ToOwnedItem};
use std::sync::Arc;

/// Adds a stage. `f` is called with every slot, END included, in order.
pub(crate) fn stage<A: QueueShape, B: Item>(
    input: Queue<A::Owned>,
    wiring: &mut QueuesWiring,
    mut f: impl for<'a> FnMut(Option<A::Ref<'a>>, At) -> Option<B> + Send + 'static,
) -> Queue<B> {
    owning_stage(input, wiring, move |value, at| used_up(value, |value| f(value.as_ref().map(A::lend), at)))
}

/// Calls `f` with a value and then drops the value, before the result is returned: a panic of a drop on the way out
/// would leak the result (rust-lang/rust#47949).
pub(crate) fn used_up<T, R>(value: T, f: impl FnOnce(&T) -> R) -> R {
    let result = f(&value);
    drop(value);
    result
}

/// As [`stage`], for a function that takes the value itself.
pub(crate) fn owning_stage<T: Item, U: Item>(
    input: Queue<T>,
    wiring: &mut QueuesWiring,
    f: impl FnMut(Option<T>, At) -> Option<U> + Send + 'static,
) -> Queue<U> {
    let (work, output) = mapped(wiring, f);
    wiring.stage(input, work);
    output
}

/// As [`owning_stage`], for a thread that is not in the plan.
pub(crate) fn owning_helper<T: Item, U: Item>(
    name: &str,
    input: Queue<T>,
    wiring: &mut QueuesWiring,
    f: impl FnMut(Option<T>, At) -> Option<U> + Send + 'static,
) -> Queue<U> {
    let (work, output) = mapped(wiring, f);
    wiring.helper(name, input, work);
    output
}

fn mapped<T: Item, U: Item>(
    wiring: &mut QueuesWiring,
    mut f: impl FnMut(Option<T>, At) -> Option<U> + Send + 'static,
) -> (impl FnMut(&mut Queue<T>, &Activity) + Send + 'static, Queue<U>) {
    let (outlet, output) = wiring.queue();
    let work = move |input: &mut Queue<T>, activity: &Activity| {
        while let Some(message) = input.take(activity) {
            let at = message.at();
            if !outlet.put(at, f(message.into_value(), at)) {
                return;
            }
        }
    };
    (work, output)
}

/// Adds a stage that renumbers its outputs.
pub(crate) fn renumber_stage<E: ExpandKernel<In: QueueShape>>(
    input: Queue<<E::In as ToOwnedItem>::Owned>,
    wiring: &mut QueuesWiring,
    expand: Arc<E>,
) -> Queue<E::Item> {
    let (outlet, output) = wiring.queue();
    let (mut state, mut number) = (Some(expand.start()), 0);
    wiring.stage(input, move |input, activity| {
        let mut put = |values: E::Values| {
            values.into_iter().all(|value| {
                let at = At { number, end: false };
                number += 1;
                !activity.stopped() && outlet.put(at, Some(value))
            })
        };
        while let Some(message) = input.take(activity) {
            let end = message.at().end;
            let Some(kept) = &mut state else { return };
            let value = message.into_value();
            if value.is_some_and(|value| !put(expand.expand(kept, E::In::lend(&value)))) {
                return;
            }
            if end && state.take().and_then(|state| expand.finish(state)).is_some_and(|values| !put(values)) {
                return;
            }
        }
        if state.is_none() {
            // END is sent even if no reader is left.
            let _ = outlet.put(At { number, end: true }, None);
        }
    });
    output
}

/// Adds a stage that filters by a kernel and ends the stream when the kernel is over. That cancels the stages before
/// it.
pub(crate) fn cut_stage<K: FilterKernel<In: QueueShape>>(
    input: Queue<<K::In as ToOwnedItem>::Owned>,
    wiring: &mut QueuesWiring,
    kernel: Arc<K>,
) -> Queue<<K::In as ToOwnedItem>::Owned> {
    let (outlet, output) = wiring.queue();
    let (mut state, mut next) = (kernel.start(), 0);
    wiring.stage(input, move |input, activity| {
        while !kernel.over(&state) {
            let Some(message) = input.take(activity) else { return };
            let at = message.at();
            next = at.number;
            let kept = message.into_value().filter(|value| kernel.keeps(&mut state, K::In::lend(value)));
            // If a dropped value ends the stream, END takes its number.
            if at.end || kept.is_some() || !kernel.over(&state) {
                if !outlet.put(at, kept) || at.end {
                    return;
                }
                next += 1;
            }
        }
        let _ = outlet.put(At { number: next, end: true }, None);
        activity.cancel_before();
    });
    output
}
