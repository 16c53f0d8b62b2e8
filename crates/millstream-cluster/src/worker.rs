//! A worker: a program that takes a replica's place and works until the output is complete.

mod known;

use crate::place::{BEAT, Claim, Claims, beat};
use crate::{App, Log, LogError, Place, PlaceState, Replica, ReplicaError, Segment, SegmentError, Step};
use known::{Known, Own};
use millstream_exec::RunError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The longest pause of a worker that has nothing to do.
const PAUSE: Duration = Duration::from_millis(5);
/// How long a worker without a place waits before it looks again.
const LOOKS_AGAIN: Duration = Duration::from_millis(200);
/// How long a worker that stops tries to write why, and the time between two tries: servers that elect a leader do not
/// answer meanwhile.
const REPORTS: Duration = Duration::from_secs(10);
const REPORTS_AGAIN: Duration = Duration::from_millis(100);

/// How long a worker tries something in vain before it says so.
const SOON: Duration = Duration::from_secs(3);

/// The events that a worker reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// No place is free: it waits for one.
    Waits,
    /// The log has not answered, or has not taken something, for some seconds, for this reason. The worker tries it
    /// again until it is done.
    Waiting(String),
    /// The worker of this rank has given no sign of life for too long, and has left no report: this one takes its
    /// place.
    Silent(u32),
    /// It works as the replica of this rank.
    Took(u32),
    /// Another worker has taken its place, since it was silent for too long.
    Lost(u32),
    /// The application has fewer replicas now, so that this rank is one too many.
    Spare(u32),
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worked {
    /// The output is complete.
    Ended,
    /// It stopped on request.
    Stopped,
}

/// Takes a replica's place as soon as one is free, and works there until the output is complete or `stops` returns
/// true. If a worker dies, another one goes on: from the newest snapshot, which any worker can go on with, however many
/// there are. The numbers of the plan may change meanwhile; they are looked up in the log twice a second, and are those
/// of `app` only if the log has no plan.
///
/// # Errors
///
/// As [`Replica::step`]; the place's record says why, unless it is this machine that lacks what the segment's rings
/// need. [`ReplicaError::Removed`] if the log's plan is gone or that of another application; [`ReplicaError::Other`] if
/// it is of another pipeline than `app` before the worker has a place.
pub fn work<S, L>(
    segment: &S,
    log: &L,
    app: &App,
    stops: impl Fn() -> bool,
    mut tell: impl FnMut(News),
) -> Result<Worked, ReplicaError>
where
    S: Segment + Clone,
    L: Log + Clone + Send + 'static,
{
    let mut known = Known::default();
    loop {
        let place = Place::of_this_process();
        let Some((claim, plan)) = waits_for_place(log, app, &mut known, &place, &stops, &mut tell)? else {
            return Ok(Worked::Stopped);
        };
        let rank = claim.rank;
        if claim.silent {
            tell(News::Silent(rank));
        }
        tell(News::Took(rank));
        let holds = Holds::start(log.clone(), rank, place, known, plan.snapshot_every);
        let own = Own::new(log.clone(), known);
        let mut replica = Replica::new(segment.clone(), own, App::between(), plan.options(rank));
        let mut waits = Waiting::default();
        let ended = loop {
            if stops() {
                holds.leave(PlaceState::Left);
                return Ok(Worked::Stopped);
            }
            if let Some(ended) = holds.ended(rank) {
                break Err(ended);
            }
            if holds.is_gone() {
                thread::sleep(PAUSE);
                continue;
            }
            replica.set_snapshot_every(holds.snapshot_every());
            match replica.step() {
                Ok(Step::Worked) => {}
                Ok(Step::Idle) => replica.wait(PAUSE),
                Ok(Step::Ended) => break Ok(Worked::Ended),
                Err(error) => break Err(Ended::Replica(known.cause(log, error))),
            }
            let why = replica.tries_in_vain(SOON);
            holds.reports(&replica, why.clone());
            waits.says(why, &mut tell);
        };
        holds.reports(&replica, None);
        match ended {
            Ok(ended) => {
                holds.leave(PlaceState::Ended);
                return Ok(ended);
            }
            Err(Ended::Place(news)) => tell(news),
            Err(Ended::Replica(error)) => {
                holds.leave(match &error {
                    ReplicaError::Diverged { .. } => PlaceState::Diverged(error.to_string()),
                    // The place, if there is one, is that of another application.
                    ReplicaError::Removed => PlaceState::Left,
                    // A worker of another machine may have what its rings lack here.
                    ReplicaError::Segment(SegmentError::Run(RunError::Options(_) | RunError::Spawn(_))) => {
                        PlaceState::Left
                    }
                    _ => PlaceState::Failed(error.to_string()),
                });
                return Err(error);
            }
        }
    }
}

/// Whether it was said that the worker waits for the log.
#[derive(Default)]
struct Waiting {
    said: bool,
}

impl Waiting {
    fn says(&mut self, why: Option<String>, tell: &mut impl FnMut(News)) {
        let is_new = why.is_some() && !self.said;
        self.said = why.is_some();
        if let Some(why) = why.filter(|_| is_new) {
            tell(News::Waiting(why));
        }
    }
}

/// Why a worker does not go on in its place.
enum Ended {
    /// It is not its own any more.
    Place(News),
    Replica(ReplicaError),
}

/// Takes a place, and returns it with the plan; `None` if it is asked to stop.
fn waits_for_place<L: Log>(
    log: &L,
    app: &App,
    known: &mut Known,
    place: &Place,
    stops: &impl Fn() -> bool,
    tell: &mut impl FnMut(News),
) -> Result<Option<(Claim, App)>, ReplicaError> {
    let (mut claims, mut told) = (Claims::default(), false);
    let (mut waits, mut since) = (Waiting::default(), None);
    while !stops() {
        let claimed = known.look(log).and_then(|plan| {
            let plan = match plan {
                Some(plan) => plan,
                None if !known.is_found() => app.clone(),
                // It has no places, either.
                None => return Err(ReplicaError::Log(LogError::Unavailable("the plan is gone".to_owned()))),
            };
            plan.check(&app.program, &app.stages)?;
            let claim = claims.claim(log, plan.replicas, place).map_err(ReplicaError::Log)?;
            Ok(claim.map(|claim| (claim, plan)))
        });
        match claimed {
            Ok(Some(claimed)) => return Ok(Some(claimed)),
            Ok(None) => {
                since = None;
                waits.says(None, tell);
                if !std::mem::replace(&mut told, true) {
                    tell(News::Waits);
                }
            }
            // The workers at work could not give a sign of life meanwhile, either.
            Err(ReplicaError::Log(error @ (LogError::Unavailable(_) | LogError::Conflict | LogError::Full))) => {
                claims = Claims::default();
                let is_long = since.get_or_insert_with(Instant::now).elapsed() >= SOON;
                waits.says(is_long.then(|| format!("no place is taken: {error}")), tell);
            }
            Err(error) => return Err(error),
        }
        thread::sleep(LOOKS_AGAIN);
    }
    Ok(None)
}

/// A place that a thread of its own holds, since a step of the replica may take long.
struct Holds {
    shared: Arc<Shared>,
    beats: Option<JoinHandle<()>>,
}

struct Shared {
    place: Mutex<Place>,
    leaves: Condvar,
    lost: AtomicBool,
    spare: AtomicBool,
    /// Whether the last look has not found the application, which may be removed.
    gone: AtomicBool,
    removed: AtomicBool,
    /// The number of batches between two snapshots in the plan.
    snapshot_every: AtomicU64,
}

impl Shared {
    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives signs of life, and looks at the plan, until the worker has left, and its last record is written.
    fn beats<L: Log>(&self, log: &L, rank: u32, mut known: Known) {
        // A read may be older than the claim.
        let mut taken = 0;
        let mut left: Option<Instant> = None;
        loop {
            let waits = self.leaves.wait_timeout_while(self.place(), BEAT, |place| place.state == PlaceState::Works);
            let mut place = waits.unwrap_or_else(PoisonError::into_inner).0;
            place.beat += 1;
            let now = place.clone();
            drop(place);
            match known.look(log) {
                Ok(Some(plan)) => {
                    self.gone.store(false, Ordering::Relaxed);
                    self.spare.store(rank >= plan.replicas, Ordering::Relaxed);
                    self.snapshot_every.store(plan.snapshot_every, Ordering::Relaxed);
                }
                Err(ReplicaError::Removed) => {
                    self.removed.store(true, Ordering::Relaxed);
                    return;
                }
                Ok(None) => self.gone.store(known.is_found(), Ordering::Relaxed),
                Err(_) => {}
            }
            let leaves = now.state != PlaceState::Works;
            // Without the application there is no place, which is not lost for that.
            let is_gone = self.gone.load(Ordering::Relaxed);
            let beaten = if is_gone { Err(LogError::Conflict) } else { beat(log, rank, &now) };
            match beaten {
                Ok(false) if taken > 0 => {
                    self.lost.store(true, Ordering::Relaxed);
                    return;
                }
                Ok(false) => taken += 1,
                Ok(true) | Err(LogError::Refused(_)) if leaves => return,
                Ok(true) => taken = 0,
                // If no answer comes, the place may be lost later.
                Err(_) => {}
            }
            if leaves {
                // A place that is left without a report is free soon, too.
                let most = if now.state == PlaceState::Left { BEAT } else { REPORTS };
                if left.get_or_insert_with(Instant::now).elapsed() >= most {
                    return;
                }
                thread::sleep(REPORTS_AGAIN);
            }
        }
    }
}

impl Holds {
    fn start<L: Log + Send + 'static>(log: L, rank: u32, place: Place, known: Known, snapshot_every: u64) -> Self {
        let shared = Arc::new(Shared {
            place: Mutex::new(place),
            leaves: Condvar::new(),
            lost: AtomicBool::new(false),
            spare: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            removed: AtomicBool::new(false),
            snapshot_every: AtomicU64::new(snapshot_every),
        });
        let beats = {
            let shared = shared.clone();
            thread::Builder::new().name("place".to_owned()).spawn(move || shared.beats(&log, rank, known))
        };
        // Without this thread another worker takes the place after a while, which does no harm.
        Holds { shared, beats: beats.ok() }
    }

    /// Why the place is not the worker's own any more, if it is not.
    fn ended(&self, rank: u32) -> Option<Ended> {
        let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        if is(&self.shared.removed) {
            return Some(Ended::Replica(ReplicaError::Removed));
        }
        let lost = is(&self.shared.lost).then_some(News::Lost(rank));
        lost.or_else(|| is(&self.shared.spare).then_some(News::Spare(rank))).map(Ended::Place)
    }

    /// Whether the application is not there: then nothing is done for it, until it is known to be removed.
    fn is_gone(&self) -> bool {
        self.shared.gone.load(Ordering::Relaxed)
    }

    fn snapshot_every(&self) -> u64 {
        self.shared.snapshot_every.load(Ordering::Relaxed)
    }

    fn reports<S: Segment, L: Log>(&self, replica: &Replica<S, L>, waits: Option<String>) {
        let mut place = self.shared.place();
        place.waits = waits;
        place.position = replica.position();
        place.durable = replica.durable();
        place.appends = replica.appends();
    }

    fn leave(self, state: PlaceState) {
        self.shared.place().state = state;
    }
}

/// Waits for the thread, which writes the last record.
impl Drop for Holds {
    fn drop(&mut self) {
        let mut place = self.shared.place();
        if place.state == PlaceState::Works {
            let failed = || PlaceState::Failed("the worker panicked".to_owned());
            place.state = if thread::panicking() { failed() } else { PlaceState::Left };
        }
        drop(place);
        self.shared.leaves.notify_all();
        if let Some(beats) = self.beats.take() {
            // The thread ends with the call that is under way.
            _ = beats.join();
        }
    }
}
