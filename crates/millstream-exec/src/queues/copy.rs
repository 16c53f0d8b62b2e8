//! The threads of a fan-out on queues: one that copies, and one that zips.

use super::control::Activity;
use super::message::Queue;
use super::wiring::QueuesWiring;
use millstream_core::Item;

/// Adds a thread that sends every value to both readers: a copy to the first.
pub(crate) fn copied<T: Item + Clone>(input: Queue<T>, wiring: &mut QueuesWiring) -> (Queue<T>, Queue<T>) {
    split("copier", input, wiring, |value| (value.clone(), value))
}

/// Adds a thread that sends each reader its part of every value.
pub(crate) fn split<T: Item, A: Item, B: Item>(
    name: &str,
    input: Queue<T>,
    wiring: &mut QueuesWiring,
    mut parts: impl FnMut(Option<T>) -> (Option<A>, Option<B>) + Send + 'static,
) -> (Queue<A>, Queue<B>) {
    let ((first, one), (second, other)) = (wiring.queue(), wiring.queue());
    wiring.helper(name, input, move |input: &mut Queue<T>, activity: &Activity| {
        while let Some(message) = input.take(activity) {
            let at = message.at();
            let (a, b) = parts(message.into_value());
            if !(first.put(at, a) && second.put(at, b)) {
                return;
            }
        }
    });
    (one, other)
}

/// Adds a thread that joins two queues by number: a slot has a value if both inputs have one.
pub(crate) fn zipped<A: Item, B: Item>(
    first: Queue<A>,
    mut second: Queue<B>,
    wiring: &mut QueuesWiring,
) -> Queue<(A, B)> {
    let (outlet, output) = wiring.queue();
    wiring.helper("zipper", first, move |first: &mut Queue<A>, activity: &Activity| {
        while let (Some(a), Some(b)) = (first.take(activity), second.take(activity)) {
            let at = a.at();
            debug_assert_eq!(at, b.at(), "the bodies of a fan-out keep their clock");
            if !outlet.put(at, a.into_value().zip(b.into_value())) {
                return;
            }
        }
    });
    output
}

/// Adds a thread that makes one queue of two: a slot has the first queue's value, or else the second's.
pub(crate) fn merged<T: Item>(first: Queue<T>, mut second: Queue<T>, wiring: &mut QueuesWiring) -> Queue<T> {
    let (outlet, output) = wiring.queue();
    wiring.helper("merger", first, move |first: &mut Queue<T>, activity: &Activity| {
        while let (Some(a), Some(b)) = (first.take(activity), second.take(activity)) {
            let at = a.at();
            debug_assert_eq!(at, b.at(), "the wires of a block keep its clock");
            let (a, b) = (a.into_value(), b.into_value());
            let value = if a.is_some() {
                drop(b);
                a
            } else {
                b
            };
            if !outlet.put(at, value) {
                return;
            }
        }
    });
    output
}

/// Adds a thread that drops everything, so that the stages before it can finish.
pub(crate) fn drained<T: Item>(input: Queue<T>, wiring: &mut QueuesWiring) {
    wiring.helper("drain", input, |input: &mut Queue<T>, activity: &Activity| while input.take(activity).is_some() {});
}
