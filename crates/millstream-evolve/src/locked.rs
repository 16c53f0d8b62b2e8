//! The first design, as a yardstick for the present one: a thread for each worker, around a master under a lock.
//!
//! It has the same master, codec and batches, and is written as well as possible. A thread reads and writes outside the
//! lock, handles all messages of one read under one lock acquisition, and also sends the messages that it has caused
//! for other workers. If another thread is writing to a worker, the bytes are left to that thread.

use crate::evolve::Children;
use crate::hello::{self, Secret};
use crate::master::{Counts, Master, Outbox, Tuning};
use crate::message::LONGEST_ANSWER;
use crate::received::Received;
use crate::wire::put;
use crate::{Evolve, EvolveError, EvolveMany, Histogram, Token};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A population whose master is shared by a thread for each worker. Workers connect over TCP. The states of a lost
/// worker are computed again; a worker that hangs is not noticed, and a call waits for ever once no worker is left.
#[derive(Debug)]
pub struct Locked<E: Evolve> {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    listener: TcpListener,
    secret: Secret,
    seed: u64,
    resets: u64,
    round: u64,
    evolve: PhantomData<fn() -> E>,
}

#[derive(Debug)]
struct Shared {
    inner: Mutex<Inner>,
    changed: Condvar,
    began: Instant,
}

#[derive(Debug)]
struct Inner {
    master: Master,
    posts: Posts,
    /// For what the caller waits.
    done: fn(&Master) -> bool,
}

/// The queue of each worker, and the workers for which there is something new to send.
#[derive(Debug, Default)]
struct Posts {
    posts: Vec<Option<Arc<Post>>>,
    bytes: Vec<Vec<u8>>,
    fresh: Vec<usize>,
}

#[derive(Debug)]
struct Post {
    stream: TcpStream,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    spare: Vec<u8>,
    writing: bool,
    /// Whether the bytes have a request that the worker was without.
    handed: bool,
    /// When such a one was written. The worker's thread tells the master before the worker's next message, under the
    /// lock that it takes anyway.
    written: Option<Duration>,
}

impl Outbox for Posts {
    fn to(&mut self, worker: usize) -> &mut Vec<u8> {
        if worker >= self.bytes.len() {
            self.bytes.resize(worker + 1, Vec::new());
        }
        // A worker that is there twice has nothing the second time.
        if self.bytes[worker].is_empty() && self.fresh.last() != Some(&worker) {
            self.fresh.push(worker);
        }
        &mut self.bytes[worker]
    }
}

impl Posts {
    /// Moves the bytes to be sent into the workers' queues, in order. The queues that have something are added to
    /// `into`.
    fn queue(&mut self, master: &Master, into: &mut Vec<Arc<Post>>) {
        for worker in self.fresh.drain(..) {
            if let Some(Some(post)) = self.posts.get(worker) {
                let mut waiting = lock(&post.waiting);
                waiting.bytes.extend_from_slice(&self.bytes[worker]);
                waiting.handed |= master.awaits_written(worker);
                into.push(Arc::clone(post));
            }
            self.bytes[worker].clear();
        }
    }
}

impl Post {
    /// Writes the waiting bytes, unless another thread is doing so, and notes when that was done.
    fn write(&self, began: Instant) -> io::Result<()> {
        let mut waiting = lock(&self.waiting);
        while !waiting.writing && !waiting.bytes.is_empty() {
            let (mut bytes, handed) = (std::mem::take(&mut waiting.bytes), waiting.handed);
            waiting.bytes = std::mem::take(&mut waiting.spare);
            (waiting.writing, waiting.handed) = (true, false);
            drop(waiting);
            let written = (&self.stream).write_all(&bytes);
            bytes.clear();
            let now = began.elapsed();
            waiting = lock(&self.waiting);
            (waiting.writing, waiting.spare) = (false, bytes);
            waiting.written = waiting.written.or(handed.then_some(now));
            written?;
        }
        Ok(())
    }
}

impl Shared {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Sends what was queued.
    fn write(&self, posts: &mut Vec<Arc<Post>>) {
        for post in posts.drain(..) {
            // The thread that reads from this connection notices its end.
            let _ = post.write(self.began);
        }
    }

    /// Handles a worker's messages until its connection ends.
    fn serve(&self, (worker, post): (usize, &Post), stream: &TcpStream, fits: &dyn Fn(&[u8], bool) -> bool) {
        let (mut received, mut posts, mut from) = (Received::new(LONGEST_ANSWER), Vec::new(), stream);
        loop {
            match received.read(&mut from) {
                Ok(1..) => (),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                _ => break,
            }
            let written = lock(&post.waiting).written.take();
            let now = self.now();
            let mut guard = lock(&self.inner);
            let Inner { master, posts: outs, done } = &mut *guard;
            if let Some(at) = written {
                master.written(worker, at, at);
            }
            let taken = (|| {
                while let Some(message) = received.next()? {
                    master.receive(worker, message, now, fits, outs)?;
                }
                Ok::<(), crate::Violation>(())
            })();
            outs.queue(master, &mut posts);
            let done = done(master) || master.has_failed();
            drop(guard);
            self.write(&mut posts);
            if done {
                self.changed.notify_all();
            }
            if taken.is_err() {
                break;
            }
        }
        let mut guard = lock(&self.inner);
        let Inner { master, posts: outs, .. } = &mut *guard;
        outs.posts[worker] = None;
        master.lost(worker, self.now(), outs);
        outs.queue(master, &mut posts);
        drop(guard);
        self.write(&mut posts);
        self.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<E: Evolve> Locked<E> {
    /// A population without states and workers, and the address where workers find it.
    ///
    /// # Errors
    ///
    /// If this machine has no port left.
    pub fn new(seed: u64, tuning: Tuning, secret: Secret) -> Result<(Self, SocketAddr), EvolveError> {
        let failed = || EvolveError::io("cannot listen at 127.0.0.1");
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed())?;
        let at = listener.local_addr().map_err(failed())?;
        let inner = Mutex::new(Inner { master: Master::new(tuning), posts: Posts::default(), done: Master::is_done });
        let shared = Arc::new(Shared { inner, changed: Condvar::new(), began: Instant::now() });
        let locked =
            Locked { shared, threads: Vec::new(), listener, secret, seed, resets: 0, round: 0, evolve: PhantomData };
        Ok((locked, at))
    }

    /// Waits until this many workers have joined.
    ///
    /// # Errors
    ///
    /// If the system refuses sockets or threads, or a peer does not show that it knows the secret.
    pub fn accept(&mut self, workers: usize) -> Result<(), EvolveError> {
        for _ in 0..workers {
            let failed = || EvolveError::io("a worker's connection");
            let (mut stream, _) = self.listener.accept().map_err(failed())?;
            stream.set_nodelay(true).map_err(failed())?;
            let (nonce, mut out) = (hello::nonce().map_err(failed())?, Vec::new());
            hello::greet(&mut out, nonce);
            stream.write_all(&out).map_err(failed())?;
            out.clear();
            let mut received = Received::new(hello::LONGEST);
            let judged = loop {
                match received.next() {
                    Ok(Some(answer)) => break hello::judge(answer, &self.secret, &nonce, b"", &mut out),
                    Ok(None) => drop(received.read(&mut stream).map_err(failed())?),
                    Err(violation) => break Err(violation),
                }
            };
            stream.write_all(&out).map_err(failed())?;
            judged.map_err(|violation| failed()(io::Error::other(violation)))?;
            let (worker, post) = self.join(stream.try_clone().map_err(failed())?);
            let shared = Arc::clone(&self.shared);
            let serve = move || shared.serve((worker, &post), &stream, &is_value::<E>);
            let thread = std::thread::Builder::new().name(format!("worker {worker}")).stack_size(256 << 10);
            self.threads.push(thread.spawn(serve).map_err(failed())?);
        }
        Ok(())
    }

    fn join(&self, stream: TcpStream) -> (usize, Arc<Post>) {
        let mut posts = Vec::new();
        let mut guard = lock(&self.shared.inner);
        let Inner { master, posts: outs, .. } = &mut *guard;
        let worker = master.add_worker(self.shared.now());
        if worker >= outs.posts.len() {
            outs.posts.resize(worker + 1, None);
        }
        let post = Arc::new(Post { stream, waiting: Mutex::default() });
        outs.posts[worker] = Some(Arc::clone(&post));
        master.join(worker, outs);
        outs.queue(master, &mut posts);
        drop(guard);
        self.shared.write(&mut posts);
        (worker, post)
    }

    /// What has happened since the population began.
    #[must_use]
    pub fn counts(&self) -> Counts {
        lock(&self.shared.inner).master.counts()
    }

    /// As [`Population::latency`](crate::Population::latency).
    #[must_use]
    pub fn latency(&self) -> Histogram {
        lock(&self.shared.inner).master.latency().clone()
    }

    /// Begins a new measurement.
    pub fn forget_latency(&mut self) {
        lock(&self.shared.inner).master.forget_latency();
    }

    /// As [`Population::spent`](crate::Population::spent).
    #[must_use]
    pub fn spent(&self) -> Vec<(usize, Duration, Duration, u64)> {
        lock(&self.shared.inner).master.spent().collect()
    }

    /// Starts a task of the master, and waits until it is done.
    fn until<R>(
        &mut self,
        begin: impl FnOnce(&mut Master, &mut Posts, Duration) -> Result<R, EvolveError>,
        done: fn(&Master) -> bool,
    ) -> Result<R, EvolveError> {
        let mut posts = Vec::new();
        let mut guard = lock(&self.shared.inner);
        let Inner { master, posts: outs, .. } = &mut *guard;
        let begun = begin(master, outs, self.shared.now())?;
        outs.queue(master, &mut posts);
        guard.done = done;
        drop(guard);
        self.shared.write(&mut posts);
        let mut guard = lock(&self.shared.inner);
        while !done(&guard.master) {
            if let Some(failure) = guard.master.failure() {
                return Err(failure);
            }
            guard = self.shared.changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(begun)
    }
}

/// Whether these bytes are an output, or, if the flag is set, a state.
fn is_value<E: Evolve>(bytes: &[u8], state: bool) -> bool {
    if state {
        postcard::take_from_bytes::<E::State>(bytes).is_ok_and(|(_, rest)| rest.is_empty())
    } else {
        postcard::take_from_bytes::<E::Output>(bytes).is_ok_and(|(_, rest)| rest.is_empty())
    }
}

impl<E: Evolve> EvolveMany<E> for Locked<E> {
    fn reset_states(&mut self, states: Vec<E::State>) -> Result<Vec<Token>, EvolveError> {
        let mut named = Vec::with_capacity(states.len());
        for (state, index) in states.iter().zip(0..) {
            let mut bytes = Vec::new();
            put(&mut bytes, state)?;
            named.push((Token::root(self.seed, self.resets, index), bytes));
        }
        self.resets += 1;
        let all = named.iter().map(|(token, state)| (*token, state.as_slice()));
        self.until(|master, outs, now| master.reset(all, now, outs), Master::has_settled)?;
        Ok(named.into_iter().map(|(token, _)| token).collect())
    }

    fn evolve_many(&mut self, inputs: BTreeMap<Token, E::Input>) -> Result<Children<E::Output>, EvolveError> {
        self.round += 1;
        let round = self.round;
        let begin = |master: &mut Master, outs: &mut Posts, now| {
            master.begin(round, false);
            for (token, input) in &inputs {
                master.task(*token, |out| put(out, input))?;
            }
            master.go(now, outs);
            Ok(())
        };
        self.until(begin, Master::is_done)?;
        let master = &mut lock(&self.shared.inner).master;
        let mut results = BTreeMap::new();
        for (token, children) in master.results() {
            let output = |(child, bytes)| Ok((child, postcard::from_bytes(bytes)?));
            results.insert(token, children.map(output).collect::<Result<_, EvolveError>>()?);
        }
        master.settle();
        Ok(results)
    }
}

impl<E: Evolve> Drop for Locked<E> {
    fn drop(&mut self) {
        let mut posts = Vec::new();
        let mut guard = lock(&self.shared.inner);
        let Inner { master, posts: outs, .. } = &mut *guard;
        master.end(outs);
        outs.queue(master, &mut posts);
        drop(guard);
        self.shared.write(&mut posts);
        for thread in self.threads.drain(..) {
            // The workers close their connections.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, Random, connect};
    use std::sync::mpsc::channel;

    struct Panics;

    impl Evolve for Panics {
        type State = u8;
        type Input = u8;
        type Output = u8;

        fn evolve(&self, _: &u8, _: &u8, _: &mut Random) -> Vec<(u8, u8)> {
            panic!("no")
        }
    }

    #[test]
    fn a_panic_ends_the_round() {
        let (done, is_done) = channel();
        std::thread::spawn(move || {
            let (mut locked, at) = Locked::<Panics>::new(1, Tuning::default(), Secret::new("s")).unwrap();
            let at = Address::Tcp(at.to_string());
            let worker = std::thread::spawn(move || connect(&at, &Secret::new("s")).unwrap().serve(&Panics));
            locked.accept(1).unwrap();
            let tokens = locked.reset_states(vec![1]).unwrap();
            let ended = locked.evolve_many([(tokens[0], 1)].into());
            drop(locked);
            drop(worker.join().unwrap());
            done.send(ended)
        });
        let ended = is_done.recv_timeout(Duration::from_secs(60)).expect("the round ends");
        assert!(matches!(&ended, Err(EvolveError::Panicked { message, .. }) if message == "no"), "{ended:?}");
    }
}
