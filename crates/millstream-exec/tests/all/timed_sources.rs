//! Sources that look at a clock. No test depends on how fast it runs: the times are either so short that they always
//! pass, or an hour.

use millstream_core::failure::fail;
use millstream_core::model::sources;
use millstream_core::text::Block;
use millstream_core::{Arrow, Item, Joined, Model, ModelExt, StreamsExt, pipeline};
use millstream_exec::source::{Elapsed, Source};
use millstream_exec::{
    Feed, Inline, JobExt, Queues, Rings, RunError, RunOutcome, Runner, SendError, Sender, Stepped, source,
};
use std::fmt::Debug;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_micros(100);
const LONG: Duration = Duration::from_secs(60);

/// Its outputs on every deployment.
fn everywhere<T: Item + Clone + Debug, X: Source<T>>(source: impl Fn() -> X) -> Vec<Result<Vec<T>, RunError>> {
    let same = || pipeline::<T>();
    let rings = |workers| Rings::new().ring(4).workers(workers);
    let mut all = vec![
        Model.collect(same().from(source())),
        Inline::default().collect(same().from(source())),
        Stepped::new(Rings::new(), 7).collect(same().from(source())),
        Queues::new().capacity(2).collect(same().from(source())),
    ];
    all.extend((1..=3).map(|workers| rings(workers).collect(same().from(source()))));
    all
}

/// An iterator, and the receiver that notices when it is dropped.
fn noticed<I: Iterator>(values: I) -> (impl Iterator<Item = I::Item> + use<I>, Receiver<()>) {
    let (held, dropped) = channel();
    let holds = move |value| {
        let _: &std::sync::mpsc::Sender<()> = &held;
        value
    };
    (values.map(holds), dropped)
}

/// Returns once the iterator is dropped.
fn wait_for_drop(dropped: &Receiver<()>) {
    assert!(dropped.recv().is_err());
}

#[test]
fn a_throttle_passes_every_value_in_order_on_every_deployment() {
    for out in everywhere(|| source::throttle(0..50_u64, SHORT)) {
        assert_eq!(out, Ok((0..50).collect()));
    }
    for out in everywhere(|| source::throttle(source::ready(0..50_u64), Duration::ZERO)) {
        assert_eq!(out, Ok((0..50).collect()));
    }
}

#[test]
fn a_throttle_does_not_ask_its_source_before_the_time_is_over_and_ends_with_the_run() {
    let ends: [fn(millstream_exec::Handle<u64>) -> RunOutcome; 2] =
        [|run| run.drain(LONG).unwrap().1.outcome, |run| run.stop_now().unwrap().1.outcome];
    for end in ends {
        let ((asked, asks), (seen, sees)) = (channel(), channel());
        let (values, dropped) = noticed((0..).inspect(move |n: &u64| asked.send(*n).unwrap()));
        let count = move |count: &mut u64, _, n: &u64| {
            *count += 1;
            seen.send(*n).unwrap();
        };
        let run = Rings::new().start(pipeline().from(source::throttle(values, HOUR)).to_fold(0, count)).unwrap();
        assert_eq!(sees.recv(), Ok(0));
        assert!(matches!(end(run), RunOutcome::Drained | RunOutcome::Stopped));
        wait_for_drop(&dropped);
        assert_eq!(asks.iter().collect::<Vec<_>>(), [0]);
    }
}

#[test]
fn a_stage_that_has_enough_ends_the_wait_of_a_throttle() {
    let (values, dropped) = noticed(0_u64..);
    let out = Rings::new().collect(pipeline().take(1).from(source::throttle(values, HOUR)));
    assert_eq!(out, Ok(vec![0]));
    wait_for_drop(&dropped);
    let (values, dropped) = noticed(0_u64..);
    let out = Queues::new().collect(pipeline().take(1).from(source::throttle(values, HOUR)));
    assert_eq!(out, Ok(vec![0]));
    wait_for_drop(&dropped);
}

#[test]
fn a_queues_run_that_is_drained_ends_the_wait_of_a_throttle() {
    let (seen, sees) = channel();
    let (values, dropped) = noticed(0_u64..);
    let source = source::throttle(values, HOUR);
    let run = Queues::new().start(pipeline().from(source).to_each(move |_, n: &u64| seen.send(*n).unwrap())).unwrap();
    assert_eq!(sees.recv(), Ok(0));
    run.drain(LONG).unwrap();
    wait_for_drop(&dropped);
}

#[test]
fn of_a_burst_the_last_value_passes_on_every_deployment() {
    for out in everywhere(|| source::debounce(0..1000_u64, HOUR)) {
        assert_eq!(out, Ok(vec![999]));
    }
    for out in everywhere(|| source::debounce(Vec::<u64>::new(), HOUR)) {
        assert_eq!(out, Ok(vec![]));
    }
}

/// Nothing newer can come in no time. A value that has passed is not replaced while the pipeline is full.
#[test]
fn a_debounce_of_no_time_passes_everything() {
    for out in everywhere(|| source::debounce(0..300_u64, Duration::ZERO)) {
        assert_eq!(out, Ok((0..300).collect()));
    }
}

#[test]
fn a_value_passes_a_debounce_before_the_stream_ends() {
    let (sender, receiver) = source::channel(4);
    let mut out = Rings::new().iter(pipeline::<u64>().from(source::debounce(receiver, SHORT))).unwrap();
    for n in 0..20 {
        sender.send(n).unwrap();
        assert_eq!(out.next(), Some(n));
    }
    sender.send(20).unwrap();
    drop(sender);
    assert_eq!(out.collect::<Vec<_>>(), [20]);
}

/// What came out depends on the clock. But it is in order, ends with the last value, and is what the stages got.
#[test]
fn what_passes_a_debounce_is_what_the_stages_get() {
    let running = || pipeline::<u64>().scan(0, |sum, n| std::mem::replace(sum, *sum + *n) + *n);
    for workers in 1..=3 {
        let (passed, passes) = channel();
        let values = source::debounce((0..400).inspect(|_| std::thread::yield_now()), Duration::from_micros(3));
        let values = values.into_values().inspect(move |n: &u64| passed.send(*n).unwrap());
        let out = Rings::new().ring(2).workers(workers).collect(running().from(values)).unwrap();
        let passed: Vec<u64> = passes.iter().collect();
        assert!(passed.is_sorted() && passed.last() == Some(&399), "{passed:?}");
        assert_eq!(out, running().model(passed));
    }
}

/// One value after the other, each when a timeout was seen.
fn after_silences(sender: &Sender<u64>, mut next: impl FnMut() -> Option<Result<u64, Elapsed>>) {
    for n in 0..10 {
        assert_eq!(next(), Some(Err(Elapsed { within: SHORT })), "before {n}");
        sender.send(n).unwrap();
        assert_eq!(next(), Some(Ok(n)));
    }
}

#[test]
fn a_silence_is_told_once_and_then_the_stream_goes_on() {
    let (sender, receiver) = source::channel(4);
    let same = || pipeline::<Result<u64, Elapsed>>();
    let mut out = Rings::new().iter(same().from(source::timeout(receiver, SHORT))).unwrap();
    after_silences(&sender, || out.next());
    assert_eq!(out.next(), Some(Err(Elapsed { within: SHORT })));
    drop(sender);
    assert_eq!(out.next(), None);

    let (sender, receiver) = source::channel(4);
    let (seen, sees) = channel();
    let job = same().from(source::timeout(receiver, SHORT)).to_each(move |_, item| seen.send(*item).unwrap());
    let run = Queues::new().start(job).unwrap();
    after_silences(&sender, || sees.recv().ok());
    drop(sender);
    run.wait().unwrap();

    let (sender, receiver) = source::channel(4);
    let mut values = source::timeout(receiver, SHORT).into_values();
    after_silences(&sender, || values.next());
}

#[test]
fn without_a_silence_every_value_comes_on_every_deployment() {
    for out in everywhere(|| source::timeout(0..300_u64, HOUR)) {
        assert_eq!(out, Ok((0..300).map(Ok).collect()));
    }
}

/// The pipeline is full for much longer than the time within which the source always has a value.
#[test]
fn a_full_pipeline_is_no_silence() {
    let (open, gate) = sync_channel::<()>(0);
    let job = pipeline().from(source::timeout(0..100_u64, HOUR)).to_fold(Vec::new(), move |all, _, item| {
        let _ = gate.recv();
        all.push(*item);
    });
    let run = Rings::new().ring(2).start(job).unwrap();
    (0..10).for_each(|_| open.send(()).unwrap());
    drop(open);
    assert_eq!(run.wait().unwrap().0, (0..100).map(Ok).collect::<Vec<_>>());
}

#[test]
fn a_failure_of_the_source_is_the_runs_at_its_number() {
    fn assert_fails<T: Debug>(outs: Vec<Result<Vec<T>, RunError>>) {
        // The first is the model, which has no source to name.
        for out in outs.into_iter().skip(1) {
            assert_eq!(out.unwrap_err().to_string(), "stage \"source\", number 3: the line is cut");
        }
    }
    let failing = || (0..3_u64).chain(std::iter::from_fn(|| fail("the line is cut")));
    assert_fails(everywhere(|| source::throttle(failing(), SHORT)));
    assert_fails(everywhere(|| source::timeout(failing(), HOUR)));
    assert_fails(everywhere(|| source::debounce(failing(), Duration::ZERO)));
}

/// The thread of the inner source ends too, wherever it waits, and a channel refuses values then.
#[test]
fn sources_in_each_other_end_with_the_run() {
    fn assert_refuses(sender: &Sender<u64>) {
        while sender.send(0) != Err(SendError(0)) {}
    }
    let (sender, receiver) = source::channel(1);
    let source = source::debounce(source::timeout(source::throttle(receiver, HOUR), HOUR), Duration::ZERO);
    let mut out = Rings::new().iter(pipeline().from(source)).unwrap();
    sender.send(1).unwrap();
    assert_eq!(out.next(), Some(Ok(1)));
    drop(out);
    assert_refuses(&sender);

    // The inner thread waits for a value, and the taker for the end of an hour.
    let (sender, receiver) = source::channel(1);
    let run = Rings::new().start(pipeline().from(source::timeout(receiver, HOUR)).to_each(|_, _| ())).unwrap();
    run.drain(LONG).unwrap();
    assert_refuses(&sender);

    let (sender, receiver) = source::channel(1);
    let run = Queues::new().start(pipeline().from(source::debounce(receiver, HOUR)).to_each(|_, _| ())).unwrap();
    sender.send(1).unwrap();
    run.drain(LONG).unwrap();
    assert_refuses(&sender);
}

/// A value that is replaced, or is left when the run ends, is dropped; no lock is held meanwhile.
#[test]
fn a_value_may_send_when_it_is_dropped() {
    struct Tells(SyncSender<u64>, u64);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(self.1).unwrap();
        }
    }
    let (tells, told) = sync_channel(100);
    let values = (0..50).map(move |n| Tells(tells.clone(), n));
    let mut values = source::debounce(values, HOUR).into_values();
    assert_eq!(values.next().map(|last| last.1), Some(49));
    assert!(values.next().is_none());
    drop(values);
    let mut told: Vec<_> = told.iter().collect();
    told.sort_unstable();
    assert_eq!(told, (0..50).collect::<Vec<_>>());
}

#[test]
fn the_explanation_says_that_there_are_more_threads() {
    let feed = Feed::of::<u64, _>(&source::few::<4, _>(source::debounce(source::throttle(0..9_u64, HOUR), HOUR)));
    let explained = Rings::new().explain(&pipeline::<u64>().map(|x| x + 1).plan(), feed);
    assert_eq!(explained.source, "may wait and looks at a clock, so it has more than one thread");
    let feed = Feed::of::<u64, _>(&source::throttle(0..9_u64, HOUR));
    let explained = Rings::new().explain(&pipeline::<u64>().map(|x| x + 1).plan(), feed);
    assert_eq!(explained.source, "may wait, so it has a thread");
}

/// A join has its own thread, and those that its sources have besides.
#[test]
fn the_threads_of_joined_sources_are_counted() {
    fn threads<T: Item, X: Source<T>>(_: &X) -> usize {
        X::THREADS
    }
    let (quiet, plain) = (|| source::debounce(0..9_u64, HOUR), || 0..9_u64);
    assert_eq!(threads::<(u64, u64), _>(&source::zip(quiet(), quiet())), 3);
    assert_eq!(threads::<(u64, u64), _>(&source::zip(quiet(), plain())), 2);
    assert_eq!(threads::<(u64, u64), _>(&source::zip(plain(), source::ready(plain()))), 1);
    assert_eq!(threads::<(u64, u64), _>(&source::zip(source::ready(plain()), source::ready(plain()))), 0);
    let joined = source::join_by_number(1, quiet(), |x| *x, quiet(), |x| *x);
    assert_eq!(threads::<(u64, u64), _>(&joined), 3);
    assert_eq!(threads::<Joined<u64, u64>, _>(&joined.outer()), 3);
    assert_eq!(threads::<u64, _>(&source::chain(plain(), quiet())), 2);
}

/// What is made of sources with few slots has few as well, also where the large values are parts of what comes.
#[test]
fn joined_large_values_are_few() {
    fn slots<T: Item, X: Source<T>>(source: &X) -> usize {
        Rings::new().explain(&pipeline::<T>().plan(), Feed::of::<T, X>(source)).rings.bytes / size_of::<T>()
    }
    let (few, blocks) = (|| source::few::<4, _>(0..9_u64), Vec::<Block>::new);
    assert_eq!(slots::<(u64, u64), _>(&source::zip(0..9_u64, few())), 4);
    assert_eq!(slots::<(Block, u64), _>(&source::zip(blocks(), 0..9_u64)), 16);
    let joined = source::join_by_number(1, few(), |x| *x, blocks(), |block| block.len() as u64);
    assert_eq!(slots::<(u64, Block), _>(&joined), 4);
    assert_eq!(slots::<Joined<u64, Block>, _>(&joined.outer()), 4);
    let silent = || source::timeout(blocks(), HOUR);
    assert_eq!(slots::<Result<Block, Elapsed>, _>(&silent()), 16);
    assert_eq!(slots::<Result<Block, Elapsed>, _>(&source::throttle(silent(), SHORT)), 16);
    assert_eq!(slots::<Result<Block, Elapsed>, _>(&source::debounce(silent(), SHORT)), 16);
    assert_eq!(slots::<Result<Block, Elapsed>, _>(&source::again(silent)), 16);
    assert_eq!(slots::<Result<Block, Elapsed>, _>(&source::round_robin([silent(), silent()])), 16);
    assert_eq!(slots::<Result<Block, Elapsed>, _>(&source::by_timestamp([silent()], |_: &_| 0)), 16);
    assert_eq!(slots::<Result<Block, Elapsed>, _>(&source::few::<64, _>(silent())), 16);
    assert_eq!(slots::<u64, _>(&source::chain(few(), source::few::<8, _>(0..9_u64))), 4);
    assert_eq!(slots::<u64, _>(&source::few::<64, _>(few())), 4);
}

/// The model of a timeout says `None` where the source says `Elapsed`.
#[test]
fn a_source_that_is_always_too_slow() {
    let slow = || (0..5_u64).inspect(|_| std::thread::sleep(SHORT * 2));
    let took = (0..5).map(|n| (SHORT * 2, n)).collect();
    let model: Vec<_> = sources::timeout(SHORT, took, Duration::ZERO);
    for out in everywhere(|| source::timeout(slow(), SHORT)) {
        let mut out: Vec<_> = out.unwrap().into_iter().map(Result::ok).collect();
        // The end may take too long as well.
        out.truncate(model.len());
        assert_eq!(out, model);
    }
}
