//! A worker: a program that takes a replica's place and works until the output is complete.

use crate::place::{BEAT, Claim, Claims, beat};
use crate::{App, Log, LogError, Place, PlaceState, Replica, ReplicaError, Segment, Step};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The longest pause of a worker that has nothing to do.
const PAUSE: Duration = Duration::from_millis(5);
/// How long a worker without a place waits before it looks again.
const LOOKS_AGAIN: Duration = Duration::from_millis(200);
/// An application is removed if this many looks in a row have not found it, in five seconds at most: a server that lags
/// behind may not have it.
const REMOVED: u32 = 10;

/// The events that a worker reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// No place is free: it waits for one.
    Waits,
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
/// As [`Replica::step`]; the place's record says why. [`ReplicaError::Removed`] if the log's plan is gone or that of
/// another application; [`ReplicaError::Other`] if it is of another pipeline than `app` before the worker has a place.
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
        let mut replica = Replica::new(segment.clone(), log.clone(), App::between(), plan.options(rank));
        let mut first = true;
        let ended = loop {
            if stops() {
                holds.leave(PlaceState::Left);
                return Ok(Worked::Stopped);
            }
            if let Some(ended) = holds.ended(rank) {
                break Err(ended);
            }
            if first && replica.position() > 0 {
                // Nothing is appended yet, and the first batch may be that of another application.
                match known.look(log) {
                    Ok(_) => first = false,
                    Err(ReplicaError::Log(LogError::Unavailable(_))) => {
                        thread::sleep(PAUSE);
                        continue;
                    }
                    Err(error) => break Err(Ended::Replica(error)),
                }
            }
            replica.set_snapshot_every(holds.snapshot_every());
            match replica.step() {
                Ok(Step::Worked) => {}
                Ok(Step::Idle) => replica.wait(PAUSE),
                Ok(Step::Ended) => break Ok(Worked::Ended),
                Err(error) => break Err(Ended::Replica(known.cause(log, error))),
            }
            holds.reports(&replica);
        };
        holds.reports(&replica);
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
                    _ => PlaceState::Failed(error.to_string()),
                });
                return Err(error);
            }
        }
    }
}

/// Why a worker does not go on in its place.
enum Ended {
    /// It is not its own any more.
    Place(News),
    Replica(ReplicaError),
}

/// The application as its worker knows it.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Its id, once its plan was found.
    id: Option<u64>,
    /// How many looks since then have not found a plan.
    missed: u32,
}

impl Known {
    /// The plan now; `None` if there is none, or none yet where the log looked.
    fn look<L: Log>(&mut self, log: &L) -> Result<Option<App>, ReplicaError> {
        let Some((app, id)) = App::with_id(log).map_err(ReplicaError::Log)? else {
            self.missed += u32::from(self.id.is_some());
            return if self.missed < REMOVED { Ok(None) } else { Err(ReplicaError::Removed) };
        };
        self.missed = 0;
        if *self.id.get_or_insert(id) != id {
            return Err(ReplicaError::Removed);
        }
        Ok(Some(app))
    }

    /// Why the replica failed: its edges may be those of another application.
    fn cause<L: Log>(&mut self, log: &L, error: ReplicaError) -> ReplicaError {
        match self.look(log) {
            Err(removed @ ReplicaError::Removed) => removed,
            _ => error,
        }
    }
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
    while !stops() {
        let claimed = known.look(log).and_then(|plan| {
            let plan = match plan {
                Some(plan) => plan,
                None if known.id.is_none() => app.clone(),
                None => return Ok(None),
            };
            plan.check(&app.program, &app.stages)?;
            let claim = claims.claim(log, plan.replicas, place).map_err(ReplicaError::Log)?;
            Ok(claim.map(|claim| (claim, plan)))
        });
        match claimed {
            Ok(Some(claimed)) => return Ok(Some(claimed)),
            Ok(None) if !told => {
                told = true;
                tell(News::Waits);
            }
            Ok(None) | Err(ReplicaError::Log(LogError::Unavailable(_) | LogError::Conflict | LogError::Full)) => {}
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
    removed: AtomicBool,
    /// The number of batches between two snapshots in the plan.
    snapshot_every: AtomicU64,
}

impl Shared {
    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives signs of life, and looks at the plan, until the worker leaves.
    fn beats<L: Log>(&self, log: &L, rank: u32, mut known: Known) {
        // A read may be older than the claim.
        let mut taken = 0;
        loop {
            let waits = self.leaves.wait_timeout_while(self.place(), BEAT, |place| place.state == PlaceState::Works);
            let mut place = waits.unwrap_or_else(PoisonError::into_inner).0;
            place.beat += 1;
            let now = place.clone();
            drop(place);
            match known.look(log) {
                Ok(Some(plan)) => {
                    self.spare.store(rank >= plan.replicas, Ordering::Relaxed);
                    self.snapshot_every.store(plan.snapshot_every, Ordering::Relaxed);
                }
                Err(ReplicaError::Removed) => {
                    self.removed.store(true, Ordering::Relaxed);
                    return;
                }
                Ok(None) | Err(_) => {}
            }
            match beat(log, rank, &now) {
                Ok(false) if taken > 0 => {
                    self.lost.store(true, Ordering::Relaxed);
                    return;
                }
                Ok(false) => taken += 1,
                Ok(true) => taken = 0,
                // If no answer comes, the place may be lost later.
                Err(_) => {}
            }
            if now.state != PlaceState::Works {
                return;
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

    fn snapshot_every(&self) -> u64 {
        self.shared.snapshot_every.load(Ordering::Relaxed)
    }

    fn reports<S: Segment, L: Log>(&self, replica: &Replica<S, L>) {
        let mut place = self.shared.place();
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
            place.state = PlaceState::Left;
        }
        drop(place);
        self.shared.leaves.notify_all();
        if let Some(beats) = self.beats.take() {
            // The thread ends with the call that is under way.
            _ = beats.join();
        }
    }
}
