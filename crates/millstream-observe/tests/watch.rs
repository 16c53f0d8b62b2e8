//! The frames of runs whose behaviour is known.
//!
//! Slow stages sleep, long enough to exceed the disturbances of a busy machine, and measure their own time. The frames
//! are compared with that measurement, and not with the intended time. These tests have a binary of their own, since
//! the threads of other tests would be such a disturbance.

use millstream_core::{Arrow, Deploy, StreamsExt, Val, pipeline};
use millstream_exec::{JobExt, JobRefExt, RingBackend, Rings, Runner, source};
use millstream_observe::{Frame, Options, Watch};
use millstream_testkit::at_some_pace;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The sum of the times of all calls.
type Clock = Arc<AtomicU64>;

/// Tests run one after the other, so that watches do not disturb each other.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sleeps for this time, or somewhat longer.
fn take(clock: &Clock, time: Duration) {
    let begun = Instant::now();
    sleep(time);
    clock.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
}

fn slow(clock: &Clock, time: Duration) -> impl Deploy<RingBackend, In = Val<u64>, Out = Val<u64>> + use<> {
    let clock = clock.clone();
    let slowly = move |x: &u64| {
        take(&clock, time);
        *x
    };
    pipeline::<u64>().map(|x| x + 1).named("front").map_blocking(slowly).named("slow").map(|x| x + 1).named("after")
}

fn assert_sums(frame: &Frame) {
    for stage in &frame.stages {
        let sum = stage.working + stage.starved + stage.blocked;
        assert!((sum - 1.0).abs() < 1e-9, "{stage:?}");
    }
    for worker in &frame.workers {
        assert!((worker.busy + worker.idle + worker.parked - 1.0).abs() < 1e-9, "{worker:?}");
    }
}

/// Whether two figures differ by less than this share of the second.
fn near(is: f64, should: f64, share: f64) -> bool {
    (is / should - 1.0).abs() < share
}

#[test]
fn the_five_measures_of_a_stage_that_is_known() {
    const NUMBERS: u64 = 200;
    let _alone = alone();
    at_some_pace(|pace| {
        let clock = Clock::default();
        let p = slow(&clock, Duration::from_millis(3) * pace);
        let run = Rings::new()
            .ring(8)
            .batch(4)
            .workers(1)
            .start(p.from(source::ready(0..NUMBERS)).to_each(|_, _| ()))
            .unwrap();
        let watch =
            Watch::attach_with(run.observer(), Options::default().frame(Duration::from_millis(50) * pace)).unwrap();
        let (_, report) = run.wait().unwrap();
        let frames = watch.frames();
        let last = watch.finish();
        assert!(
            frames.len() > 5
                && frames.windows(2).all(|two| two[0].number + 1 == two[1].number && two[0].at < two[1].at)
        );
        frames.iter().for_each(|frame| assert_sums(frame));
        // The counts agree with the report; END counts.
        assert!(!last.running);
        let moved: Vec<_> = last.stages.iter().map(|stage| (stage.name.clone(), stage.moved)).collect();
        assert_eq!(moved, report.stages.iter().map(|stage| (stage.name.clone(), stage.moved)).collect::<Vec<_>>());
        assert!(last.rings.iter().all(|ring| ring.produced == NUMBERS + 1 && ring.consumed == [NUMBERS + 1]));

        let took = clock.load(Ordering::Relaxed) as f64 / 1e9;
        let running = &frames[1..frames.len() - 1];
        let mean =
            |of: &dyn Fn(&Frame) -> f64| running.iter().map(|frame| of(frame)).sum::<f64>() / running.len() as f64;
        let stage = |name: &'static str| move |frame: &Frame| frame.stage(name).unwrap().clone();
        // Service time: the stage's own measurement, without the step of END.
        let service = report.stages.iter().find(|stage| stage.name == "slow").unwrap().ns_per_number.unwrap() / 1e9;
        assert!(near(service, took / NUMBERS as f64, 0.05), "{service} and {}", took / NUMBERS as f64);
        // Utilisation: always at work.
        assert!(mean(&|frame| stage("slow")(frame).working) > 0.8);
        let utilisation = mean(&|frame| stage("slow")(frame).utilisation.unwrap());
        assert!(near(utilisation, 1.0, 0.2), "{utilisation}");
        // Saturation: the rings before the stage are full and those after it empty, so the stage is the bottleneck.
        let occupancy = |ring: usize| mean(&move |frame| frame.rings[ring].occupancy);
        assert!(occupancy(0) > 0.8 && occupancy(1) > 0.8, "{} {}", occupancy(0), occupancy(1));
        assert!(occupancy(2) < 0.2 && occupancy(3) < 0.2);
        let waits = [mean(&|frame| stage("front")(frame).blocked), mean(&|frame| stage("after")(frame).starved)];
        assert!(waits.iter().all(|share| *share > 0.75), "{waits:?}, {:#?}", running[1]);
        assert!(running.iter().all(|frame| frame.bottleneck.as_ref().unwrap().stage == "slow"));
        // Throughput: the most that it can do.
        let rate = mean(&|frame| stage("slow")(frame).rate);
        assert!(near(rate, NUMBERS as f64 / took, 0.2), "{rate}");
        // Latency: by Little's law the queue's length is the rate times the wait.
        let latency = last.stage("slow").unwrap().latency.clone().expect("there were latency markers");
        let queued = occupancy(1) * 8.0;
        assert!(near(rate * latency.mean, queued, 0.3), "{rate} times {latency:?} is not {queued}");
        assert!(
            latency.p50 <= latency.p99 && latency.p99 <= latency.max && latency.max < f64::from(pace),
            "{latency:?}"
        );
        let whole = last.latency.clone().unwrap();
        assert!(whole.mean >= latency.mean && whole.count > 10, "{whole:?}");
    });
}

#[test]
fn the_service_time_of_workers_stages_is_what_they_have_measured() {
    let _alone = alone();
    at_some_pace(|pace| {
        let (short, long) = (Clock::default(), Clock::default());
        let (of_short, of_long) = (short.clone(), long.clone());
        let p = pipeline::<u64>()
            .map(move |x| {
                take(&of_short, Duration::from_micros(10) * pace);
                *x
            })
            // It parts the two: stages that are fused have one figure.
            .inspect(|_| ())
            .map(move |x| {
                take(&of_long, Duration::from_millis(1) * pace);
                *x
            });
        let report =
            Rings::new().ring(64).batch(16).workers(1).for_each((&p).from(source::ready(0..300)), |_, _| ()).unwrap();
        for (stage, clock) in [(&report.stages[1], short), (&report.stages[3], long)] {
            let own = clock.load(Ordering::Relaxed) as f64 / 300.0;
            assert!(near(stage.ns_per_number.unwrap(), own, 0.05), "{stage:?}, by its own clock {own}");
        }
    });
}

#[test]
fn a_watch_is_attached_late_and_taken_away() {
    let _alone = alone();
    let clock = Clock::default();
    let (sender, receiver) = source::channel(4096);
    let run = Rings::new()
        .start(slow(&clock, Duration::from_micros(100)).from(receiver).to_fold(0, |n, _, _| *n += 1))
        .unwrap();
    (0..10).for_each(|x| sender.send(x).unwrap());
    for _ in 0..3 {
        let watch = Watch::attach_with(run.observer(), Options::default().frame(Duration::from_millis(5))).unwrap();
        let first = watch.next(None).expect("the run goes on");
        let seen = first.stages[0].moved;
        (0..50).for_each(|x| sender.send(x).unwrap());
        let after = watch.next(Some(first.number)).expect("the run goes on");
        assert!(after.number > first.number);
        let last = watch.finish();
        assert!(last.running, "the run goes on without a watch");
        assert!(last.stages[0].moved >= seen + 50);
        let noted = run.observer().noted();
        sender.send(1).unwrap();
        assert!(
            run.observer().noted() <= noted + 1,
            "only the marker that was requested before is added without a watch"
        );
    }
    drop(sender);
    assert_eq!(run.wait().unwrap().0, 10 + 3 * 51);
}

#[test]
fn waiting_for_a_frame_ends_with_the_run() {
    let _alone = alone();
    let p = pipeline::<u64>().map(|x| x + 1);
    let run = Rings::new().start((&p).from(source::ready(0..1000)).to_each(|_, _| ())).unwrap();
    let watch = Watch::attach(run.observer()).unwrap();
    run.wait().unwrap();
    let mut after = None;
    while let Some(frame) = watch.next(after) {
        after = Some(frame.number);
    }
    let last = watch.finish();
    assert_eq!((Some(last.number), last.running, last.stages[2].moved), (after, false, 1001));
    assert!(last.stages.iter().all(|stage| stage.done));
}

#[test]
fn a_slow_source_is_the_bottleneck_and_an_ended_one_is_starved() {
    let _alone = alone();
    at_some_pace(|pace| {
        let (sender, receiver) = source::channel(4096);
        let run = Rings::new().start(pipeline::<u64>().map(|x| x + 1).from(receiver).to_each(|_, _| ())).unwrap();
        let watch =
            Watch::attach_with(run.observer(), Options::default().frame(Duration::from_millis(50) * pace)).unwrap();
        for x in 0..40 {
            sender.send(x).unwrap();
            sleep(Duration::from_millis(5) * pace);
        }
        let frame = watch.frame().unwrap();
        assert!(frame.stages[0].working > 0.8, "{frame:?}");
        assert_eq!(frame.bottleneck.as_ref().unwrap().stage, "source");
        drop(sender);
        run.wait().unwrap();
        assert_eq!(watch.finish().stages[0].moved, 41);
    });
}

#[test]
fn a_frame_is_plain_data() {
    let _alone = alone();
    let clock = Clock::default();
    let run = Rings::new()
        .start(slow(&clock, Duration::from_millis(1)).from(source::ready(0..50)).to_each(|_, _| ()))
        .unwrap();
    let watch = Watch::attach(run.observer()).unwrap();
    run.wait().unwrap();
    let graph = watch.graph();
    let frame = watch.finish();
    let text = serde_json::to_string(&(&*graph, &*frame)).unwrap();
    let (again_graph, again): (millstream_observe::Graph, Frame) = serde_json::from_str(&text).unwrap();
    assert_eq!((again_graph, again.stages.len()), ((*graph).clone(), 5));
    let counted =
        |frame: &Frame| frame.rings.iter().map(|ring| (ring.produced, ring.consumed.clone())).collect::<Vec<_>>();
    assert_eq!(counted(&again), counted(&frame));
}

#[test]
fn a_fused_stage_names_its_loop_and_has_no_cost_of_its_own() {
    let _alone = alone();
    let p = pipeline::<u64>().map(|x| x + 1).named("more").map(|x| x * 2).named("twice");
    let run = Rings::new().workers(1).start(p.from(0..200_000).to_each(|_, _| ())).unwrap();
    let watch = Watch::attach(run.observer()).unwrap();
    run.wait().unwrap();
    let (mut last, mut after) = (None, None);
    while let Some(frame) = watch.next(after) {
        after = Some(frame.number);
        last = Some(frame);
    }
    let last = last.expect("the run has ended");
    let stage = |index: usize| &last.stages[index];
    assert_eq!((&*stage(1).name, stage(1).fused_into.as_deref(), stage(1).service_ns), ("more", Some("twice"), None));
    assert_eq!((stage(1).moved, stage(2).moved, stage(2).fused_into.as_deref()), (200_001, 200_001, None));
}

/// A step goes on to its end, and its numbers count then.
#[test]
fn a_stopped_run_is_watched_until_its_last_step_has_ended() {
    let _alone = alone();
    let ((begins, begun), (open, opened)) = (channel::<()>(), channel::<()>());
    let opened = Mutex::new(opened);
    let held = move |_, _: &u64| {
        let _ = begins.send(());
        let _ = opened.lock().unwrap().recv();
    };
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().workers(1).start(pipeline::<u64>().from(receiver).to_each(held)).unwrap();
    // It is dropped before the run, which waits for the call.
    let open = open;
    let watch = Watch::attach_with(run.observer(), Options::default().frame(Duration::from_millis(5))).unwrap();
    sender.send_all(0..10).unwrap();
    begun.recv().unwrap();
    run.stopper().stop_now();
    let mut after = watch.frame().map(|frame| frame.number);
    for _ in 0..3 {
        let frame = watch.next(after).expect("the step goes on");
        assert!(frame.running && !frame.stages[1].done, "{frame:?}");
        after = Some(frame.number);
    }
    drop(open);
    let (_, report) = run.wait().unwrap();
    let last = watch.finish();
    let moved = report.stages.last().unwrap().moved;
    assert!(moved > 0 && !last.running);
    assert_eq!(last.stages.last().unwrap().moved, moved);
}

/// The watch looks once at the beginning, and then at the end.
#[test]
fn the_last_frame_is_of_the_version_in_which_the_run_has_ended() {
    let _alone = alone();
    let (sender, receiver) = source::channel(128);
    let run = Rings::new().start(pipeline::<u64>().map(|x| x + 1).from(receiver).to_each(|_, _: &u64| ())).unwrap();
    let watch = Watch::attach_with(run.observer(), Options::default().spacing(Duration::MAX)).unwrap();
    sender.send_all(0..50).unwrap();
    let next = pipeline::<u64>().map(|x| x + 1).named("more").map(|x| x * 2).named("twice");
    let at = run.upgrade(next).unwrap();
    sender.send_all(0..50).unwrap();
    drop(sender);
    run.wait().unwrap();
    let last = watch.finish();
    assert_eq!(watch.failure(), None);
    let moved: Vec<_> = last.stages.iter().map(|stage| (&*stage.name, stage.moved)).collect();
    assert_eq!((last.version, moved), (2, vec![("source", 101), ("more", 51), ("twice", 51), ("sink", 51)]));
    assert_eq!(last.change.as_ref().map(|change| change.at), Some(at.0));
}
