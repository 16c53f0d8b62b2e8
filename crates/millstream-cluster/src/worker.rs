//! A worker: a program that takes a replica's place and works until the output is complete.

use crate::place::{BEAT, Claim, Claims, beat};
use crate::{App, Log, LogError, Place, PlaceState, Replica, ReplicaError, Segment, Step};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The longest pause of a worker that has nothing to do.
const PAUSE: Duration = Duration::from_millis(5);
/// How long a worker without a place waits before it looks again.
const LOOKS_AGAIN: Duration = Duration::from_millis(200);

/// The events that a worker reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// All places are taken: it waits for one.
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
/// there are. The number of replicas may change meanwhile; it is looked up in the log, and is that of `app` only if the
/// log has no plan.
///
/// # Errors
///
/// As [`Replica::step`]. The place's record says why.
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
    loop {
        let place = Place::of_this_process();
        let Some(claim) = waits_for_place(log, app, &place, &stops, &mut tell)? else { return Ok(Worked::Stopped) };
        let rank = claim.rank;
        if claim.silent {
            tell(News::Silent(rank));
        }
        tell(News::Took(rank));
        let holds = Holds::start(log.clone(), rank, place);
        let mut replica = Replica::new(segment.clone(), log.clone(), App::between(), app.options(rank));
        let ended = loop {
            if stops() {
                holds.leave(PlaceState::Left);
                return Ok(Worked::Stopped);
            }
            if let Some(news) = holds.ended(rank) {
                break Err(Ended::Place(news));
            }
            match replica.step() {
                Ok(Step::Worked) => {}
                Ok(Step::Idle) => replica.wait(PAUSE),
                Ok(Step::Ended) => break Ok(Worked::Ended),
                Err(error) => break Err(Ended::Replica(error)),
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

/// The number of replicas, which may change.
fn replicas<L: Log>(log: &L, app: &App) -> Result<u32, LogError> {
    Ok(App::read(log)?.map_or(app.replicas, |now| now.replicas))
}

fn waits_for_place<L: Log>(
    log: &L,
    app: &App,
    place: &Place,
    stops: &impl Fn() -> bool,
    tell: &mut impl FnMut(News),
) -> Result<Option<Claim>, ReplicaError> {
    let (mut claims, mut told) = (Claims::default(), false);
    while !stops() {
        match replicas(log, app).and_then(|replicas| claims.claim(log, replicas, place)) {
            Ok(Some(claim)) => return Ok(Some(claim)),
            Ok(None) if !told => {
                told = true;
                tell(News::Waits);
            }
            Err(refused @ LogError::Refused(_)) => return Err(ReplicaError::Log(refused)),
            Ok(None) | Err(_) => {}
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
}

impl Shared {
    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives signs of life until the worker leaves.
    fn beats<L: Log>(&self, log: &L, rank: u32) {
        // A read may be older than the claim.
        let mut taken = 0;
        loop {
            let waits = self.leaves.wait_timeout_while(self.place(), BEAT, |place| place.state == PlaceState::Works);
            let mut place = waits.unwrap_or_else(PoisonError::into_inner).0;
            place.beat += 1;
            let now = place.clone();
            drop(place);
            match beat(log, rank, &now) {
                Ok(false) if taken > 0 => {
                    self.lost.store(true, Ordering::Relaxed);
                    return;
                }
                Ok(false) => taken += 1,
                Ok(true) => {
                    taken = 0;
                    let spare = App::read(log).is_ok_and(|app| app.is_some_and(|app| rank >= app.replicas));
                    self.spare.store(spare, Ordering::Relaxed);
                }
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
    fn start<L: Log + Send + 'static>(log: L, rank: u32, place: Place) -> Self {
        let (lost, spare) = (AtomicBool::new(false), AtomicBool::new(false));
        let shared = Arc::new(Shared { place: Mutex::new(place), leaves: Condvar::new(), lost, spare });
        let beats = {
            let shared = shared.clone();
            thread::Builder::new().name("place".to_owned()).spawn(move || shared.beats(&log, rank))
        };
        // Without this thread another worker takes the place after a while, which does no harm.
        Holds { shared, beats: beats.ok() }
    }

    /// Why the place is not the worker's own any more, if it is not.
    fn ended(&self, rank: u32) -> Option<News> {
        let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        let lost = is(&self.shared.lost).then_some(News::Lost(rank));
        lost.or_else(|| is(&self.shared.spare).then_some(News::Spare(rank)))
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
