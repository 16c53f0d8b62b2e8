//! Named wires on queues: a wire with k readers has k - 1 threads that copy it.

use super::super::copy::{copied, drained, merged, zipped};
use super::super::message::Queue;
use super::super::queue_shape::QueueShape;
use super::super::stage::{owning_helper, used_up};
use super::super::wiring::QueuesWiring;
use super::Owning;
use crate::Queues;
use millstream_core::pipe::{ShowPart, ToMaybe};
use millstream_core::plan::Branch;
use millstream_core::wires::{BlockBackend, Forks, Joins, Merges};
use millstream_core::{Deploy, Item, Merged, On, Otherwise, Pair, SameItem, Shows, ToOwnedItem};

impl BlockBackend for Queues {
    const COUNTS_READERS: bool = true;

    fn in_body<T>(wiring: &mut QueuesWiring, branch: Branch, inside: impl FnOnce(&mut QueuesWiring) -> T) -> T {
        inside(&mut wiring.body(branch))
    }
}

impl<F: QueueShape + ToOwnedItem<Owned: Clone>> Forks<F> for Queues {
    fn fork(edge: Owning<F>, wiring: &mut QueuesWiring) -> (Owning<F>, Owning<F>) {
        copied(edge, wiring)
    }

    fn unread(edge: Owning<F>, wiring: &mut QueuesWiring) {
        drained(edge, &mut wiring.side_output());
    }
}

impl<A: QueueShape, B: QueueShape> Joins<A, B> for Queues {
    fn join(first: Owning<A>, second: Owning<B>, wiring: &mut QueuesWiring) -> <Pair<A, B> as On<Queues>>::Edge {
        zipped(first, second, wiring)
    }
}

impl<A: QueueShape, B: QueueShape + SameItem<A> + ToOwnedItem<Owned = A::Owned>> Merges<A, B> for Queues {
    fn merge(left: Owning<A>, right: Owning<B>, wiring: &mut QueuesWiring) -> <Merged<A, B> as On<Queues>>::Edge {
        merged(left, right, wiring)
    }

    fn otherwise(
        first: Owning<A>,
        second: Owning<B>,
        wiring: &mut QueuesWiring,
    ) -> <Otherwise<A, B> as On<Queues>>::Edge {
        merged(first, second, wiring)
    }
}

impl<A: QueueShape, T: Item + Clone, C: Shows<A, T>> Deploy<Queues> for ShowPart<A, C, T> {
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<T> {
        let shows = self.shows.clone();
        owning_helper("part", input, wiring, move |value, _| {
            used_up(value, |value| value.as_ref().map(|value| shows.show(A::lend(value)).clone()))
        })
    }
}

impl<A: QueueShape> Deploy<Queues> for ToMaybe<A> {
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<Option<A::Owned>> {
        owning_helper("maybe", input, wiring, |value, at| if at.end { value.map(Some) } else { Some(value) })
    }
}
