//! Populations over sockets have their model's results, whatever arrives over the sockets.

use crate::support::{self, Walk, modelled, options, rounds};
use millstream_evolve::{
    Address, Evolve, EvolveError, EvolveMany, Model, Options, Population, Random, Secret, Tuning, connect,
};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn any_port() -> Address {
    Address::Tcp("127.0.0.1:0".to_owned())
}

/// A worker in a thread, which behaves like one in a process of its own.
fn worker(address: &Address) -> std::thread::JoinHandle<Result<(), String>> {
    let address = address.clone();
    std::thread::spawn(move || {
        let accepted = connect(&address, &Secret::new("s")).map_err(|error| error.to_string())?;
        assert_eq!(accepted.program(), b"walk");
        accepted.serve(&Walk).map_err(|error| error.to_string())
    })
}

fn with_workers(address: &Address, number: usize) {
    let began = Instant::now();
    let mut population = Population::<Walk>::new(7, options()).unwrap();
    let at = population.listen(address).unwrap();
    let workers: Vec<_> = (0..number).map(|_| worker(&at)).collect();
    population.wait_for(number).unwrap();
    assert_eq!(rounds(&mut population, 50, 6), modelled(50, 6));
    let spent: u64 = population.spent().iter().map(|(.., evolved)| evolved).sum();
    assert_eq!(spent, population.counts().evolved);
    for (_, working, waiting, evolved) in population.spent() {
        // Both are parts of the time since the worker joined.
        assert!(evolved == 0 || working > Duration::ZERO, "{working:?} and {waiting:?}");
        assert!(working + waiting <= began.elapsed(), "{working:?} and {waiting:?}");
    }
    assert!(population.latency().total() > 0);
    drop(population);
    for worker in workers {
        assert_eq!(worker.join().unwrap(), Ok(()));
    }
}

#[test]
fn over_tcp() {
    with_workers(&any_port(), 3);
}

#[test]
fn over_unix_sockets() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("master");
    with_workers(&Address::Unix(path.clone()), 3);
    assert!(!path.exists(), "the socket's file was removed");
}

/// It is longer than what a socket takes at once.
#[test]
fn a_long_program_reaches_the_workers() {
    let dir = tempfile::tempdir().unwrap();
    let program = vec![7; 1 << 20];
    let mut population = Population::<Walk>::new(7, Options { program: program.clone(), ..options() }).unwrap();
    let at = population.listen(&Address::Unix(dir.path().join("master"))).unwrap();
    let worker = std::thread::spawn(move || {
        let accepted = connect(&at, &Secret::new("s")).map_err(|error| error.to_string())?;
        assert!(accepted.program() == program);
        accepted.serve(&Walk).map_err(|error| error.to_string())
    });
    population.wait_for(1).unwrap();
    assert_eq!(rounds(&mut population, 20, 2), modelled(20, 2));
    drop(population);
    assert_eq!(worker.join().unwrap(), Ok(()));
}

#[test]
fn in_threads() {
    for workers in [1, 2, 20] {
        let mut population = Population::new(7, options()).unwrap();
        population.add_threads(&Arc::new(Walk), workers).unwrap();
        assert_eq!(rounds(&mut population, 50, 6), modelled(50, 6), "{workers} workers");
    }
}

/// Forwards between a worker and the master, a few bytes at a time, and ends both connections after `most` bytes. If
/// one side sends no more, the other side is sent the end, and its own bytes are still forwarded.
fn slow_link(to: &Address, step: usize, most: usize) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap().to_string());
    let Address::Tcp(to) = to.clone() else { panic!("TCP") };
    std::thread::spawn(move || {
        let (near, far) = (listener.accept().unwrap().0, TcpStream::connect(to).unwrap());
        let ends = [near, far];
        for stream in &ends {
            stream.set_nodelay(true).unwrap();
        }
        let forward = |from: &TcpStream, to: &TcpStream| {
            let (mut from, mut to, mut bytes) = (from.try_clone().unwrap(), to.try_clone().unwrap(), vec![0; step]);
            move || {
                let mut left = most;
                while let Ok(read @ 1..) = from.read(&mut bytes) {
                    if to.write_all(&bytes[..read]).is_err() {
                        return;
                    }
                    if left < read {
                        let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
                        return;
                    }
                    left -= read;
                }
                let _ = to.shutdown(Shutdown::Write);
            }
        };
        std::thread::spawn(forward(&ends[0], &ends[1]));
        std::thread::spawn(forward(&ends[1], &ends[0]));
    });
    address
}

#[test]
fn messages_may_come_byte_by_byte() {
    let mut population = Population::<Walk>::new(7, options()).unwrap();
    let at = population.listen(&any_port()).unwrap();
    let workers: Vec<_> = [1, 3].map(|step| worker(&slow_link(&at, step, usize::MAX))).into();
    population.wait_for(2).unwrap();
    assert_eq!(rounds(&mut population, 20, 3), modelled(20, 3));
    drop(population);
    workers.into_iter().for_each(|worker| assert_eq!(worker.join().unwrap(), Ok(())));
}

#[test]
fn a_connection_that_breaks_within_a_message_loses_nothing() {
    let mut population = Population::<Walk>::new(7, options()).unwrap();
    let at = population.listen(&any_port()).unwrap();
    let broken: Vec<_> = [700, 1500, 2222].map(|most| worker(&slow_link(&at, 64, most))).into();
    let whole = worker(&at);
    population.wait_for(4).unwrap();
    assert_eq!(rounds(&mut population, 60, 9), modelled(60, 9));
    assert_eq!(population.counts().lost, 3);
    drop(population);
    assert_eq!(whole.join().unwrap(), Ok(()));
    for worker in broken {
        let said = worker.join().unwrap().unwrap_err();
        assert!(said.starts_with("the master at 127.0.0.1:") && said.contains(" is gone ("), "{said}");
    }
}

#[test]
fn a_worker_that_joins_during_a_round_gets_work() {
    let mut population = Population::new(7, options()).unwrap();
    let at = population.listen(&any_port()).unwrap();
    population.add_threads(&Arc::new(Walk), 1).unwrap();
    let (mut late, address) = (None, at.clone());
    population.watch(Box::new(move |glance| {
        if glance.evolved() > 50 && late.is_none() {
            late = Some(worker(&address));
        }
    }));
    let (mut model, until) = (Model::new(Walk, 7), Instant::now() + Duration::from_secs(60));
    // The late one may take longer to come than a few rounds take.
    while population.spent().iter().filter(|(.., evolved)| *evolved > 0).count() < 2 {
        assert!(Instant::now() < until, "{:?}", population.spent());
        assert_eq!(rounds(&mut population, 3000, 3), rounds(&mut model, 3000, 3));
    }
}

#[test]
fn a_worker_that_does_not_know_the_secret_is_refused() {
    let mut population = Population::<Walk>::new(7, options()).unwrap();
    let at = population.listen(&any_port()).unwrap();
    let stranger = std::thread::spawn({
        let at = at.clone();
        move || connect(&at, &Secret::new("wrong")).unwrap_err().to_string()
    });
    let known = worker(&at);
    population.wait_for(1).unwrap();
    assert_eq!(rounds(&mut population, 20, 2), modelled(20, 2));
    while !stranger.is_finished() {
        // The worker may be late. It is answered only while the master runs.
        population.reset_states(vec![1]).unwrap();
    }
    let said = stranger.join().unwrap();
    assert_eq!(said, format!("the master at {at}: the master refuses: the worker does not know the secret"));
    drop(population);
    assert_eq!(known.join().unwrap(), Ok(()));
}

/// The system of the master's machine still answers.
#[test]
fn a_master_that_was_stopped_is_given_up() {
    let mut population = Population::<Walk>::new(7, options()).unwrap();
    let at = population.listen(&any_port()).unwrap();
    let impatient = std::thread::spawn({
        let at = at.clone();
        move || {
            let accepted = connect(&at, &Secret::new("s")).unwrap();
            accepted.with_patience(Duration::from_millis(20)).serve(&Walk).unwrap_err().to_string()
        }
    });
    population.wait_for(1).unwrap();
    // The master does not run now.
    let said = impatient.join().unwrap();
    let why = "it was silent for too long: it may be stopped, or hang";
    assert_eq!(said, format!("the master at {at} is gone ({why}), so this worker ends; it had 0 states"));
}

#[test]
fn a_panic_ends_the_round_and_names_the_state() {
    let mut population = Population::new(7, options()).unwrap();
    population.add_threads(&Arc::new(Walk), 2).unwrap();
    let tokens = population.reset_states(vec![1, 2, support::PANICS]).unwrap();
    let ended = population.evolve_many(tokens.iter().map(|token| (*token, 0)).collect());
    let Err(EvolveError::Panicked { token, message }) = &ended else { panic!("{ended:?}") };
    assert!(*token == tokens[2] && message.contains("no"), "{ended:?}");
    assert_eq!(population.glance().evolved(), 0);
    assert!(matches!(population.reset_states(vec![1]), Err(EvolveError::Broken)));
    // It has no states that a checkpoint could have.
    assert!(matches!(population.checkpoint(Vec::new()), Err(EvolveError::Broken)));
}

#[test]
fn without_workers_a_round_ends_with_an_error() {
    let mut population =
        Population::<Walk>::new(7, Options { join_within: Duration::from_millis(200), ..options() }).unwrap();
    let said = population.reset_states(vec![1]).unwrap_err().to_string();
    assert!(said.starts_with("no worker is left, and none joined within 0 s"), "{said}");
    population.add_threads(&Arc::new(Walk), 1).unwrap();
    // The names of the states do not depend on when workers join.
    assert_eq!(population.reset_states(vec![1]).unwrap(), Model::new(Walk, 7).reset_states(vec![1]).unwrap());
    assert_eq!(population.wait_for(3).unwrap_err().to_string(), "1 of 3 workers joined within 0 s");
}

#[test]
fn a_checkpoint_continues_in_another_population() {
    let dir = tempfile::tempdir().unwrap();
    let begun = || {
        let mut population = Population::new(7, options()).unwrap();
        population.add_threads(&Arc::new(Walk), 2).unwrap();
        population.keep_all(true);
        population
    };
    let whole = modelled(50, 8);
    let mut first = begun();
    assert_eq!(rounds(&mut first, 50, 3), whole[..3]);
    first.checkpoint(b"note".to_vec()).unwrap().save(dir.path()).unwrap();
    drop(first);
    let kept = millstream_evolve::Checkpoint::last(dir.path()).unwrap().unwrap();
    assert_eq!((kept.round, kept.note.as_slice()), (3, &b"note"[..]));
    let mut alone = Population::<Walk>::new(7, Options { join_within: Duration::from_millis(1), ..options() }).unwrap();
    assert!(alone.restore(&kept).is_err() && alone.round() == 0, "a population without workers is as it was");
    let mut second = begun();
    let tokens = second.restore(&kept).unwrap();
    assert_eq!(support::go_on(&mut second, tokens, 3..8), whole[3..]);
}

/// States of a kilobyte each, whose tokens, inputs and outputs take a few bytes.
#[derive(Clone, Debug)]
struct Large;

impl Evolve for Large {
    type State = Vec<u8>;
    type Input = u8;
    type Output = u8;

    fn evolve(&self, state: &Vec<u8>, input: &u8, _: &mut Random) -> Vec<(Vec<u8>, u8)> {
        vec![(state.iter().map(|byte| byte.wrapping_add(*input)).collect(), state[0])]
    }
}

#[test]
fn states_stay_where_they_are() {
    let tuning = Tuning { steal: false, backup_every: u64::MAX, ..Tuning::default() };
    let mut population = Population::new(7, Options { tuning, ..options() }).unwrap();
    population.add_threads(&Arc::new(Large), 2).unwrap();
    let mut tokens = population.reset_states(vec![vec![1; 1000]; 100]).unwrap();
    let (begun, _) = population.traffic();
    assert!(begun > 100 * 1000, "the first states are sent once: {begun} bytes");
    for _ in 0..10 {
        let children = population.evolve_many(tokens.iter().map(|token| (*token, 1)).collect()).unwrap();
        tokens = children.values().flatten().map(|(token, _)| *token).collect();
    }
    let (sent, received) = population.traffic();
    // If states travelled, ten rounds of a hundred would be a million bytes each way.
    assert!(sent - begun < 50_000 && received < 50_000, "{} and {received} bytes", sent - begun);
}

/// The default options: states are backed up once in eight rounds, and a stolen state travels to the master and to the
/// thief.
#[test]
fn states_travel_where_they_are_kept_or_stolen() {
    const STATES: u64 = 100;
    let mut population = Population::new(7, options()).unwrap();
    population.add_threads(&Arc::new(Large), 2).unwrap();
    let mut tokens = population.reset_states(vec![vec![1; 1000]; STATES as usize]).unwrap();
    let (begun, before) = population.traffic();
    for _ in 0..16 {
        let children = population.evolve_many(tokens.iter().map(|token| (*token, 1)).collect()).unwrap();
        tokens = children.values().flatten().map(|(token, _)| *token).collect();
    }
    let (sent, received) = (population.traffic().0 - begun, population.traffic().1 - before);
    // A token, its length, and the message's own bytes.
    let (stolen, one, small) = (population.counts().stolen, 1000 + 64, 16 * STATES * 64);
    assert!(sent <= stolen * one + small, "{sent} bytes sent, {stolen} stolen");
    assert!(received <= (2 * STATES + stolen) * one + small, "{received} bytes received, {stolen} stolen");
    assert!(received >= 2 * STATES * 1000, "{received} bytes received, the kept ones among them");
}

/// Two values of this length exceed a usual message.
const LONG: usize = 3 << 20;

/// States of megabytes, each encoded as one byte string.
#[derive(Clone, Debug)]
struct Long;

#[derive(Clone, Debug)]
struct Bytes(Vec<u8>);

impl serde::Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::Deserialize::deserialize(deserializer).map(|bytes: &[u8]| Bytes(bytes.to_vec()))
    }
}

impl Evolve for Long {
    type State = Bytes;
    type Input = u8;
    type Output = u8;

    fn evolve(&self, state: &Bytes, children: &u8, _: &mut Random) -> Vec<(Bytes, u8)> {
        vec![(state.clone(), state.0[0]); usize::from(*children)]
    }
}

/// The initial states, the backups of all states, and the half of the states that is stolen would each be one message.
#[test]
fn long_lists_are_sent_in_pieces() {
    let tuning = Tuning { backup_every: 2, ..Tuning::default() };
    let mut population = Population::new(7, Options { tuning, ..options() }).unwrap();
    population.add_threads(&Arc::new(Long), 1).unwrap();
    let mut tokens = population.reset_states((0..20).map(|state| Bytes(vec![state; LONG])).collect()).unwrap();
    for (round, children) in [2, 1, 1].into_iter().enumerate() {
        let children = population.evolve_many(tokens.iter().map(|token| (*token, children)).collect()).unwrap();
        tokens = children.values().flatten().map(|(token, _)| *token).collect();
        assert_eq!(tokens.len(), 40);
        if round == 0 {
            population.add_threads(&Arc::new(Long), 2).unwrap();
        }
    }
    assert_eq!((population.counts().lost, population.counts().again), (0, 0));
    assert!(population.counts().stolen > 0);
}

#[test]
fn a_too_long_value_is_refused_before_it_is_sent() {
    let mut population = Population::new(7, options()).unwrap();
    population.add_threads(&Arc::new(Long), 1).unwrap();
    let said = population.reset_states(vec![Bytes(vec![1; (256 << 20) + 1])]).unwrap_err().to_string();
    assert_eq!(said, "a state takes 268435462 bytes; at most 268435456 can be sent");
    assert_eq!(population.reset_states(vec![Bytes(vec![1; 3])]).unwrap().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Strangers send any bytes, before or in place of a greeting.
    #[test]
    fn a_strangers_bytes_change_nothing(
        strangers in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..400)), 1..12),
    ) {
        let mut population = Population::new(7, options()).unwrap();
        let Address::Tcp(at) = population.listen(&any_port()).unwrap() else { panic!("TCP") };
        population.add_threads(&Arc::new(Walk), 2).unwrap();
        let mut open = Vec::new();
        for (framed, bytes) in &strangers {
            let mut stream = TcpStream::connect(&at).unwrap();
            if *framed {
                stream.write_all(&(bytes.len() as u32).to_le_bytes()).unwrap();
            }
            let _ = stream.write_all(bytes);
            open.push(stream);
        }
        prop_assert_eq!(rounds(&mut population, 20, 2), modelled(20, 2));
        prop_assert_eq!(population.workers(), 2);
    }
}
