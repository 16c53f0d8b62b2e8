//! Rings, rules and records that do not match: an error, before anything runs or when it shows.

use super::{collect, numbered};
use millstream_core::pipeline;
use millstream_exec::{FanIn, JobExt, MergeLog, OptionsError, Rings, RunError, RunOutcome, Runner, fan_in};
use millstream_testkit::within;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Why it is refused, before there is a sender.
fn refused(of: impl Fn() -> FanIn<u64>, rings: &Rings) -> OptionsError {
    let options = |failed| match failed {
        RunError::Options(refused) => refused,
        other => panic!("{other}"),
    };
    options(of().open(rings).map(|_| ()).unwrap_err())
}

#[test]
fn options_that_are_invalid_or_contradict_each_other_are_refused() {
    let rings = Rings::new();
    assert_eq!(refused(|| fan_in(0), &rings), OptionsError::Producers);
    assert_eq!(refused(|| fan_in(1).turn(0), &rings), OptionsError::Batch);
    assert_eq!(refused(|| fan_in(1).ring(3), &rings), OptionsError::Ring(3));
    // One ring has one order; a rule that chooses among rings, and a replay, need a ring for each producer.
    assert_eq!(refused(|| fan_in(2).shared().round_robin(), &rings), OptionsError::SharedOrder);
    assert_eq!(refused(|| fan_in(2).by_timestamp(|x| *x).shared(), &rings), OptionsError::SharedOrder);
    assert_eq!(refused(|| fan_in(2).shared().replay(MergeLog::default()), &rings), OptionsError::SharedOrder);
}

/// The record of a run with three producers, replayed with as many, fewer and more.
#[test]
fn a_record_of_other_producers_is_an_error() {
    let kept = Arc::new(Mutex::new(MergeLog::default()));
    let record = kept.clone();
    let of = fan_in(3).record(move |producer, count| record.lock().unwrap().push(producer, count));
    let all = collect(&Rings::new(), of, &[300, 200, 100]);
    let choices = kept.lock().unwrap().clone();

    let replayed = |producers: usize| {
        let of = fan_in(producers).replay(choices.clone());
        let (senders, poller) = of.open(&Rings::new()).unwrap();
        let run = Rings::new()
            .start(pipeline().from(poller).to_fold(Vec::new(), |all, _, x: &(u32, u64)| all.push(*x)))
            .unwrap();
        for (sender, count) in senders.into_iter().zip([300, 200, 100, 400]) {
            let producer = sender.producer();
            // A sender whose record has ended has the rest refused.
            drop(std::thread::spawn(move || sender.send_all(numbered(producer, count))));
        }
        run.wait().map(|(all, _)| all)
    };
    assert_eq!(replayed(3).unwrap(), all);
    // A fourth producer is not in the record, and therefore not in the stream.
    assert_eq!(replayed(4).unwrap(), all);
    let failed = replayed(2).unwrap_err().to_string();
    assert!(failed.contains("values of producer 2, which does not exist"), "{failed}");
}

/// A rule by time needs rising times: the error names the producer that broke the order.
#[test]
fn times_that_fall_are_an_error_also_where_another_rule_takes_them() {
    let open = |of: FanIn<u64>| {
        let (mut senders, poller) = of.open(&Rings::new()).unwrap();
        senders.remove(0).send_all([5, 4]).unwrap();
        poller
    };
    let taken = open(fan_in(1)).for_each(|_, _| ());
    assert!(taken.is_ok());
    let failed = open(fan_in(1).by_timestamp(|x| *x)).for_each(|_, _| ()).unwrap_err().to_string();
    assert!(failed.contains("producer 0, its number 1: a value of time 4 after one of time 5"), "{failed}");
}

/// A producer that the run has cut off may have had the values that the record has of it.
#[test]
fn a_replay_that_is_drained_yields_what_was_sent() {
    within(Duration::from_secs(60), || {
        let choices: MergeLog = [(0, 3), (1, 2)].into_iter().collect();
        let (senders, poller) = fan_in(2).replay(choices.clone()).open(&Rings::new()).unwrap();
        senders[0].send_all([1, 2]).unwrap();
        senders[1].send(3).unwrap();
        let sent = pipeline::<u64>().from(poller).to_fold(Vec::new(), |all, _, x| all.push(*x));
        let run = Rings::new().start(sent).unwrap();
        let (all, report) = run.drain(Duration::MAX).unwrap();
        assert_eq!((all, report.outcome), (vec![1, 2, 3], RunOutcome::Drained));

        let (senders, mut poller) = fan_in(2).replay(choices).open(&Rings::new()).unwrap();
        senders[0].send_all([1, 2]).unwrap();
        senders[1].send(3).unwrap();
        poller.drain();
        let mut all = Vec::new();
        poller.for_each(|_, x: u64| all.push(x)).unwrap();
        assert_eq!(all, [1, 2, 3]);
    })
    .unwrap();
}
