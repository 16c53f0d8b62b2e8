//! A master without a free descriptor accepts workers later, and has no thread as a worker. These tests have a binary
//! of their own, since they take all descriptors of the process. The worker at a socket is a process of its own, which
//! this binary starts from itself.

use millstream_evolve::{Address, Evolve, EvolveError, EvolveMany, Options, Population, Random, Secret, connect};
use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The variable with the master's address, in the environment of a worker's process.
const MASTER: &str = "MILLSTREAM_TEST_MASTER";

struct Count;

impl Evolve for Count {
    type State = u64;
    type Input = u64;
    type Output = u64;

    fn evolve(&self, state: &u64, input: &u64, _: &mut Random) -> Vec<(u64, u64)> {
        vec![(state + input, *state)]
    }
}

/// Opens files until the process may open no more.
fn all_descriptors() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

/// The number of connections that wait at this port, according to the system.
fn waiting(port: u16) -> usize {
    let sockets = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let listens = format!(":{port:04X} 00000000:0000 0A ");
    let line = sockets.lines().find(|line| line.contains(&listens)).expect("the master listens");
    let (_, queues) = line.split_once(&listens).unwrap();
    usize::from_str_radix(&queues[9..17], 16).unwrap()
}

/// The tests of this binary, which take all descriptors, one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Lets this process have few descriptors.
fn limited() -> MutexGuard<'static, ()> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = Some(64);
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    alone
}

/// A thread's worker needs four: a pair of sockets, and two more for its own end.
#[test]
fn a_thread_without_descriptors_is_no_worker() {
    let _alone = limited();
    let mut population = Population::new(1, Options::new(Secret::new("s"))).unwrap();
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut few = open();
    for free in 0..4 {
        let mut taken = all_descriptors();
        taken.truncate(taken.len() - free);
        let added = population.add_threads(&Arc::new(Count), 1);
        assert!(matches!(added, Err(EvolveError::Io(..))), "{free} are free: {added:?}");
        drop(taken);
        // The master keeps its end of a pair until it looks at it; the worker's thread closes the other one.
        few += usize::from(free >= 2);
        while open() > few {
            std::thread::yield_now();
        }
    }
    population.add_threads(&Arc::new(Count), 1).unwrap();
    assert_eq!(population.reset_states(vec![1, 2, 3]).unwrap().len(), 3);
}

/// `epoll` does not report them a second time.
#[test]
fn a_worker_that_came_without_a_descriptor_is_accepted_later() {
    if let Ok(master) = std::env::var(MASTER) {
        std::io::stdin().read_line(&mut String::new()).unwrap();
        let accepted = connect(&master.parse::<Address>().unwrap(), &Secret::new("s")).unwrap();
        return accepted.serve(&Count).unwrap();
    }
    let _alone = limited();
    let options = Options { join_within: Duration::from_millis(200), ..Options::new(Secret::new("s")) };
    let mut population = Population::<Count>::new(1, options).unwrap();
    let at = population.listen(&Address::Tcp("127.0.0.1:0".to_owned())).unwrap();
    let port = at.to_string().rsplit_once(':').unwrap().1.parse().unwrap();
    let mut worker = Command::new(std::env::current_exe().unwrap())
        .args(["a_worker_that_came_without_a_descriptor_is_accepted_later", "--exact"])
        .env(MASTER, at.to_string())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    worker.stdin.take().unwrap().write_all(b"go\n").unwrap();
    while waiting(port) == 0 {
        std::thread::yield_now();
    }
    let taken = all_descriptors();
    assert!(matches!(population.wait_for(1), Err(EvolveError::TooFew { here: 0, .. })));
    assert!(File::open("/dev/null").is_err(), "a descriptor was free");
    drop(taken);
    // The worker waits for a minute.
    while population.wait_for(1).is_err() {
        assert!(worker.try_wait().unwrap().is_none(), "the worker was not accepted, and has ended");
    }
    drop(population);
    assert!(worker.wait().unwrap().success());
}
