//! The threads of a choice on queues: one that sends every value to its lane and records the lane, and one that
//! collects by these records.

use super::control::Activity;
use super::message::Queue;
use super::wiring::QueuesWiring;
use millstream_core::Either::{self, Left, Right};
use millstream_core::Item;

/// The lane that a value took.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tag {
    Left,
    Right,
}

/// The lanes of a choice, and the tags that record their order.
pub(crate) struct Lanes<A, B> {
    pub(crate) left: Queue<A>,
    pub(crate) right: Queue<B>,
    pub(crate) tags: Queue<Tag>,
}

/// Adds a thread that sends each value to its lane, END to both, and a tag for every slot. The lanes receive values
/// only.
pub(crate) fn routed<T: Item, A: Item, B: Item>(
    input: Queue<T>,
    wiring: &mut QueuesWiring,
    lane: impl Fn(T) -> Option<Either<A, B>> + Send + 'static,
) -> Lanes<A, B> {
    let ((to_left, left), (to_right, right), (tag_outlet, tags)) = (wiring.queue(), wiring.queue(), wiring.queue());
    wiring.helper("router", input, move |input: &mut Queue<T>, activity: &Activity| {
        while let Some(message) = input.take(activity) {
            let at = message.at();
            let value = message.into_value().and_then(&lane);
            let tag = value.as_ref().map(|value| if value.is_left() { Tag::Left } else { Tag::Right });
            let routed = match value {
                Some(Left(a)) => to_left.put(at, Some(a)) && (!at.end || to_right.put(at, None)),
                Some(Right(b)) => to_right.put(at, Some(b)) && (!at.end || to_left.put(at, None)),
                None => !at.end || to_left.put(at, None) && to_right.put(at, None),
            };
            if !(routed && tag_outlet.put(at, tag)) {
                return;
            }
        }
    });
    Lanes { left, right, tags }
}

/// Adds a thread that merges the lanes' outputs in the order of the tags.
pub(crate) fn collected<A: Item, B: Item, U: Item>(
    lanes: Lanes<A, B>,
    wiring: &mut QueuesWiring,
    join: impl Fn(Either<A, B>) -> U + Send + 'static,
) -> Queue<U> {
    let Lanes { mut left, mut right, tags } = lanes;
    let (outlet, output) = wiring.queue();
    wiring.helper("collector", tags, move |tags: &mut Queue<Tag>, activity: &Activity| {
        while let Some(message) = tags.take(activity) {
            let at = message.at();
            let tag = message.into_value();
            let (mut a, mut b) = (None, None);
            if at.end || matches!(tag, Some(Tag::Left)) {
                let Some(message) = left.take(activity) else { return };
                a = message.into_value();
            }
            if at.end || matches!(tag, Some(Tag::Right)) {
                let Some(message) = right.take(activity) else { return };
                b = message.into_value();
            }
            if !outlet.put(at, a.map(Left).or(b.map(Right)).map(&join)) {
                return;
            }
        }
    });
    output
}
