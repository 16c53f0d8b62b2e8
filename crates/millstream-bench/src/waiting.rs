//! Workers that wait instead of computing: hundreds of them in one process, each with a real TCP connection, and one
//! thread with a timer wheel for all of them. The bench starts itself as that process.

mod wheel;

use crate::failure::Failure;
use millstream_evolve::{Address, Evolve, Job, Random, Secret, Token, Worker, connect};
use mio::net::TcpStream;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token as Key};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wheel::Wheel;

/// The variable with the task of such a process: the master's address and the number of workers.
const TASK: &str = "MILLSTREAM_BENCH_WAITING";
pub(crate) const SECRET: &str = "the bench's own";

/// An evolution whose states take a while, and have one child each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits;

/// The time that states take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Costs {
    /// The mean in microseconds.
    pub(crate) micros: u64,
    /// From even, 0, to the exponential distribution, 100. A state takes at most six times the mean.
    pub(crate) uneven: u64,
}

impl Costs {
    /// The time of the state with this token.
    pub(crate) fn of(self, token: Token) -> Duration {
        let [a, b, c, d, ..] = token.bytes();
        let part = (f64::from(u32::from_le_bytes([a, b, c, d])) + 0.5) / 2_f64.powi(32);
        let (share, mean) = (self.uneven as f64 / 100.0, self.micros as f64);
        Duration::from_secs_f64(mean * (1.0 - share + share * (-part.ln()).min(6.0)) / 1e6)
    }
}

impl Evolve for Waits {
    type State = u64;
    type Input = Costs;
    type Output = u64;

    fn evolve(&self, state: &u64, _: &Costs, _: &mut Random) -> Vec<(u64, u64)> {
        vec![(state + 1, *state)]
    }
}

/// Starts such a process with this number of workers.
pub(crate) fn start(at: &str, workers: usize) -> Result<Child, Failure> {
    let exe = std::env::current_exe().map_err(Failure::io("this program's file"))?;
    let mut command = Command::new(exe);
    command.env(TASK, format!("{at} {workers}")).stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().map_err(Failure::io("the process of the workers"))
}

/// The task of this process, if it is such a process.
pub(crate) fn asked() -> Option<(String, usize)> {
    let task = std::env::var(TASK).ok()?;
    let (at, workers) = task.split_once(' ')?;
    Some((at.to_owned(), workers.parse().ok()?))
}

struct One {
    stream: TcpStream,
    received: Vec<u8>,
    worker: Worker<Waits>,
    job: Option<Job<Waits>>,
    out: Vec<u8>,
}

/// If the next state ends within this time, the process does not sleep: waking real workers would not cost the master's
/// machine anything.
const AWAKE: Duration = Duration::from_micros(200);

/// After this number of ended states, messages get their turn.
const AT_ONCE: usize = 8;

/// The key of the timer; those of connections begin at 0.
const TIMER: usize = usize::MAX >> 1;

/// Works until the master has ended.
pub(crate) fn run(at: &str, workers: usize) -> Result<(), Failure> {
    let failed = |what: &'static str| Failure::io(what);
    let mut poll = Poll::new().map_err(failed("epoll"))?;
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK)
        .map_err(|error| failed("a timer")(error.into()))?;
    poll.registry()
        .register(&mut SourceFd(&timer.as_raw_fd()), Key(TIMER), Interest::READABLE)
        .map_err(failed("epoll"))?;
    let (began, mut all) = (Instant::now(), Vec::with_capacity(workers));
    for key in 0..workers {
        let accepted = connect(&Address::Tcp(at.to_owned()), &Secret::new(SECRET));
        let accepted = accepted.map_err(|error| failed("a worker")(std::io::Error::other(error)))?;
        let (stream, received) = accepted.into_tcp().ok_or(Failure::Threads("the master is not at a TCP address"))?;
        stream.set_nonblocking(true).map_err(failed("a connection"))?;
        let mut stream = TcpStream::from_std(stream);
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut stream, Key(key), interest).map_err(failed("epoll"))?;
        all.push(Some(One { stream, received, worker: Worker::new(began.elapsed()), job: None, out: Vec::new() }));
    }
    let (mut due, mut events, mut left) = (Wheel::new(workers), Events::with_capacity(1024), workers);
    let mut alarm = Duration::ZERO;
    while left > 0 {
        let soon = due.next().is_some_and(|(at, _)| at.saturating_sub(began.elapsed()) < AWAKE);
        poll.poll(&mut events, soon.then_some(Duration::ZERO)).or_else(|error| match error.kind() {
            ErrorKind::Interrupted => Ok(()),
            _ => Err(failed("epoll")(error)),
        })?;
        for event in &events {
            let key = event.token().0;
            if let Some(Some(one)) = all.get_mut(key) {
                let goes_on = one.receive(event.is_read_closed())?;
                one.go_on(key, began, &mut due);
                if !goes_on {
                    all[key] = None;
                    left -= 1;
                }
            }
        }
        // Ends a few states, and then answers requests for states.
        for _ in 0..AT_ONCE {
            let Some((at, key)) = due.take(began.elapsed()) else { break };
            if let Some(one) = &mut all[key] {
                one.finish(at);
                one.go_on(key, began, &mut due);
            }
        }
        if let Some((at, _)) = due.next().filter(|(at, _)| *at != alarm && at.saturating_sub(began.elapsed()) >= AWAKE)
        {
            alarm = at;
            // A timer of 0 would be disarmed.
            let after = at.saturating_sub(began.elapsed()).max(Duration::from_nanos(1));
            let value = Timespec { tv_sec: after.as_secs() as i64, tv_nsec: i64::from(after.subsec_nanos()) };
            let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
            timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once)
                .map_err(|error| failed("a timer")(error.into()))?;
        }
    }
    Ok(())
}

impl One {
    /// Receives the messages that have arrived. Returns false once no more will arrive.
    fn receive(&mut self, ends: bool) -> Result<bool, Failure> {
        let mut bytes = [0; 16 << 10];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Ok(false),
                Ok(read) => {
                    self.received.extend_from_slice(&bytes[..read]);
                    // The read took all bytes. `epoll` reports later ones.
                    if read < bytes.len() && !ends {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(_) => return Ok(false),
            }
        }
        let mut taken = 0;
        while let Some((length, rest)) = self.received[taken..].split_first_chunk::<4>() {
            let Some(message) = rest.get(..u32::from_le_bytes(*length) as usize) else { break };
            taken += 4 + message.len();
            let goes_on = self.worker.receive(message, &mut self.out);
            if !goes_on.map_err(|error| Failure::io("the master")(std::io::Error::other(error)))? {
                return Ok(false);
            }
        }
        self.received.drain(..taken);
        Ok(true)
    }

    /// Ends the current state.
    fn finish(&mut self, at: Duration) {
        if let Some(job) = self.job.take() {
            let children = job.run(&Waits);
            self.worker.finish(&job, children, at, &mut self.out);
        }
    }

    /// Begins the next state, unless one is in progress, and sends the answers.
    fn go_on(&mut self, key: usize, began: Instant, due: &mut Wheel) {
        if self.job.is_none() {
            let now = began.elapsed();
            self.job = self.worker.start(now, &mut self.out);
            if let Some(job) = &self.job {
                due.set(key, now + job.input().of(job.token()));
            }
        }
        let mut sent = 0;
        while sent < self.out.len()
            && let Ok(written @ 1..) = self.stream.write(&self.out[sent..])
        {
            sent += written;
        }
        self.out.drain(..sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_have_their_mean() {
        let mean = |uneven| {
            let costs = Costs { micros: 30_000, uneven };
            let all = (0..20_000).map(|index| costs.of(Token::root(1, 2, index)).as_secs_f64());
            all.sum::<f64>() / 20_000.0 / 0.03
        };
        assert!((mean(0) - 1.0).abs() < 1e-6 && (mean(50) - 1.0).abs() < 0.02 && (mean(100) - 1.0).abs() < 0.03);
    }
}
