//! Endings at random moments: every kind of source, stage, sink and ending, while workers come and go. Nothing may
//! hang, and the reports must add up.

use millstream_core::{Arrow, SequenceNumber, Sparse, SplitMix64, Val, pipeline};
use millstream_exec::source::{self, Source, ready};
use millstream_exec::{Deployable, Handle, JobRefExt, Report, Rings, RunEnd, RunError, RunOutcome, Runner, Wait};
use millstream_testkit::within;
use std::time::Duration;

/// Longer than anything here takes, on any machine.
const LONG: Duration = Duration::from_secs(100);

/// The message of a random panic.
const BOOM: &str = "meant to panic";

#[derive(Clone, Copy)]
struct Random(SplitMix64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0.below(most)
    }

    fn is_one_of(&mut self, most: u64) -> bool {
        self.below(most) == 0
    }

    /// Passes some time, from nothing to a few milliseconds.
    fn pass(&mut self) {
        match self.below(6) {
            0..3 => (0..self.below(300)).for_each(|_| std::hint::spin_loop()),
            3 | 4 => (0..self.below(30)).for_each(|_| std::thread::yield_now()),
            _ => std::thread::sleep(Duration::from_micros(self.below(2000))),
        }
    }
}

/// The numbers at which the source, a stage and the sink panic, if they do.
#[derive(Clone, Copy, Debug)]
struct Failing {
    source: Option<u64>,
    stage: Option<u64>,
    sink: Option<u64>,
}

fn fails(at: Option<u64>, number: u64) {
    if at == Some(number) {
        std::panic::resume_unwind(Box::new(BOOM));
    }
}

/// The pipeline of a round: stages that block and stages that do not, some of which sleep sometimes.
fn stages(failing: Failing, shards: usize) -> impl Deployable<In = Val<u64>, Out = Val<u64, Sparse>> {
    pipeline::<u64>()
        .map(|x| x + 1)
        .shard(shards, |p| {
            p.map_blocking(|x| {
                if x % 64 == 0 {
                    std::thread::sleep(Duration::from_micros(200));
                }
                x * 2
            })
        })
        .fanout(
            |p| p.filter(|x| x % 3 == 0),
            move |p| {
                p.map(move |x| {
                    fails(failing.stage, *x);
                    *x
                })
            },
        )
        .map(|(a, b)| a + b)
}

/// A source whose first value never arrives.
fn waits_forever() -> impl Iterator<Item = u64> + Send + 'static {
    std::iter::from_fn(|| {
        loop {
            std::thread::park();
        }
    })
}

/// Numbers, with an end or without one. One may panic, and some are slow.
fn numbers(end: u64, failing: Failing) -> impl Iterator<Item = u64> + Send + 'static {
    (0..end).inspect(move |x| {
        fails(failing.source, *x);
        if x % 1000 == 999 {
            std::thread::sleep(Duration::from_micros(100));
        }
    })
}

/// The result of a run.
struct Ended {
    state: Option<u64>,
    report: Option<Report>,
    failure: Option<RunError>,
}

impl From<Result<(u64, Report), RunError>> for Ended {
    fn from(ended: Result<(u64, Report), RunError>) -> Self {
        match ended {
            Ok((state, report)) => Ended { state: Some(state), report: Some(report), failure: None },
            Err(failure) => Ended { state: None, report: None, failure: Some(failure) },
        }
    }
}

impl From<RunEnd<u64>> for Ended {
    fn from(ended: RunEnd<u64>) -> Self {
        Ended { state: ended.output, report: Some(ended.report), failure: ended.failure }
    }
}

impl Ended {
    /// The numbers left by a drain that timed out: the source has yielded them, and the sink has not seen them. END may
    /// be among them.
    fn check_left(&self, left: u64) {
        let Some(report) = &self.report else { return };
        assert_eq!(report.outcome, RunOutcome::Stopped);
        let source = report.stages[0].moved;
        assert!([source, source.saturating_sub(1)].contains(&(report.numbers.0 + left)), "{left} left: {report:?}");
    }

    /// `end` is the number at which the source ends.
    fn check(&self, failing: Failing, end: u64) {
        if let Some(failure) = &self.failure {
            let (stage, cause) = match failure {
                RunError::Stage { stage, cause, .. } => (stage, cause),
                RunError::DrainTimeout { left } => return self.check_left(*left),
                other => panic!("{other}"),
            };
            assert_eq!(*cause, format!("panicked: {BOOM}"));
            let meant = match &**stage {
                "source" => failing.source,
                "sink" => failing.sink,
                _ => failing.stage,
            };
            assert!(meant.is_some(), "{failure}");
        }
        let Some(report) = &self.report else { return };
        assert_eq!(report.outcome == RunOutcome::Failed, self.failure.is_some());
        assert_eq!(self.state, Some(report.values), "{report:?}");
        let left: u64 = report.stages.iter().map(|stage| stage.left).sum();
        if matches!(report.outcome, RunOutcome::End | RunOutcome::Drained) {
            assert_eq!(left, 0, "{report:?}");
        }
        // Of a run that came to its end by itself, nothing is lost.
        if report.outcome == RunOutcome::End {
            assert_eq!(report.numbers.0, end, "{report:?}");
            let values = (0..end).filter(|x| 2 * (x + 1) % 3 == 0).count();
            assert_eq!(report.values, values as u64, "{report:?}");
        }
        // No stage has processed more than the stage before it, and END.
        let first = report.stages.iter().find(|stage| stage.name == "map-1").expect("it is a stage");
        let source = &report.stages[0];
        assert!(source.name == "source" && first.moved <= source.moved, "{report:?}");
        assert!(report.numbers.0 <= first.moved && report.values <= report.numbers.0 + 1, "{report:?}");
    }
}

/// Runs a round, and checks its result, unless the handle was dropped.
fn round(seed: u64) {
    let random = &mut Random(SplitMix64::new(seed));
    let mut at = |most: u64| random.is_one_of(6).then(|| random.below(most));
    let failing = Failing { source: at(500), stage: at(1000), sink: at(300) };
    let mut rings = Rings::new().ring(1 << random.below(5)).batch(random.below(20) as usize + 1);
    rings = rings.wait(Wait::ALL[random.below(5) as usize]).pin_workers(random.is_one_of(4));
    if !random.is_one_of(4) {
        rings = rings.workers(random.below(5) as usize + 1);
    }
    let p = stages(failing, random.below(3) as usize + 1);
    let end = if random.is_one_of(3) { random.below(1000) } else { u64::MAX };
    let seen = match random.below(4) {
        0 => run(&p, &rings, ready(numbers(end, failing)), failing, end, random),
        1 => run(&p, &rings, numbers(end, failing), failing, end, random),
        2 => run(&p, &rings, waits_forever(), failing, u64::MAX, random),
        _ => run_fed(&p, &rings, failing, end, random),
    };
    if let Some(seen) = seen {
        seen.check(failing, end);
    }
}

fn sink(failing: Failing) -> impl FnMut(&mut u64, SequenceNumber) + Send + 'static {
    move |n, number| {
        fails(failing.sink, number.0);
        *n += 1;
    }
}

fn run(
    p: &impl Deployable<In = Val<u64>, Out = Val<u64, Sparse>>,
    rings: &Rings,
    source: impl Source<u64>,
    failing: Failing,
    end: u64,
    random: &mut Random,
) -> Option<Ended> {
    let mut sink = sink(failing);
    finish(rings.start(p.from(source).to_fold(0, move |n, number, _| sink(n, number))).unwrap(), end, random)
}

/// Feeds from another thread, until the run takes no more or `end` is reached.
fn run_fed(
    p: &impl Deployable<In = Val<u64>, Out = Val<u64, Sparse>>,
    rings: &Rings,
    failing: Failing,
    end: u64,
    random: &mut Random,
) -> Option<Ended> {
    let mut sink = sink(failing);
    let (sender, receiver) = source::channel(1 << random.below(5));
    let run = rings.start(p.from(receiver).to_fold(0, move |n, number, _| sink(n, number))).unwrap();
    let feeder = std::thread::spawn(move || (0..end).try_for_each(|x| sender.send(x)));
    let seen = finish(run, end, random);
    // A run that has ended takes no more values, so the sender returns.
    let _ = feeder.join().unwrap();
    seen
}

/// Changes the number of workers for a while, and ends the run in some way; `None` if it drops the handle.
fn finish(run: Handle<u64>, end: u64, random: &mut Random) -> Option<Ended> {
    for _ in 0..random.below(4) {
        random.pass();
        run.set_workers(random.below(6) as usize + 1).unwrap();
    }
    random.pass();
    match random.below(8) {
        0 => return Some(run.drain(LONG).into()),
        1 => return Some(run.drain_join(Duration::from_micros(random.below(2000))).into()),
        2 => return Some(run.stop_now().into()),
        3 => return None,
        // Another thread ends it more than once, while this one changes workers and waits.
        4 | 5 => {
            let (stopper, mut other) = (run.stopper(), Random(SplitMix64::new(random.below(u64::MAX))));
            let thread = std::thread::spawn(move || {
                for _ in 0..3 {
                    other.pass();
                    if other.is_one_of(2) { stopper.drain() } else { stopper.stop_now() }
                }
                stopper.stop_now();
            });
            run.set_workers(random.below(3) as usize + 1).unwrap();
            let ended = run.join();
            thread.join().unwrap();
            return Some(ended.into());
        }
        6 => {
            run.begin_drain();
            random.pass();
            run.begin_drain();
        }
        // Waits for its own end, if it has one.
        _ if end == u64::MAX => run.stopper().drain(),
        _ => {}
    }
    Some(run.join().into())
}

/// Thousands of random moments in a full run.
#[test]
fn no_ending_hangs() {
    let rounds = if std::env::var_os("MILLSTREAM_FULL").is_some() { 20_000 } else { 3000 };
    for seed in 0..rounds {
        let ended = within(LONG, move || round(seed));
        assert!(ended.is_ok(), "round {seed} hangs");
    }
}
