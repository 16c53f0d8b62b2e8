//! The threads of a shard on queues: one that distributes the numbers in turn, and one that gathers the outputs in the
//! same turn. The original swaps two queues back and forth; this does the same for any number of them.

use super::control::Activity;
use super::message::{At, Queue};
use super::wiring::QueuesWiring;
use millstream_core::Item;

/// Adds a thread that distributes slots in turn, and END to all: END's value goes to the queue whose turn it is.
pub(crate) fn dealt<T: Item>(input: Queue<T>, k: usize, wiring: &mut QueuesWiring) -> Vec<Queue<T>> {
    let (outlets, queues): (Vec<_>, Vec<_>) = (0..k).map(|_| wiring.queue()).unzip();
    let mut turn = 0;
    wiring.helper("dealer", input, move |input: &mut Queue<T>, activity: &Activity| {
        while let Some(message) = input.take(activity) {
            let at = message.at();
            if !outlets[turn].put(at, message.into_value()) {
                return;
            }
            let mut others = outlets.iter().enumerate().filter(|(index, _)| at.end && *index != turn);
            if !others.all(|(_, outlet)| outlet.put(at, None)) {
                return;
            }
            turn = (turn + 1) % k;
        }
    });
    queues
}

/// Adds a thread that gathers slots in turn.
pub(crate) fn gathered<T: Item>(queues: Vec<Queue<T>>, wiring: &mut QueuesWiring) -> Queue<T> {
    let (outlet, output) = wiring.queue();
    let mut queues = queues.into_iter();
    let first = queues.next().expect("a shard has a copy");
    let (mut others, mut turn) = (queues.collect::<Vec<_>>(), 0);
    wiring.helper("gatherer", first, move |first: &mut Queue<T>, activity: &Activity| {
        let k = others.len() + 1;
        loop {
            let queue = if turn == 0 { &mut *first } else { &mut others[turn - 1] };
            let Some(message) = queue.take(activity) else { return };
            let At { end, .. } = message.at();
            // The other queues hold END without a value: its value was sent to the queue whose turn it was.
            if !outlet.put(message.at(), message.into_value()) || end {
                return;
            }
            turn = (turn + 1) % k;
        }
    });
    output
}
