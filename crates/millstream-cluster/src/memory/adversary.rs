//! A network between callers and a log, with every fault that a network may have.

use super::MemoryLog;
use crate::{Entry, Log, LogError, Record, Sent};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A [`MemoryLog`] behind a bad network. A write is carried out but its answer is lost, or it is lost itself, or it
/// arrives late, after other writes, once or twice. A read is refused, or is answered by a server that lags behind: it
/// sees an older end, an older record, or not yet a blob. A seed decides what happens: the same calls have the same
/// fate. Clones are the same network.
///
/// ```
/// use millstream::cluster::{Adversary, Log, LogError, MemoryLog};
/// let log = Adversary::new(MemoryLog::default(), 7, 50);
/// for number in 0..10 {
///     while log.append_if("orders", number, b"order") != Ok(()) {
///         // It may have arrived all the same.
///         if log.last("orders").is_ok_and(|last| last > number) { break }
///     }
/// }
/// assert_eq!(log.behind().last("orders"), Ok(10));
/// ```
#[derive(Clone, Debug)]
pub struct Adversary {
    log: MemoryLog,
    network: Arc<Mutex<Network>>,
}

#[derive(Debug)]
struct Network {
    random: u64,
    /// How many calls of a hundred are disturbed.
    percent: u64,
    /// Writes that are under way.
    delayed: Vec<Write>,
    /// The records that a server that lags behind has.
    older: BTreeMap<String, Option<Record>>,
}

#[derive(Debug)]
enum Write {
    Append { edge: String, last: u64, bytes: Vec<u8> },
    Trim { edge: String, below: u64 },
    Set { key: String, revision: u64, value: Vec<u8> },
    Blob { name: String, bytes: Vec<u8> },
    Remove { name: String },
}

impl Write {
    fn carry_out(&self, log: &MemoryLog) -> Result<(), LogError> {
        match self {
            Write::Append { edge, last, bytes } => log.append_if(edge, *last, bytes),
            Write::Trim { edge, below } => log.trim(edge, *below),
            Write::Set { key, revision, value } => log.compare_and_set(key, *revision, value),
            Write::Blob { name, bytes } => log.put_blob(name, bytes),
            Write::Remove { name } => log.remove_blob(name),
        }
    }
}

impl Network {
    fn below(&mut self, most: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.random;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % most
    }

    fn disturbs(&mut self) -> bool {
        let percent = self.percent;
        self.below(100) < percent
    }
}

fn unavailable(why: &str) -> LogError {
    LogError::Unavailable(why.to_owned())
}

impl Adversary {
    /// Disturbs this many calls of a hundred, below 100.
    #[must_use]
    pub fn new(log: MemoryLog, seed: u64, percent: u64) -> Self {
        let network = Network { random: seed, percent, delayed: Vec::new(), older: BTreeMap::new() };
        Adversary { log, network: Arc::new(Mutex::new(network)) }
    }

    /// The log behind the network.
    #[must_use]
    pub fn behind(&self) -> &MemoryLog {
        &self.log
    }

    fn network(&self) -> MutexGuard<'_, Network> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets some of the delayed writes arrive, in any order.
    fn arrivals(&self, network: &mut Network) {
        while !network.delayed.is_empty() && network.below(4) == 0 {
            let place = network.below(network.delayed.len() as u64);
            let write = network.delayed.swap_remove(usize::try_from(place).unwrap_or(0));
            // Its caller has given up.
            _ = write.carry_out(&self.log);
        }
    }

    fn write(&self, write: Write) -> Result<(), LogError> {
        let mut network = self.network();
        self.arrivals(&mut network);
        if !network.disturbs() {
            return write.carry_out(&self.log);
        }
        match network.below(4) {
            0 => Err(unavailable("the request was lost")),
            1 => {
                _ = write.carry_out(&self.log);
                Err(unavailable("the answer was lost"))
            }
            2 => {
                network.delayed.push(write);
                Err(unavailable("the request is late"))
            }
            _ => {
                let done = write.carry_out(&self.log);
                // What was refused does not arrive again.
                if done.is_ok() {
                    network.delayed.push(write);
                }
                done
            }
        }
    }

    /// Whether a read sees an older end.
    fn reads(&self) -> Result<bool, LogError> {
        let mut network = self.network();
        self.arrivals(&mut network);
        match network.disturbs().then(|| network.below(2)) {
            None => Ok(false),
            Some(0) => Ok(true),
            Some(_) => Err(unavailable("the answer was lost")),
        }
    }
}

impl Log for Adversary {
    fn append_if(&self, edge: &str, last: u64, bytes: &[u8]) -> Result<(), LogError> {
        self.write(Write::Append { edge: edge.to_owned(), last, bytes: bytes.to_vec() })
    }

    fn read_from(&self, edge: &str, first: u64, most: usize) -> Result<Vec<Entry>, LogError> {
        let older = self.reads()?;
        let mut entries = self.log.read_from(edge, first, most)?;
        if older {
            entries.truncate(entries.len() / 2);
        }
        Ok(entries)
    }

    fn last(&self, edge: &str) -> Result<u64, LogError> {
        let older = self.reads()?;
        self.log.last(edge).map(|last| last.saturating_sub(u64::from(older)))
    }

    fn kept(&self, edge: &str) -> Result<Range<u64>, LogError> {
        let older = self.reads()?;
        let Range { start, end } = self.log.kept(edge)?;
        let end = end.saturating_sub(u64::from(older)).max(1);
        Ok(start.min(end)..end)
    }

    fn trim(&self, edge: &str, below: u64) -> Result<(), LogError> {
        self.write(Write::Trim { edge: edge.to_owned(), below })
    }

    fn get(&self, key: &str) -> Result<Option<Record>, LogError> {
        let older = self.reads()?;
        let record = self.log.get(key)?;
        let mut network = self.network();
        let known = network.older.entry(key.to_owned()).or_default();
        if older {
            return Ok(known.clone());
        }
        known.clone_from(&record);
        Ok(record)
    }

    fn compare_and_set(&self, key: &str, revision: u64, value: &[u8]) -> Result<(), LogError> {
        self.write(Write::Set { key: key.to_owned(), revision, value: value.to_vec() })
    }

    fn put_blob(&self, name: &str, bytes: &[u8]) -> Result<(), LogError> {
        self.write(Write::Blob { name: name.to_owned(), bytes: bytes.to_vec() })
    }

    fn blob(&self, name: &str) -> Result<Option<Vec<u8>>, LogError> {
        if self.reads()? { Ok(None) } else { self.log.blob(name) }
    }

    fn remove_blob(&self, name: &str) -> Result<(), LogError> {
        self.write(Write::Remove { name: name.to_owned() })
    }

    fn blob_names(&self) -> Result<Vec<String>, LogError> {
        let older = self.reads()?;
        let mut names = self.log.blob_names()?;
        if older {
            names.truncate(names.len() / 2);
        }
        Ok(names)
    }

    fn send_if(&self, edge: &str, last: u64, bytes: Bytes) -> Box<dyn Sent> {
        let answer = self.append_if(edge, last, &bytes);
        // Some answers come later, and several appends are then under way.
        let later = self.network().below(4);
        Box::new(Late { answer: Some(answer), later })
    }
}

/// An answer that comes only after a few looks.
struct Late {
    answer: Option<Result<(), LogError>>,
    later: u64,
}

impl Sent for Late {
    fn answer(&mut self) -> Option<Result<(), LogError>> {
        match self.later {
            0 => self.answer.take(),
            _ => {
                self.later -= 1;
                None
            }
        }
    }
}
