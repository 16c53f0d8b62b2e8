//! The order in which values come.

use super::{assert_complete, collect, numbered, send_unevenly};
use millstream_core::model::sources;
use millstream_core::pipeline;
use millstream_exec::{
    FromProducer, JobExt, MergeLog, Polled, Poller, Rings, Runner, SendError, Sender, TrySendError, fan_in, source,
};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread::{spawn, yield_now};
use std::time::Duration;

#[test]
fn none_is_lost_and_each_producers_values_are_in_order() {
    let counts = [5000, 3000, 1, 4000];
    for slots in [1, 2, 64, 4096] {
        for batch in [1, 7, 2048] {
            let rings = Rings::new().ring(slots).batch(batch);
            assert_complete(&collect(&rings, fan_in(4), &counts), &counts);
            assert_complete(&collect(&rings, fan_in(4).shared(), &counts), &counts);
            assert_complete(&collect(&rings, fan_in(4).turn(3).ring(8), &counts), &counts);
        }
    }
}

type Sends = fn(&Sender<u64>, &[u64]) -> Result<(), Vec<u64>>;

const SENDS: [Sends; 2] = [
    |sender, values| sender.send_slice(values).map_err(|SendError(rest)| rest.to_vec()),
    |sender, values| sender.send_vec(values.to_vec()).map_err(|SendError(rest)| rest),
];

#[test]
fn values_are_sent_as_a_whole_and_refused_ones_come_back() {
    let values: Vec<u64> = (0..10_000).collect();
    for slots in [1, 8, 1024] {
        for (several, sends) in [false, true].into_iter().flat_map(|several| SENDS.map(|sends| (several, sends))) {
            let of = fan_in(2);
            let (mut senders, mut poller) =
                if several { of.shared() } else { of }.open(&Rings::new().ring(slots)).unwrap();
            let (other, sender) = (senders.pop().unwrap(), senders.pop().unwrap());
            sends(&sender, &[]).unwrap();
            let sent = values.clone();
            let sending = spawn(move || sends(&sender, &sent));
            let mut taken = Vec::new();
            while taken.len() < 5000 {
                poller.poll_for(Duration::MAX, |number, x| taken.push((number.0, x))).unwrap();
            }
            poller.drain();
            assert_eq!(sends(&other, &[7]), Err(vec![7]));
            while poller.poll_for(Duration::MAX, |number, x| taken.push((number.0, x))).unwrap() != Polled::Ended {}
            // A sender of values that are not taken would wait for ever.
            drop(poller);
            let refused = sending.join().unwrap();
            assert!(taken.iter().all(|(number, x)| number == x));
            let (taken, rest) = values.split_at(taken.len());
            assert_eq!(refused.err().unwrap_or_default(), rest, "{slots} slots, {} taken", taken.len());
        }
    }
}

#[test]
fn values_go_to_the_source_of_a_pipeline() {
    let values: Vec<u64> = (1..=5000).collect();
    for (slots, sends) in [4, 4096].into_iter().flat_map(|slots| SENDS.map(|sends| (slots, sends))) {
        let (sender, receiver) = source::channel(slots);
        let run = Rings::new().ring(64).start(pipeline().from(receiver).to_fold(0, |sum, _, x| *sum += x)).unwrap();
        sends(&sender, &values).unwrap();
        drop(sender);
        assert_eq!(run.wait().unwrap().0, 5000 * 5001 / 2);
    }
}

#[test]
fn every_value_has_its_producer() {
    let counts = [700, 900, 0];
    for several in [false, true] {
        let of = fan_in(3).ring(16);
        let of = if several { of.shared() } else { of }.with_producer();
        let all = collect(&Rings::new().workers(2), of, &counts);
        for FromProducer { producer, number, value } in &all {
            assert_eq!((*producer, *number), *value);
        }
        assert_complete(&all.iter().map(|produced| produced.value).collect::<Vec<_>>(), &counts);
    }
}

#[test]
fn values_move_and_none_is_dropped_twice_or_kept() {
    let alive = Arc::new(());
    for several in [false, true] {
        let of = fan_in::<(Box<u64>, Arc<()>)>(3).ring(4);
        let (senders, mut poller) = if several { of.shared() } else { of }.open(&Rings::new()).unwrap();
        for (n, sender) in (0..).zip(&senders) {
            sender.send((Box::new(n), alive.clone())).unwrap();
        }
        let mut sum = 0;
        assert_eq!(poller.poll(|_, (n, _)| sum += *n).unwrap(), Polled::Values(3));
        assert_eq!((sum, Arc::strong_count(&alive)), (3, 1));
        senders[1].send((Box::new(7), alive.clone())).unwrap();
        drop(poller);
        let Err(SendError((seven, _))) = senders[1].send((Box::new(7), alive.clone())) else {
            panic!("it is not taken")
        };
        assert_eq!(*seven, 7);
        drop(senders);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}

#[test]
fn merged_numbers_rise_by_one() {
    let (senders, mut poller) = fan_in(3).ring(4).open(&Rings::new()).unwrap();
    let threads: Vec<_> = senders.into_iter().map(|s| spawn(move || send_unevenly(s, 500))).collect();
    let (mut numbers, mut producers) = (0.., BTreeSet::new());
    poller
        .for_each(|number, (p, _)| {
            assert_eq!(Some(number.0), numbers.next());
            producers.insert(p);
        })
        .unwrap();
    assert_eq!((poller.next_number().0, producers.len()), (1500, 3));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_full_ring_holds_back_only_its_own_producer() {
    let (senders, mut poller) = fan_in(2).ring(4).open(&Rings::new()).unwrap();
    senders[0].send_all(0..4).unwrap();
    assert!(matches!(senders[0].try_send(4), Err(TrySendError::Full { value: 4, .. })));
    assert_eq!((senders[0].free(), senders[1].free()), (0, 4));
    // Sending nothing needs no room.
    senders[0].send_all([]).unwrap();
    senders[1].send_all(10..13).unwrap();
    assert_eq!(poller.poll(|_, _| ()).unwrap(), Polled::Values(7));
    assert_eq!((senders[0].free(), senders[0].sent(), senders[1].sent()), (4, 4, 3));
    assert_eq!(poller.poll(|_, _| ()).unwrap(), Polled::Nothing);
}

#[test]
fn a_flooding_ring_does_not_starve_the_others() {
    let (senders, mut poller) = fan_in(3).ring(1024).turn(8).open(&Rings::new().batch(24)).unwrap();
    senders[0].send_all((0..1000).map(|_| 0)).unwrap();
    senders[1].send_all((0..20).map(|_| 1)).unwrap();
    senders[2].send(2).unwrap();
    let mut order = Vec::new();
    poller.poll(|_, p| order.push(p)).unwrap();
    assert_eq!(order, [[0; 8], [1; 8], [2, 0, 0, 0, 0, 0, 0, 0]].concat());
    // However many values are there, the second producer waits for at most 8 of the first.
    let mut since = 0;
    let mut left = 12;
    while left > 0 {
        poller
            .poll(|_, p| match p {
                1 => (since, left) = (0, left - 1),
                _ => since += 1,
            })
            .unwrap();
        assert!(since <= 16);
    }
}

#[test]
fn one_of_each_in_turn() {
    let counts = [40, 7, 0, 90];
    let lists = || (0..).zip(counts).map(|(p, count)| numbered(p, count).collect()).collect::<Vec<Vec<_>>>();
    for slots in [1, 4, 256] {
        let all = collect(&Rings::new().ring(slots), fan_in(4).round_robin(), &counts);
        assert_eq!(all, sources::round_robin(lists()));
    }
}

#[test]
fn the_earliest_comes_first() {
    let time = |(p, n): &(u32, u64)| n * (u64::from(*p) % 3 + 1) / 4;
    let counts = [40, 7, 0, 90];
    let lists = || (0..).zip(counts).map(|(p, count)| numbered(p, count).collect()).collect::<Vec<Vec<_>>>();
    for slots in [1, 4, 256] {
        let all = collect(&Rings::new().ring(slots), fan_in(4).by_timestamp(time), &counts);
        assert_eq!(all, sources::by_timestamp(lists(), time));
    }
}

/// Values before one whose timestamp is too early come out before the failure.
#[test]
fn a_timestamp_that_goes_back_fails_at_its_number() {
    for batch in [1, 3, 64] {
        let (mut senders, merged) = fan_in(1).by_timestamp(|t: &u64| *t).open(&Rings::new()).unwrap();
        let sender = senders.pop().unwrap();
        sender.send_all([1, 2, 3, 4, 5, 3, 6]).unwrap();
        drop(sender);
        let mut values = Rings::new().batch(batch).iter(pipeline::<u64>().from(merged)).unwrap();
        let came: Vec<u64> = std::iter::from_fn(|| values.try_next().ok().flatten()).collect();
        assert_eq!(came, [1, 2, 3, 4, 5], "{batch}");
    }
}

#[test]
fn a_watermark_lets_others_pass() {
    let (senders, mut poller) = fan_in(3).by_timestamp(|t| *t).open(&Rings::new()).unwrap();
    let polled = |poller: &mut Poller<u64>| {
        let mut all = Vec::new();
        poller.poll(|_, t| all.push(t)).unwrap();
        all
    };
    senders[0].send_all([1, 5, 9]).unwrap();
    senders[1].send(5).unwrap();
    assert_eq!(polled(&mut poller), Vec::<u64>::new());
    senders[2].advance(5);
    // The next value of 1 may also be of time 5, and so may that of 2: it comes after those of 0 and 1.
    assert_eq!(polled(&mut poller), [1, 5, 5]);
    senders[2].advance(9);
    senders[1].advance(10);
    assert_eq!(polled(&mut poller), [9]);
    senders[1].send(20).unwrap();
    drop(senders);
    assert_eq!(polled(&mut poller), [20]);
}

#[test]
fn an_idle_producer_does_not_stop_the_others() {
    let fan_in = fan_in(2).by_timestamp(|t: &u64| *t).idle(Duration::from_millis(2));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let out = seen.clone();
    let (senders, poller) = fan_in.open(&Rings::new()).unwrap();
    let run = Rings::new().start(pipeline().from(poller).to_each(move |_, t| out.lock().unwrap().push(*t))).unwrap();
    senders[0].send_all([1, 2, 3]).unwrap();
    while seen.lock().unwrap().len() < 3 {
        yield_now();
    }
    // It sends again: late, and still in the stream.
    senders[1].send(2).unwrap();
    while seen.lock().unwrap().len() < 4 {
        yield_now();
    }
    drop(senders);
    run.wait().unwrap();
    assert_eq!(*seen.lock().unwrap(), [1, 2, 3, 2]);
}

#[test]
fn the_bound_of_silence_may_be_set_first() {
    let of = fan_in(2).idle(Duration::from_millis(2)).by_timestamp(|t: &u64| *t);
    let (senders, mut poller) = of.open(&Rings::new()).unwrap();
    senders[0].send(1).unwrap();
    assert_eq!(poller.poll_for(Duration::from_secs(60), |_, _| ()).unwrap(), Polled::Values(1));
}

/// A producer that is gone makes room for another one, although the turn is that of a silent one.
#[test]
fn a_silent_producer_does_not_keep_others_from_coming() {
    let (mut senders, mut poller) = fan_in(3).round_robin().open(&Rings::new()).unwrap();
    senders[0].send(1).unwrap();
    let silent = senders.remove(1);
    drop(senders);
    let mut all = Vec::new();
    assert_eq!(poller.poll(|_, x| all.push(x)).unwrap(), Polled::Values(1));
    let (third, fourth) = (silent.add_producer().unwrap(), silent.add_producer().unwrap());
    silent.send_all([2, 5]).unwrap();
    third.send(3).unwrap();
    fourth.send(4).unwrap();
    drop((silent, third, fourth));
    poller.for_each(|_, x| all.push(x)).unwrap();
    assert_eq!(all, [1, 2, 3, 4, 5], "the turn stays with the silent one");
}

#[test]
fn values_out_of_order_are_named() {
    let (senders, mut poller) = fan_in(2).by_timestamp(|t| *t).open(&Rings::new()).unwrap();
    senders[0].send(7).unwrap();
    senders[1].send_all([3, 2]).unwrap();
    let failed = poller.poll(|_, _| ()).unwrap_err().to_string();
    assert!(failed.contains("number 1: producer 1, its number 1: a value of time 2 after one of time 3"), "{failed}");
    assert!(senders[0].send(8).is_err());
}

/// Runs by arrival with a recorder. Returns the output and the record.
fn recorded(several: bool) -> (Vec<(u32, u64)>, MergeLog) {
    let choices = Arc::new(Mutex::new(MergeLog::default()));
    let kept = choices.clone();
    let of = fan_in(3).turn(64).ring(128).record(move |p, count| kept.lock().unwrap().push(p, count));
    let of = if several { of.shared() } else { of };
    let all = collect(&Rings::new(), of, &[4000, 3000, 2000]);
    let choices = choices.lock().unwrap().clone();
    (all, choices)
}

#[test]
fn a_record_replays_to_the_same_output() {
    for several in [false, true] {
        let (all, choices) = recorded(several);
        assert_eq!(choices.values(), 9000);
        let choices = MergeLog::from_bytes(&choices.to_bytes()).unwrap();
        let mut lists: Vec<_> = (0..3).map(|p| numbered(p, 4000)).collect();
        let by_list: Vec<_> = choices
            .iter()
            .flat_map(|(p, count)| lists[p as usize].by_ref().take(count as usize).collect::<Vec<_>>())
            .collect();
        assert_eq!(all, by_list);
        for slots in [1, 32, 4096] {
            let again = collect(&Rings::new().ring(slots), fan_in(3).replay(choices.clone()), &[4000, 3000, 2000]);
            assert_eq!(again, all);
        }
    }
}

#[test]
fn a_replay_reports_missing_values() {
    let replay = |runs: &[(u32, u64)]| fan_in(1).replay(runs.iter().copied().collect()).open(&Rings::new()).unwrap();
    for (runs, cause) in [
        (&[(0, 3)][..], "the record has 1 more values of producer 0, which ended after 2"),
        (&[(0, 2), (4, 1)], "the record has 1 values of producer 4, which does not exist"),
    ] {
        let (senders, mut poller) = replay(runs);
        senders[0].send_all([1, 2]).unwrap();
        drop(senders);
        let failed = poller.for_each(|_, _| ()).unwrap_err().to_string();
        assert!(failed.ends_with(cause), "{failed}");
    }
    let (senders, mut poller) = replay(&[(0, 2)]);
    senders[0].send_all([1, 2]).unwrap();
    poller.for_each(|_, _| ()).unwrap();
    assert!(senders[0].send(3).is_err());
}
