//! A master without a free descriptor accepts workers later. This test has a binary of its own, since it takes all
//! descriptors of the process. The worker is a process of its own, which this binary starts from itself.

use millstream_evolve::{Address, Evolve, EvolveError, Options, Population, Random, Secret, connect};
use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};
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

/// `epoll` does not report them a second time.
#[test]
fn a_worker_that_came_without_a_descriptor_is_accepted_later() {
    if let Ok(master) = std::env::var(MASTER) {
        std::io::stdin().read_line(&mut String::new()).unwrap();
        let accepted = connect(&master.parse::<Address>().unwrap(), &Secret::new("s")).unwrap();
        return accepted.serve(&Count).unwrap();
    }
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = Some(64);
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
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
