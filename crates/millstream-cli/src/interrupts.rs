//! SIGINT and SIGTERM: the first signal drains the run, the second one stops it now. Two of one kind that come together
//! are one: `timeout` sends its signal to the process, and then to the group that it is in.

#[cfg(feature = "run")]
mod aside;
mod hang_up;
mod watched;

pub(crate) use hang_up::when_hung_up;
#[cfg(feature = "run")]
pub(crate) use watched::ended;
pub(crate) use watched::{Watched, is_end};

use crate::message::say_soon;
use crate::name;
use crate::outcome::Outcome;
use millstream_exec::{Source, Stopper};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use watched::Wake;

/// How long a stopped run may take to end: its sink may be blocked in a write.
const GRACE: Duration = Duration::from_millis(500);

/// A signal of the first one's kind is the same one if it comes within this time. By hand, two take longer.
const TOGETHER: Duration = Duration::from_millis(100);

/// The signals that came, and what they end.
#[derive(Clone, Default)]
pub(crate) struct Interrupts(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Default)]
struct State {
    /// The first signal; its number is in the exit code.
    first: Option<u8>,
    /// The kind of the first signal, and its time.
    came: Option<(i32, Instant)>,
    /// Whether a second signal has come.
    stopped: bool,
    running: Option<Stopper>,
    when_stopped: Vec<Box<WhenStopped>>,
    /// Called at the first signal. The run is then not drained: its source ends with its input.
    when_drained: Option<Box<dyn Fn() + Send>>,
    /// Wakes threads that wait for input, if any input is watched.
    wake: Option<Arc<Wake>>,
    /// Whether the input has been ended.
    input_ended: bool,
    /// Whether the run has been ended, by a signal or without one.
    ended: bool,
}

impl State {
    fn end_input(&mut self) {
        self.input_ended = true;
        self.wake.iter().for_each(|wake| wake.wake());
    }

    fn end(&mut self) {
        self.ended = true;
        self.drain();
        // Before the input ends, so that its reader knows why.
        self.when_drained.iter().for_each(|drained| drained());
        self.end_input();
    }

    fn drain(&self) {
        if let (Some(running), None) = (&self.running, &self.when_drained) {
            running.drain();
        }
    }
}

/// Stops what the run would wait for. With `true` it must return at once.
type WhenStopped = dyn Fn(bool) + Send;

impl Interrupts {
    /// Listens from now on; until then the signals have their default effect.
    pub(crate) fn listen(&self) -> io::Result<()> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let interrupts = self.clone();
        let builder = thread::Builder::new().name("signals".to_owned());
        builder.spawn(move || signals.forever().for_each(|signal| interrupts.signalled(signal))).map(drop)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signalled(&self, signal: i32) {
        let mut state = self.lock();
        let Some(first) = state.first else {
            state.first = u8::try_from(signal).ok();
            state.came = Some((signal, Instant::now()));
            state.end();
            drop(state);
            self.0.came.notify_all();
            return;
        };
        if state.came.is_some_and(|(kind, at)| kind == signal && at.elapsed() < TOGETHER) {
            return;
        }
        drop(state);
        say_soon(format!("{}: stopped at the second signal: what was under way is lost", name::said()));
        self.stop(first)
    }

    /// Stops the run now, and ends the process if the run does not.
    fn stop(&self, first: u8) -> ! {
        let mut state = self.lock();
        state.stopped = true;
        if let Some(running) = &state.running {
            running.stop_now();
        }
        state.when_stopped.iter().for_each(|stop| stop(false));
        drop(state);
        // The process ends by itself in this time, unless something in it hangs and cannot be stopped.
        thread::sleep(GRACE);
        let state = self.lock();
        state.when_stopped.iter().for_each(|stop| stop(true));
        if let Some(running) = &state.running {
            let stages = running.unfinished();
            let late = stages.iter().filter(|stage| stage.in_step != Some(false));
            let late = late.map(|stage| format!("{}: stage \"{}\" did not end", name::said(), stage.stage));
            let late: Vec<String> = late.collect();
            if !late.is_empty() {
                say_soon(late.join("\n"));
            }
        }
        Outcome::Interrupted(first).exit()
    }

    /// The first signal, if one has come.
    pub(crate) fn first(&self) -> Option<u8> {
        self.lock().first
    }

    /// Whether a second signal has come.
    pub(crate) fn stopped(&self) -> bool {
        self.lock().stopped
    }

    /// At the second signal `stop` is called with `false`, and with `true` if the process has not ended a little later.
    pub(crate) fn when_stopped(&self, stop: impl Fn(bool) + Send + 'static) {
        self.lock().when_stopped.push(Box::new(stop));
    }

    /// If a first signal has come, and no second one within `time`, calls `is_late`, and if that is true, stops the run
    /// as a second signal does.
    pub(crate) fn stop_after(&self, time: Duration, is_late: impl FnOnce() -> bool + Send + 'static) {
        let interrupts = self.clone();
        let later = move || {
            thread::sleep(time);
            let state = interrupts.lock();
            if let (Some(first), false) = (state.first, state.stopped) {
                drop(state);
                if is_late() {
                    interrupts.stop(first);
                }
            }
        };
        // If no thread can be started, a second signal still stops the run.
        let _ = thread::Builder::new().name("signals-late".to_owned()).spawn(later);
    }

    /// The first signal calls `drain` instead of draining the run, whose source ends by itself if its input is
    /// [watched](Interrupts::watch). If it has come already, `drain` is called at once. `drain` must not wait, nor call
    /// any method of this.
    pub(crate) fn when_drained(&self, drain: impl Fn() + Send + 'static) {
        let mut state = self.lock();
        if state.ended {
            drain();
        }
        state.when_drained = Some(Box::new(drain));
    }

    /// Whether the first signal [ends the source](Interrupts::when_drained), and not the run.
    pub(crate) fn ends_source(&self) -> bool {
        self.lock().when_drained.is_some()
    }

    /// An input whose reads fail with an error that [`is_end`] recognizes when a signal comes, or when [the input is
    /// ended](Interrupts::end_input).
    pub(crate) fn watch(&self, file: File) -> io::Result<Watched> {
        let mut state = self.lock();
        let wake = match &state.wake {
            Some(wake) => wake.clone(),
            None => Arc::new(Wake::new()?),
        };
        state.wake = Some(wake.clone());
        if state.input_ended {
            wake.wake();
        }
        Ok(Watched::new(file, wake))
    }

    /// Ends all watched inputs, as if a signal had come.
    pub(crate) fn end_input(&self) {
        self.lock().end_input();
    }

    /// Ends the run as the first signal does, without one.
    #[cfg(feature = "run")]
    pub(crate) fn end(&self) {
        self.lock().end();
        self.0.came.notify_all();
    }

    fn ended(&self) -> bool {
        self.lock().ended
    }

    /// Waits for the first signal.
    pub(crate) fn wait(&self) {
        let state = self.lock();
        let came = self.0.came.wait_while(state, |state| state.first.is_none());
        drop(came);
    }

    /// Waits for the first signal, at most this long.
    #[cfg(feature = "page")]
    pub(crate) fn wait_at_most(&self, time: Duration) {
        let state = self.lock();
        drop(self.0.came.wait_timeout_while(state, time, |state| state.first.is_none()));
    }

    /// Runs `f` on a thread of its own and returns its result; `None` if the run is ended first. Then the result of `f`
    /// is dropped.
    pub(crate) fn unless_interrupted<R: Send + 'static>(
        &self,
        f: impl FnOnce() -> R + Send + 'static,
    ) -> io::Result<Option<R>> {
        let (interrupts, result) = (self.clone(), Arc::new(Mutex::new(None)));
        let shared = result.clone();
        thread::Builder::new().name("waiting".to_owned()).spawn(move || {
            let made = f();
            // Under the waiter's lock, so that the waiter does not miss the result.
            let state = interrupts.lock();
            *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
            drop(state);
            interrupts.0.came.notify_all();
        })?;
        let mut state = self.lock();
        loop {
            let made = result.lock().unwrap_or_else(PoisonError::into_inner).take();
            if made.is_some() || state.ended {
                return Ok(made);
            }
            state = self.0.came.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// From now on signals end this run. If one has come already, the run is drained at once.
    pub(crate) fn attend(&self, run: Stopper) {
        let mut state = self.lock();
        state.running = Some(run);
        if state.ended {
            state.drain();
        }
    }

    /// From now on signals have no run to end.
    pub(crate) fn leave(&self) {
        self.lock().running = None;
    }
}

impl std::fmt::Debug for Interrupts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interrupts").field("first", &self.first()).finish_non_exhaustive()
    }
}

/// A source that ends when a signal has come, if it is given the signals: a run with a handle is drained instead. A
/// `read` that waits is finished first.
#[derive(Debug)]
pub(crate) struct Until<X>(pub(crate) X, pub(crate) Option<Interrupts>);

impl<T: millstream_core::Item, X: Source<T>> Source<T> for Until<X> {
    type Values = UntilValues<X::Values>;
    const WAITS: bool = X::WAITS;
    const IN_LOOP: bool = false;
    const LOOP_BEHIND: bool = X::LOOP_BEHIND;
    const SLOTS: usize = X::SLOTS;

    fn most_slots() -> usize {
        X::most_slots()
    }

    fn waits(&self) -> bool {
        self.0.waits()
    }

    fn into_values(self) -> Self::Values {
        UntilValues { values: self.0.into_values(), interrupts: self.1 }
    }
}

#[derive(Debug)]
pub(crate) struct UntilValues<I> {
    values: I,
    interrupts: Option<Interrupts>,
}

impl<I: Iterator> Iterator for UntilValues<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        match &self.interrupts {
            Some(interrupts) if interrupts.ended() => None,
            _ => self.values.next(),
        }
    }
}
