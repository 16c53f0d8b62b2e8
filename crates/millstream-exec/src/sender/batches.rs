//! Batches that are sent with a mark at the end of each.
//!
//! A program that waits for the output of a batch before it goes on has nothing else to do meanwhile. To hand a batch
//! to a worker and to be woken for its output costs two switches of threads, and where other processes use the cores
//! also waits for a core. So the thread that sends runs the stages itself, where that is faster.

use super::{Route, Sender};
use crate::fan_in::WantedCut;
use crate::feed::Output;
use crate::handle::{Handle, LaidCut};
use crate::here_or_apart::HereOrApart;
use crate::keeps::RingRunner;
use crate::pool::{Pool, Visit};
use crate::stages_here::StagesHere;
use crate::stages_on::StagesOn;
use millstream_core::{Item, SequenceNumber};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Windows are compared by the time that this number of values takes.
const VALUES: u32 = 4096;
/// A window has whole batches, and lasts at least this long.
const WINDOW: Duration = Duration::from_millis(2);
/// Batches that take longer are not worth a comparison, which costs several of them: the workers have time to share
/// the work.
const DEAR: Duration = Duration::from_millis(20);
/// Neither are stages that take less than the fourth part of the thread's time: it gains less by the workers than the
/// hand-over costs, and another process may need their cores.
const LIGHT: u32 = 4;

/// Sends batches to a run, each with a mark at its end, and runs the stages on the calling thread where that is faster.
/// Made by [`Handle::batches`].
pub struct BatchSender<T: Item> {
    sender: Sender<T>,
    pool: Arc<Pool>,
    stages: StagesHere,
    ways: HereOrApart,
    window: Window,
    /// The mark of the last batch, if a merge lays it.
    last_wanted: Option<WantedCut>,
}

/// Some batches, and how long the sender's methods took for them.
#[derive(Debug)]
struct Window {
    since: Instant,
    spent: Duration,
    batches: u32,
    values: usize,
}

impl Window {
    fn begin(since: Instant) -> Self {
        Window { since, spent: Duration::ZERO, batches: 0, values: 0 }
    }

    /// How long [`VALUES`] values take if a window's take this long.
    fn pace(&self, took: Duration) -> Duration {
        let nanos = took.as_nanos() as f64 * f64::from(VALUES) / self.values.max(1) as f64;
        Duration::from_nanos(nanos as u64)
    }
}

impl<T: Item> BatchSender<T> {
    fn new(sender: Sender<T>, pool: Arc<Pool>, on: StagesOn) -> Self {
        let now = Instant::now();
        let mut ways = HereOrApart::new(on, Duration::MAX, now);
        ways.stay_here();
        let (stages, window) = (StagesHere::for_batches(&pool), Window::begin(now));
        BatchSender { stages, sender, pool, ways, window, last_wanted: None }
    }

    /// Sends a batch in order, and lays a mark at its end. Returns the mark; `None` if the run takes no more values, or
    /// has ended: then the values that it did not take are dropped. The batch may be empty.
    ///
    /// At most eight batches are under way: the ninth waits until the first has passed.
    ///
    /// For a producer of a [`fan_in`](crate::fan_in), the merge lays the mark: behind the batch and before this
    /// producer's next one, but values of other producers may come in between. The next batch waits until the mark is
    /// laid, so it waits if the merge waits for another producer.
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it: that would wait for itself.
    #[must_use]
    pub fn send(&mut self, values: Vec<T>) -> Option<LaidCut> {
        self.pool.assert_outside();
        let (began, count) = (Instant::now(), values.len());
        let laid = if self.is_here() { self.send_here(values) } else { self.send_apart(values) };
        self.window.batches += 1;
        self.window.values += count;
        self.window.spent += began.elapsed();
        laid
    }

    /// Waits until every stage has reached a mark of this sender, as [`LaidCut::passed`] does. It counts for the
    /// comparison of the two ways.
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it: that would wait for itself.
    #[must_use]
    pub fn passed(&mut self, mark: LaidCut) -> Option<(SequenceNumber, SequenceNumber)> {
        let began = Instant::now();
        if !mark.has_passed() {
            // Something that this thread does not run has to come first, such as a future.
            self.leave();
        }
        let passed = mark.passed();
        self.window.spent += began.elapsed();
        if self.window.spent >= WINDOW {
            self.end_window();
        }
        passed
    }

    fn is_here(&self) -> bool {
        self.ways.is_here() && !self.pool.roster().has_own_threads()
    }

    fn end_window(&mut self) {
        let now = Instant::now();
        let window = std::mem::replace(&mut self.window, Window::begin(now));
        let (was_here, took) = (self.ways.is_here(), now.duration_since(window.since));
        let compares = self.ways.compares();
        if compares && window.spent > DEAR * window.batches.max(1) {
            self.ways.part(now);
        } else if compares && was_here && window.spent * LIGHT < took {
            self.ways.stay_here();
        } else {
            self.ways.passed(now, window.pace(took));
        }
        if was_here && !self.ways.is_here() {
            self.leave();
        }
    }

    fn send_apart(&mut self, values: Vec<T>) -> Option<LaidCut> {
        if let Some(last) = self.last_wanted.take() {
            // Otherwise the merge could take values of this batch with the last ones of that.
            let laid = || last.get().map(|_| true).or_else(|| self.pool.finished().then_some(false));
            self.pool.shared.wait_for(laid).filter(|laid| *laid)?;
        }
        self.sender.send_vec(values).ok()?;
        match &self.sender.route {
            Route::Source(_) => LaidCut::lay(self.pool.clone()),
            Route::FanIn(producer) => {
                let cut = producer.want_cut();
                self.last_wanted = Some(cut.clone());
                Some(LaidCut::wanted(self.pool.clone(), cut))
            }
        }
    }

    /// Sends as much as the stages take on this thread, and the rest as [`send_apart`](Self::send_apart) does.
    fn send_here(&mut self, values: Vec<T>) -> Option<LaidCut> {
        let Route::Source(output) = &self.sender.route else { return self.send_apart(values) };
        let pool = self.pool.clone();
        let Some(visit) = Visit::of(&pool) else { return self.send_apart(values) };
        let shared = &pool.shared;
        if !shared.together() {
            // No worker is woken by what follows.
            shared.begin_together(false);
        }
        shared.took_turn();
        let mut values = VecDeque::from(values);
        let laid = run_batch(&mut self.stages, output, &mut values);
        shared.signal.notify_progress();
        drop(visit);
        match laid {
            Ok(Some(id)) => Some(LaidCut::new(pool, id)),
            Ok(None) => {
                self.leave();
                None
            }
            Err(Left) => {
                self.leave();
                self.send_apart(values.into())
            }
        }
    }

    /// The workers run the stages, until this thread does again.
    fn leave(&self) {
        if self.pool.shared.together() {
            self.pool.shared.end_together();
        }
    }
}

/// The stages, or a mark, have to wait for another thread.
struct Left;

/// Publishes the values, lays a mark behind them, and runs the stages up to it. Returns the mark's id; none if the run
/// takes no more values.
fn run_batch<T: Item>(
    stages: &mut StagesHere,
    output: &Output<T>,
    values: &mut VecDeque<T>,
) -> Result<Option<u64>, Left> {
    let mut was_full = false;
    while !values.is_empty() {
        match output.give(values) {
            None => return Ok(None),
            Some(0) if was_full => return Err(Left),
            given if stages.run() => was_full = given == Some(0),
            _ => return Err(Left),
        }
    }
    let Some(id) = output.lay_cut_quietly() else { return Err(Left) };
    // If not all reach it here, the wait for the mark sees to the rest.
    stages.run();
    Ok(Some(id))
}

/// Ends the stream, as the drop of the [`Sender`] does.
impl<T: Item> Drop for BatchSender<T> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<T: Item> fmt::Debug for BatchSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchSender").finish_non_exhaustive()
    }
}

impl<O, R: RingRunner> Handle<O, R> {
    /// Sends whole batches from now on, by the sender of this run: for a program that needs the output of each batch
    /// up to its mark. Dropping the [`BatchSender`] ends the stream.
    ///
    /// [`StagesOn`] decides on which thread the stages run: on the one that sends, on the workers, or where they are
    /// faster. They run on the workers if a stage has a thread of its own, if batches take more than 20 milliseconds,
    /// and if the sender is one of a [`fan_in`](crate::fan_in). The output is the same. With several producers, values
    /// of the others may come before the mark of a batch.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let odd = pipeline::<u64>().filter(|x| x % 2 == 1);
    /// let (sender, receiver) = source::channel(16);
    /// let run = Rings::new().start(odd.from(receiver).to_fold(0, |sum, _, x| *sum += x))?;
    /// let mut batches = run.batches(sender);
    /// let first = batches.send(vec![1, 2, 3]).expect("the run goes on");
    /// let second = batches.send((4..=9).collect()).expect("the run goes on");
    /// assert_eq!(batches.passed(first).unwrap().0, SequenceNumber(3));
    /// assert_eq!(batches.passed(second).unwrap().0, SequenceNumber(9));
    /// drop(batches);
    /// assert_eq!(run.wait()?.0, 25);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the sender feeds another run.
    #[must_use]
    pub fn batches<T: Item>(&self, sender: Sender<T>) -> BatchSender<T> {
        let pool = self.started.pool.clone();
        assert!(std::ptr::eq(&*pool.shared, sender.shared()), "the sender feeds another run");
        BatchSender::new(sender, pool, self.started.site.rings.which_stages_on())
    }
}
