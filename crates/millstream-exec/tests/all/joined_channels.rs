//! Sources that join what several senders send: once a run takes no more, no sender waits for it.

use millstream_core::{Arrow, StreamsExt, pipeline};
use millstream_exec::source::Source;
use millstream_exec::{Handle, JobExt, Queues, Rings, Runner, SendError, Sender, fan_in, source};
use millstream_testkit::within;
use std::sync::mpsc::channel;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Sends until the run takes no more.
fn send_on(sender: &Sender<u64>) -> SendError<u64> {
    (1..).find_map(|n| sender.send(n).err()).unwrap()
}

/// A join's second sender stays silent behind its first value, while `ends` ends the run of the join and the first one
/// sends on.
fn first_sender_ends<X: Source<(u64, u64)> + Send + 'static>(
    join: fn(source::Receiver<u64>, source::Receiver<u64>) -> X,
    ends: impl FnOnce(X) + Send + 'static,
) {
    let ((busy, first), (silent, second)) = (source::channel(4), source::channel(4));
    silent.send(0).unwrap();
    let sends = std::thread::spawn(move || send_on(&busy));
    let joined = join(first, second);
    within(LONG, move || {
        ends(joined);
        sends.join().unwrap();
        send_on(&silent)
    })
    .unwrap();
}

fn fails(pair: &(u64, u64)) -> u64 {
    std::panic::resume_unwind(Box::new(format!("broken at {}", pair.0)))
}

fn with_key_one(_: &u64) -> u64 {
    1
}

#[test]
fn a_failure_ends_the_senders_of_a_join() {
    first_sender_ends(source::zip, |joined| {
        Rings::new().collect(pipeline().map(fails).from(joined)).unwrap_err();
    });
    first_sender_ends(source::zip, |joined| {
        Queues::new().collect(pipeline().map(fails).from(joined)).unwrap_err();
    });
    first_sender_ends(
        |first, second| source::join_by_number(9, first, with_key_one, second, with_key_one),
        |joined| {
            Rings::new().workers(1).collect(pipeline().map(fails).from(joined)).unwrap_err();
        },
    );
}

#[test]
fn a_stage_that_has_enough_ends_the_senders_of_a_join() {
    first_sender_ends(source::zip, |joined| {
        assert_eq!(Rings::new().collect(pipeline().take(1).from(joined)), Ok(vec![(1, 0)]));
    });
    first_sender_ends(source::zip, |joined| {
        assert_eq!(Queues::new().collect(pipeline().take(1).from(joined)), Ok(vec![(1, 0)]));
    });
}

#[test]
fn a_drain_and_a_stop_end_the_senders_of_a_join() {
    let ends: [fn(Handle<u64>); 3] = [|run| drop(run.drain(LONG).unwrap()), |run| drop(run.stop_now().unwrap()), drop];
    for end in ends {
        first_sender_ends(source::zip, move |joined| {
            let (seen, sees) = channel();
            let count = move |count: &mut u64, _, pair: &(u64, u64)| {
                *count += 1;
                seen.send(*pair).unwrap();
            };
            let run = Rings::new().start(pipeline().from(joined).to_fold(0, count)).unwrap();
            assert_eq!(sees.recv(), Ok((1, 0)));
            end(run);
        });
    }
    first_sender_ends(source::zip, |joined| {
        let (seen, sees) = channel();
        let job = pipeline().from(joined).to_each(move |_, pair: &(u64, u64)| seen.send(*pair).unwrap());
        let run = Queues::new().start(job).unwrap();
        assert_eq!(sees.recv(), Ok((1, 0)));
        run.drain(LONG).unwrap();
    });
}

#[test]
fn senders_of_a_fan_in_that_is_joined_end_with_the_run() {
    for silent_is_fan_in in [true, false] {
        let (senders, poller) = fan_in::<u64>(1).ring(4).open(&Rings::new()).unwrap();
        let of_fan_in = senders.into_iter().next().unwrap();
        let (of_channel, receiver) = source::channel(4);
        within(LONG, move || {
            let (busy, silent) = if silent_is_fan_in { (of_channel, of_fan_in) } else { (of_fan_in, of_channel) };
            silent.send(0).unwrap();
            let sends = std::thread::spawn(move || send_on(&busy));
            Rings::new().collect(pipeline().map(fails).from(source::zip(poller, receiver))).unwrap_err();
            sends.join().unwrap();
            send_on(&silent);
        })
        .unwrap();
    }
}

/// The source's thread waits in an iterator that knows of no run, beside the receiver of a channel, while `ends` ends
/// the run. The channel's sender waits for room until then.
fn sender_ends_beside_a_silent_iterator<X: Source<(u64, u64)> + Send + 'static>(
    join: fn(source::Receiver<u64>, std::sync::mpsc::IntoIter<u64>) -> X,
    ends: impl FnOnce(X) + Send + 'static,
) {
    let ((busy, values), (silent, others)) = (source::channel(4), channel());
    silent.send(0).unwrap();
    let sends = std::thread::spawn(move || send_on(&busy));
    let joined = join(values, others.into_iter());
    within(LONG, move || {
        ends(joined);
        sends.join().unwrap();
        drop(silent);
    })
    .unwrap();
}

#[test]
fn a_sender_ends_with_the_run_whatever_else_its_source_waits_for() {
    sender_ends_beside_a_silent_iterator(source::zip, |joined| {
        Rings::new().collect(pipeline().map(fails).from(joined)).unwrap_err();
    });
    sender_ends_beside_a_silent_iterator(source::zip, |joined| {
        Queues::new().collect(pipeline().map(fails).from(joined)).unwrap_err();
    });
    sender_ends_beside_a_silent_iterator(
        |values, others| source::join_by_number(9, values, with_key_one, others, with_key_one),
        |joined| assert_eq!(Rings::new().collect(pipeline().take(1).from(joined)), Ok(vec![(1, 0)])),
    );
    sender_ends_beside_a_silent_iterator(
        |values, others| source::throttle(source::zip(values, others), Duration::ZERO),
        |joined| assert_eq!(Queues::new().collect(pipeline().take(1).from(joined)), Ok(vec![(1, 0)])),
    );
    sender_ends_beside_a_silent_iterator(
        |values, others| source::debounce(source::few::<4, _>(source::zip(values, others)), Duration::ZERO),
        |joined| drop(Rings::new().start(pipeline().from(joined).to_each(|_, _: &(u64, u64)| ())).unwrap()),
    );
    for queues in [false, true] {
        sender_ends_beside_a_silent_iterator(
            |values, others| {
                let values = source::zip(values, source::ready(0..));
                // The first one waits, so the second one is not asked.
                source::chain(source::zip(others.skip(1), source::ready(0..)), values)
            },
            move |joined| {
                let job = pipeline().from(joined).to_each(|_, _: &(u64, u64)| ());
                if queues {
                    Queues::new().start(job).unwrap().drain(LONG).unwrap();
                } else {
                    Rings::new().start(job).unwrap().drain(LONG).unwrap();
                }
            },
        );
    }
}

/// A channel that has no value yet has not ended.
#[test]
fn values_that_come_late_are_joined_all_the_same() {
    let ((sender, first), (other, second)) = (source::channel(4), source::channel(4));
    let late = move |sender: Sender<u64>| {
        std::thread::spawn(move || {
            for n in 0..20 {
                std::thread::sleep(Duration::from_millis(1));
                sender.send(n).unwrap();
            }
        })
    };
    let threads = [late(sender), late(other)];
    let sums = pipeline().map(|(a, b): &(u64, u64)| a + b);
    let out = within(LONG, move || Rings::new().collect(sums.from(source::zip(first, second)))).unwrap();
    assert_eq!(out, Ok((0..20).map(|n| 2 * n).collect()));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
