use crate::address::Address;
use crate::evolve::Children;
use crate::hello::Secret;
use crate::hub::Hub;
use crate::master::{Counts, Tuning, check_length};
use crate::message::LONGEST_REQUEST;
use crate::received::Received;
use crate::serve::serve;
use crate::threads::Threads;
use crate::wire::put;
use crate::{Checkpoint, Evolve, EvolveError, EvolveMany, Glance, Histogram, Token};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// Options of a population.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the master deals out states.
    pub tuning: Tuning,
    /// The secret that workers at a socket must know.
    pub secret: Secret,
    /// Bytes that the master sends to each worker at a socket, as a description of its work; at most 256 MiB.
    pub program: Vec<u8>,
    /// How long to wait for a worker if there is none.
    pub join_within: Duration,
    /// Whether each worker thread is pinned to a physical core of its own, with its siblings left idle.
    pub pin: bool,
}

impl Options {
    /// The default options, with this secret for workers at a socket.
    #[must_use]
    pub fn new(secret: Secret) -> Self {
        Options {
            tuning: Tuning::default(),
            secret,
            program: Vec::new(),
            join_within: Duration::from_secs(60),
            pin: false,
        }
    }
}

/// A population on many workers: threads of this process, and workers that join over a socket. Its results are those of
/// [`Model`](crate::Model).
///
/// The calling thread is the master; all workers wait while it does other work. A state, an input or an output takes at
/// most 256 MiB as bytes, and all children of one state with their outputs less than 4 GiB. Lists of states are sent in
/// messages of about 4 MiB. All results of one round are in memory at once, and so is the initial population.
///
/// The master reads, writes and drops values on the calling thread, and workers do so on theirs. A panic on the calling
/// thread unwinds out of the call, and the population is unusable afterwards. A panic in a worker is an error that
/// names the state.
///
/// Dropping a population ends its workers. Its threads end when they have evolved their current state. A thread that
/// takes longer than [`Tuning::patience`] for that is detached, and ends by itself later.
///
/// ```
/// use millstream::evolve::{Evolve, EvolveMany, Options, Population, Random, Secret};
/// # struct Doubles;
/// # impl Evolve for Doubles {
/// #     type State = u64;
/// #     type Input = u64;
/// #     type Output = u64;
/// #     fn evolve(&self, n: &u64, times: &u64, _: &mut Random) -> Vec<(u64, u64)> { vec![(n * times, n * times)] }
/// # }
///
/// let mut population = Population::new(1, Options::new(Secret::new("among us")))?;
/// population.add_threads(&std::sync::Arc::new(Doubles), 2)?;
/// let tokens = population.reset_states(vec![1, 2, 3])?;
/// let results =
///     population.evolve_many(tokens.into_iter().map(|token| (token, 10)).collect())?;
/// assert_eq!(results.values().flatten().map(|(_, output)| output).sum::<u64>(), 60);
/// # Ok::<(), millstream::evolve::EvolveError>(())
/// ```
pub struct Population<E: Evolve> {
    hub: Hub,
    options: Options,
    seed: u64,
    resets: u64,
    round: u64,
    broken: bool,
    keep_all: bool,
    watch: Option<Watch>,
    threads: Threads,
    evolve: PhantomData<fn() -> E>,
}

/// A callback that receives the progress of a round.
pub type Watch = Box<dyn FnMut(&Glance<'_>) + Send>;

impl<E: Evolve> std::fmt::Debug for Population<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Population").field("round", &self.round).field("workers", &self.workers()).finish()
    }
}

impl<E: Evolve> Population<E> {
    /// A population without states and workers. Its tokens depend on this seed.
    ///
    /// # Errors
    ///
    /// If the system has no `epoll`, or no descriptor for it. If the options' program is too long.
    pub fn new(seed: u64, options: Options) -> Result<Self, EvolveError> {
        check_length("the program", options.program.len())?;
        let fits =
            Box::new(|bytes: &[u8], state: bool| if state { is::<E::State>(bytes) } else { is::<E::Output>(bytes) });
        let hub = Hub::new(options.tuning.clone(), options.secret.clone(), options.program.clone(), fits)?;
        Ok(Population {
            hub,
            options,
            seed,
            resets: 0,
            round: 0,
            broken: false,
            keep_all: false,
            watch: None,
            threads: Threads::default(),
            evolve: PhantomData,
        })
    }

    /// Adds workers, each a thread of this process.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread or a descriptor. The workers that were added before the error stay.
    pub fn add_threads(&mut self, evolve: &Arc<E>, workers: usize) -> Result<(), EvolveError> {
        for _ in 0..workers {
            let (socket, evolve) = (self.hub.pair()?, Arc::clone(evolve));
            let (pin, index) = (self.options.pin, self.threads.len());
            // A worker has two threads, and has begun when both run.
            let (report, begun) = sync_channel(1);
            let run = move || {
                if pin {
                    // A worker that cannot be pinned works too.
                    let _ = millstream_exec::pin_to_physical_core(index);
                }
                let here = Address::Tcp("this process".to_owned());
                let begins = |begun| drop(report.send(begun));
                // The worker ends with the population, which is not an error. The master reports any other reason.
                let _ = serve(socket, Received::new(LONGEST_REQUEST), &here, &*evolve, begins);
            };
            let failed = || EvolveError::io("a worker's thread");
            self.threads.spawn(format!("evolve {index}"), run).map_err(failed())?;
            begun.recv().unwrap_or(Ok(())).map_err(failed())?;
        }
        Ok(())
    }

    /// Lets workers join at an address by [`connect`](crate::connect). Returns the address, with the port that the
    /// system chose if it was 0. The file of a socket at which no process listens any more is replaced.
    ///
    /// # Errors
    ///
    /// If the address is in use, or is not an address of this machine.
    pub fn listen(&mut self, address: &Address) -> Result<Address, EvolveError> {
        self.hub.listen(address)
    }

    /// Waits until there are this many workers.
    ///
    /// # Errors
    ///
    /// [`EvolveError::TooFew`] after [`Options::join_within`], with the number of workers then.
    pub fn wait_for(&mut self, workers: usize) -> Result<(), EvolveError> {
        let until = self.hub.now().saturating_add(self.options.join_within);
        while self.workers() < workers {
            if self.hub.now() > until {
                let (here, lost) = (self.workers(), self.hub.last_lost.clone());
                let seconds = self.options.join_within.as_secs();
                return Err(EvolveError::TooFew { here, wanted: workers, seconds, lost });
            }
            self.hub.turn(Duration::from_millis(100))?;
        }
        Ok(())
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.hub.master.workers()
    }

    /// What has happened since the population began.
    pub fn counts(&self) -> Counts {
        self.hub.master.counts()
    }

    /// The bytes sent to workers, and the bytes received from them.
    pub fn traffic(&self) -> (u64, u64) {
        (self.hub.bytes_sent(), self.hub.bytes_received)
    }

    /// The times that workers waited from an answer to the next request, measured at the master. Each begins when an
    /// answer is read that leaves a worker without work, and ends when a request with work, stolen or not, has been
    /// written. If no work was left, the answer does not count.
    pub fn latency(&self) -> &Histogram {
        self.hub.master.latency()
    }

    /// A snapshot of the population between two rounds.
    pub fn glance(&self) -> Glance<'_> {
        Glance::new(&self.hub, 0)
    }

    /// Begins a new measurement of [`latency`](Population::latency).
    pub fn forget_latency(&mut self) {
        self.hub.master.forget_latency();
    }

    /// For each worker: its index, the time that it reports to have worked and waited, and the number of states that it
    /// has evolved.
    pub fn spent(&self) -> Vec<(usize, Duration, Duration, u64)> {
        self.hub.master.spent().collect()
    }

    /// Sets a callback that receives the progress of each round. It is called after every few messages, which may be
    /// thousands of times a second, and at least several times a second.
    pub fn watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    /// Whether the master keeps all states in every round, as `checkpoint` requires.
    pub fn keep_all(&mut self, keep: bool) {
        self.keep_all = keep;
    }

    /// The number of rounds until now.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// A checkpoint of the population, with a note.
    ///
    /// # Errors
    ///
    /// If the last round did not keep all states: see [`keep_all`](Population::keep_all). If it failed.
    pub fn checkpoint(&self, note: Vec<u8>) -> Result<Checkpoint, EvolveError> {
        if self.broken {
            return Err(EvolveError::Broken);
        }
        let kept = self.hub.master.kept();
        let kept = kept.ok_or_else(|| EvolveError::Checkpoint("the last round's states were not kept".to_owned()))?;
        let states = kept.into_iter().map(|(token, state)| (token, state.to_vec())).collect();
        Ok(Checkpoint { round: self.round, resets: self.resets, states, note })
    }

    /// Continues from a checkpoint. Returns the tokens of its population.
    ///
    /// # Errors
    ///
    /// As [`reset_states`](EvolveMany::reset_states).
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<Vec<Token>, EvolveError> {
        let states: Vec<_> = checkpoint.states.iter().map(|(token, state)| (*token, state.as_slice())).collect();
        self.spread(&states)?;
        (self.round, self.resets) = (checkpoint.round, checkpoint.resets);
        Ok(states.into_iter().map(|(token, _)| token).collect())
    }

    fn spread(&mut self, states: &[(Token, &[u8])]) -> Result<(), EvolveError> {
        if self.broken {
            return Err(EvolveError::Broken);
        }
        for (_, state) in states {
            check_length("a state", state.len())?;
        }
        self.wait_for(1).map_err(|error| match error {
            EvolveError::TooFew { .. } => self.no_workers(),
            error => error,
        })?;
        self.hub.reset(states)?;
        let mut alone = None;
        while !self.hub.master.has_settled() || self.workers() == 0 {
            self.turn(&mut alone)?;
        }
        // A worker that fails has settled too.
        self.check()
    }

    fn check(&mut self) -> Result<(), EvolveError> {
        let failure = self.hub.master.failure();
        self.broken |= failure.is_some();
        failure.map_or(Ok(()), Err)
    }

    /// Fails once there has been no worker for longer than `join_within`.
    fn turn(&mut self, alone: &mut Option<Duration>) -> Result<(), EvolveError> {
        self.check()?;
        let now = self.hub.now();
        match (self.workers(), &alone) {
            (0, None) => *alone = Some(now),
            (0, Some(since)) if now.saturating_sub(*since) > self.options.join_within => return Err(self.no_workers()),
            (0, _) => (),
            _ => *alone = None,
        }
        self.hub.turn(Duration::from_millis(100))
    }

    fn no_workers(&self) -> EvolveError {
        EvolveError::NoWorkers(self.options.join_within.as_secs(), self.hub.last_lost.clone())
    }

    /// Runs until all states of the round have evolved.
    fn run_round(&mut self, states: usize) -> Result<(), EvolveError> {
        let mut alone = None;
        self.hub.go();
        while !self.hub.master.is_done() {
            self.turn(&mut alone)?;
            if let Some(watch) = &mut self.watch {
                watch(&Glance::new(&self.hub, states));
            }
        }
        Ok(())
    }
}

impl<E: Evolve> EvolveMany<E> for Population<E> {
    fn reset_states(&mut self, states: Vec<E::State>) -> Result<Vec<Token>, EvolveError> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(states.len()));
        for state in &states {
            put(&mut bytes, state)?;
            ends.push(bytes.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let named = (0..)
            .zip(starts.zip(&ends))
            .map(|(index, (start, end))| (Token::root(self.seed, self.resets, index), &bytes[start..*end]));
        let named: Vec<_> = named.collect();
        self.spread(&named)?;
        // Only a population that has begun counts, as in the model.
        self.resets += 1;
        Ok(named.into_iter().map(|(token, _)| token).collect())
    }

    fn evolve_many(&mut self, inputs: BTreeMap<Token, E::Input>) -> Result<Children<E::Output>, EvolveError> {
        if self.broken {
            return Err(EvolveError::Broken);
        }
        self.broken = true;
        self.round += 1;
        self.hub.master.begin(self.round, self.keep_all);
        for (token, input) in &inputs {
            self.hub.master.task(*token, |out| put(out, input))?;
        }
        self.run_round(inputs.len())?;
        let mut results = BTreeMap::new();
        for (token, children) in self.hub.master.results() {
            let output = |(child, bytes)| Ok((child, postcard::from_bytes(bytes)?));
            results.insert(token, children.map(output).collect::<Result<_, EvolveError>>()?);
        }
        self.hub.master.settle();
        self.broken = false;
        Ok(results)
    }
}

impl<E: Evolve> Drop for Population<E> {
    fn drop(&mut self) {
        self.hub.end();
        self.threads.join_within(self.options.tuning.patience);
    }
}

/// Whether these bytes are exactly one value.
pub(crate) fn is<T: DeserializeOwned>(bytes: &[u8]) -> bool {
    postcard::take_from_bytes::<T>(bytes).is_ok_and(|(_, rest)| rest.is_empty())
}
