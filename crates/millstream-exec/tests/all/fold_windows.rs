//! Windows that aggregate, on rings.

use millstream_core::{
    Arrow, ClockExt, FoldedWindow, Late, ModelExt, Overflow, SequenceNumber, SplitMix64, Timing, Window, WindowsExt,
    pipeline,
};
use millstream_exec::{JobExt, JobRefExt, Migrations, Rings, Runner, sink, source};

type Value = (u64, u64);

/// A fold whose state depends on the order of the values, and a join that is not symmetric.
fn add(state: &mut u64, (_, time): &Value) {
    *state = state.wrapping_mul(31).wrapping_add(*time);
}

fn join(state: &mut u64, later: u64) {
    *state = state.wrapping_mul(17).wrapping_add(later);
}

/// Random keys and times, more or less in order, compared with the model, which is an independent implementation.
#[test]
fn windows_that_aggregate_are_the_models() {
    let mut source_of = SplitMix64::new(7);
    let mut random = |below: u64| source_of.draw() % below;
    let (mut timings, mut dropped) = ([0; 3], 0);
    for _ in 0..600 {
        let (size, sessions) = (1 + random(9), random(2) == 0);
        let shape = if sessions { Window::session(size) } else { Window::sliding(size, 1 + random(size)) };
        let mut window = shape.lateness(random(12));
        if random(2) == 0 {
            window = window.at_most(random(9) as usize, Overflow::CloseFirst);
        }
        if random(2) == 0 {
            window = window.watermark_by_key();
        }
        if random(2) == 0 {
            window = window.early_every(1 + random(3));
        }
        if random(2) == 0 {
            window = window.refine_within(random(15));
        }
        let (keys, spread) = (1 + random(4), 1 + random(25));
        // Some of them at the end of time.
        let first = if random(4) == 0 { u64::MAX - 160 } else { 0 };
        let values: Vec<Value> = (0..random(60)).map(|n| (random(keys), first + 2 * n + random(spread))).collect();
        let rings = Rings::new().ring(1 << random(5)).batch(1 + random(9) as usize).workers(1 + random(2) as usize);
        let some = || pipeline::<Value>().filter(|(_, time)| time % 7 != 6);
        let (model, slots) = if sessions {
            let p = some().fold_sessions_by(|(key, _)| *key, window, |(_, time)| *time, 1, add, join);
            (p.model_slots(values.clone()), rings.collect_slots((&p).from(source::ready(values.clone()))).unwrap())
        } else {
            let p = some().fold_windows_by(|(key, _)| *key, window, |(_, time)| *time, 1, add);
            (p.model_slots(values.clone()), rings.collect_slots((&p).from(source::ready(values.clone()))).unwrap())
        };
        for result in model.iter().flatten().flatten() {
            timings[result.timing as usize] += 1;
            dropped += result.dropped;
        }
        assert_eq!(slots, model, "{window:?} of {values:?}");
    }
    assert!(timings.iter().all(|n| *n > 1000) && dropped > 100, "{timings:?}, {dropped}");
}

#[test]
fn failures_have_the_number_and_say_what_to_do() {
    let of = |window| {
        let p = pipeline::<Value>().fold_windows_by(|(key, _)| *key, window, |(_, time)| *time, 0, add);
        p.named("tens").from(source::ready([(1, 3), (2, 12), (1, 4)])).collect().unwrap_err().to_string()
    };
    let late = "a value of time 4 is late: its windows have closed, since there was one of time 12";
    assert_eq!(of(Window::tumbling(10).late(Late::Fail)), format!("stage \"tens\", number 2: {late}"));
    let full = of(Window::tumbling(10).lateness(100).at_most(1, Overflow::Fail));
    let expected = "stage \"tens\", number 1: at a value of time 12, there would be more than 1 windows";
    assert!(full.starts_with(expected), "{full}");
}

/// The windows that are open go on under other rules: none of them is lost, or output twice.
#[test]
fn a_stage_goes_on_with_windows_of_other_options() {
    let values: Vec<Value> = (0..200).map(|n| (n % 3, n / 2 * 2 + n * 7 % 13)).collect();
    let stage = |window| {
        let count = |n: &mut u64, _: &Value| *n += 1;
        let p = pipeline::<Value>().fold_windows_by(|(key, _)| *key, window, |(_, time)| *time, 0, count);
        p.named("windows").flatten().named("results")
    };
    let [from, to] = [Window::tumbling(10).lateness(20), Window::tumbling(10).lateness(30)];
    let [refined, own] = [to.refine_within(25), to.watermark_by_key().refine_within(5)];
    for (old, new) in [(from, to), (from, refined), (refined, from), (from, own), (own, refined), (own, from)] {
        let rings = Rings::new().batch(5).upgrade_at(SequenceNumber(90), stage(new));
        let results = rings.collect(stage(old).from(source::ready(values.clone()))).unwrap();
        let whole = |result: &&FoldedWindow<u64, u64>| result.timing == Timing::OnTime;
        let counted: u64 = results.iter().filter(whole).map(|result| result.state + result.dropped).sum();
        assert_eq!(counted, 200, "{old:?}, {new:?}: {results:?}");
    }
}

/// Open windows get another length: each has only values that it contains, each value is in one, and the output is the
/// same in every run, also in one that begins there.
#[test]
fn windows_of_another_length_contain_their_values() {
    let mut source_of = SplitMix64::new(13);
    let mut random = |below: u64| source_of.draw() % below;
    let folded = |window| {
        let push = |all: &mut Vec<u64>, (_, time): &Value| all.push(*time);
        let p = pipeline::<Value>().fold_windows_by(|(key, _)| *key, window, |(_, time)| *time, Vec::new(), push);
        p.named("windows").flatten().named("results")
    };
    let kept = |window| pipeline::<Value>().windows_by(window, |(_, time)| *time).named("windows");
    for _ in 0..200 {
        let [old, new] = [(); 2].map(|()| Window::tumbling(1 + random(60)).lateness(random(40)));
        let (old, new) = if random(2) == 0 { (old, new) } else { (old.watermark_by_key(), new.watermark_by_key()) };
        let values: Vec<Value> = (0..80).map(|n| (n % 2, n + random(30))).collect();
        let at = 1 + random(79);
        let rings = |batch| Rings::new().batch(batch).upgrade_at(SequenceNumber(at), folded(new));
        let [results, again] =
            [1, 16].map(|batch| rings(batch).collect(folded(old).from(source::ready(values.clone()))).unwrap());
        assert_eq!(results, again, "{old:?}, {new:?}");
        for FoldedWindow { start, end, state, .. } in &results {
            assert!(state.iter().all(|time| start <= time && time < end), "{old:?}, {new:?} at {at}: {results:?}");
        }
        let counted: u64 = results.iter().map(|result| result.state.len() as u64 + result.dropped).sum();
        assert_eq!(counted, 80, "{old:?}, {new:?}: {results:?}");
        let (sender, receiver) = source::channel(80);
        let run = Rings::new().start(folded(old).from(receiver).to(sink::collect())).unwrap();
        sender.send_all(values[..at as usize].iter().copied()).unwrap();
        let snapshot = run.snapshot().unwrap();
        drop((run, sender));
        let rings = Rings::new().resume_changed(snapshot, folded(old).plan(), Migrations::new());
        let rest = rings.collect(folded(new).from(source::ready(values[at as usize..].to_vec()))).unwrap();
        assert!(results.ends_with(&rest) && !rest.is_empty(), "{old:?}, {new:?} at {at}: {results:?}, {rest:?}");
        if old == old.watermark_by_key() {
            continue;
        }
        let rings = Rings::new().upgrade_at(SequenceNumber(at), kept(new));
        let windows = rings.collect(kept(old).from(source::ready(values.clone()))).unwrap();
        for window in &windows {
            let times = || window.values.iter().map(|(_, time)| *time);
            assert!(times().all(|time| (window.start..window.end).contains(&time)), "{old:?}, {new:?}: {windows:?}");
        }
        let counted: u64 = windows.iter().map(|window| window.values.len() as u64 + window.dropped).sum();
        assert_eq!(counted, 80, "{old:?}, {new:?}: {windows:?}");
    }
}

/// A window that was open before does not hold back shorter ones, which begin after it and end before it.
#[test]
fn a_window_that_is_shorter_now_closes_before_an_earlier_one() {
    let stage = |window| pipeline::<u64>().windows_by(window, |time| *time).named("windows");
    let given = |old: Window, new: Window, times: &[u64]| {
        let rings = Rings::new().upgrade_at(SequenceNumber(1), stage(new));
        let windows = rings.collect(stage(old).from(source::ready(times.to_vec()))).unwrap();
        windows.into_iter().map(|window| (window.start, window.end, window.values)).collect::<Vec<_>>()
    };
    let [hundred, ten] = [Window::tumbling(100), Window::tumbling(10)];
    let expected = [(50, 60, vec![52]), (60, 70, vec![61]), (0, 100, vec![5, 7, 8]), (100, 110, vec![103])];
    assert_eq!(given(hundred, ten, &[5, 7, 52, 61, 8, 103]), expected);
    // Without room, the one that ends first goes: that of 52, and then 53 is late.
    let full = ten.lateness(100).at_most(2, Overflow::CloseFirst);
    let expected = [(50, 60, vec![52]), (0, 100, vec![5]), (150, 160, vec![151])];
    assert_eq!(given(hundred, full, &[5, 52, 151, 53]), expected);
    // The other way round.
    let expected = [(0, 100, vec![5, 7, 52, 61])];
    assert_eq!(given(ten, hundred, &[5, 7, 52, 61]), expected);
}
