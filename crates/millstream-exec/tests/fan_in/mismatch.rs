//! Rings, rules and records that do not fit together: an error, before anything runs or where it shows.

use super::{collect, numbered};
use millstream_core::pipeline;
use millstream_exec::{FanIn, MergeLog, OptionsError, Rings, Run, RunError, fan_in};
use std::sync::{Arc, Mutex};

/// By a poller and by a run: both refuse it, for the same reason.
fn refused(of: impl Fn() -> FanIn<u64>, rings: &Rings) -> OptionsError {
    let options = |failed| match failed {
        RunError::Options(refused) => refused,
        other => panic!("{other}"),
    };
    let polled = options(of().open(rings).map(|_| ()).unwrap_err());
    let run = pipeline().start_fan_in(rings, of(), (), |(), _, _| ());
    assert_eq!(options(run.map(|_| ()).unwrap_err()), polled);
    polled
}

#[test]
fn options_that_fit_with_nothing_or_not_together_are_refused() {
    let rings = Rings::new();
    assert_eq!(refused(|| fan_in(0), &rings), OptionsError::Producers);
    assert_eq!(refused(|| fan_in(1).turn(0), &rings), OptionsError::Batch);
    assert_eq!(refused(|| fan_in(1).ring(3), &rings), OptionsError::Ring(3));
    // One ring has one order; whoever chooses among rings, or replays who chose, needs one for each producer.
    assert_eq!(refused(|| fan_in(2).shared().round_robin(), &rings), OptionsError::SharedOrder);
    assert_eq!(refused(|| fan_in(2).by_timestamp(|x| *x).shared(), &rings), OptionsError::SharedOrder);
    assert_eq!(refused(|| fan_in(2).shared().replay(MergeLog::default()), &rings), OptionsError::SharedOrder);
}

/// The record of a run with three producers, where there are as many, fewer and more.
#[test]
fn a_record_of_other_producers_is_an_error() {
    let kept = Arc::new(Mutex::new(MergeLog::default()));
    let record = kept.clone();
    let of = fan_in(3).record(move |producer, count| record.lock().unwrap().push(producer, count));
    let all = collect(&Rings::new(), of, &[300, 200, 100]);
    let choices = kept.lock().unwrap().clone();

    let replayed = |producers: usize| {
        let of = fan_in(producers).replay(choices.clone());
        let (senders, run) =
            pipeline().start_fan_in(&Rings::new(), of, Vec::new(), |all, _, x: &(u32, u64)| all.push(*x)).unwrap();
        for (sender, count) in senders.into_iter().zip([300, 200, 100, 400]) {
            let producer = sender.producer();
            // Whose record has ended is refused the rest.
            drop(std::thread::spawn(move || sender.send_all(numbered(producer, count))));
        }
        run.wait().map(|(all, _)| all)
    };
    assert_eq!(replayed(3).unwrap(), all);
    // A fourth one is not in the record, and so not in the stream.
    assert_eq!(replayed(4).unwrap(), all);
    let failed = replayed(2).unwrap_err().to_string();
    assert!(failed.contains("values of producer 2, and there is none"), "{failed}");
}

/// A rule by time needs times that rise: the error names who did not give them.
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
    assert!(failed.contains("producer 0, its number 1: a value of time 4 behind one of time 5"), "{failed}");
}
