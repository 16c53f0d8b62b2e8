//! What comes once, and so goes to a journal: standard input, or rows that are posted.

#[cfg(feature = "serve")]
use super::super::listening::Posted;
use super::super::sources::{Endless, Named};
#[cfg(feature = "serve")]
use crate::deploy::Clients;
use crate::deploy::Runs;
use crate::input::{message, never_waits};
use crate::message::Complaints;
use crate::outcome::Outcome;
#[cfg(feature = "serve")]
use crate::progress;
use millstream_core::text::Block;
use millstream_io::Failure;
use millstream_mill::RowBlocks;
#[cfg(feature = "serve")]
use millstream_net::arrivals::Arriving;
use millstream_state::Groups;
use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long it may take until a source is gone of which nothing more comes.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// The source whose values come once.
#[derive(Clone, Debug)]
pub(super) enum Once {
    /// Standard input, of this source.
    Input(Named),
    /// What is posted to this address.
    Posted(String),
}

/// Its values. Of an address they begin when the state is this process's.
pub(super) enum Live {
    Nothing,
    Input(RowBlocks),
    #[cfg(feature = "serve")]
    Posted(Box<Arriving<Block>>),
}

impl Once {
    /// The one of a program; none if it reads files alone.
    ///
    /// # Errors
    ///
    /// If there are two.
    pub(super) fn of(files: &[Named]) -> Result<Option<Self>, String> {
        let inputs = || files.iter().flat_map(|named| &named.files).filter(|name| *name == "-");
        if inputs().count() > 1 {
            return Err("--state: only one source can read standard input".to_owned());
        }
        let input = files.iter().find(|named| named.files.iter().any(|name| name == "-"));
        match (input, files.iter().find_map(|named| named.of.listen.clone())) {
            (Some(_), Some(address)) => Err(format!(
                "--state: the journal keeps one source, either standard input or the input at {address}: write the \
                 other one to a file, and read that"
            )),
            (Some(input), None) => Ok(Some(Once::Input(input.clone()))),
            (None, address) => Ok(address.map(Once::Posted)),
        }
    }

    /// Whether the next value may have to be waited for.
    pub(super) fn waits(&self) -> bool {
        match self {
            Once::Input(_) => !never_waits("-".as_ref()),
            Once::Posted(_) => true,
        }
    }

    /// Opens standard input, and says to the runs that it cannot be handed over; an address is opened later.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub(super) fn begin(&self, runs: &mut Runs, most: usize) -> Result<Live, String> {
        let Once::Input(named) = self else { return Ok(Live::Nothing) };
        runs.is_live();
        match runs.opening(true).open("-".as_ref()) {
            Ok(input) => Ok(input.map_or(Live::Nothing, |input| Live::Input(named.of.blocks(input, most)))),
            Err(error) => Err(message("-".as_ref(), &error)),
        }
    }
}

impl Live {
    /// Where the error is kept that ends it.
    pub(super) fn failure(&self) -> Option<Failure> {
        match self {
            Live::Input(blocks) => Some(blocks.failure()),
            _ => None,
        }
    }
}

/// What takes no more when another process takes over.
#[derive(Clone, Default)]
pub(super) struct Left(Arc<Mutex<Option<CutsOff>>>);

type CutsOff = Box<dyn FnOnce() + Send>;

impl Left {
    #[cfg(feature = "serve")]
    fn cut_off(&self, cut_off: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(cut_off));
    }

    /// Cuts it off before the runs let their directory go, and waits until nothing writes the journal any more: what
    /// returns here is to be dropped with the values of the source.
    pub(super) fn before_leaving(&self, runs: &mut Runs) -> SyncSender<()> {
        let (there, gone) = sync_channel(1);
        let left = self.clone();
        runs.when_left(move || {
            let cut_off = left.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(cut_off) = cut_off {
                cut_off();
                // The other process says so if it finds the journal in use.
                let _ = gone.recv_timeout(GONE_WITHIN);
            }
        });
        there
    }
}

/// What an address is opened with.
#[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "nothing listens"))]
pub(super) struct Opening {
    pub(super) most: usize,
    pub(super) quiet: bool,
    /// What a signal ends.
    pub(super) endless: Endless,
    #[cfg(feature = "serve")]
    pub(super) clients: Clients,
    pub(super) complaints: Complaints,
}

impl Opening {
    /// Listens, or goes on with those who post. `left` is called with what takes no more when another process takes
    /// over.
    ///
    /// # Errors
    ///
    /// Why it does not, and the exit code.
    #[cfg(feature = "serve")]
    pub(super) fn posted(self, address: &str, left: &Left) -> Result<Live, (String, Outcome)> {
        let Posted { address, arriving, refuse } = Posted::at(address, self.most, &self.clients)?;
        if let (Some(address), false) = (address, self.quiet) {
            self.complaints.note(&format!("listening at http://{address}/ingest"));
        }
        let clients = self.clients;
        self.endless.add(move || clients.close());
        left.cut_off(refuse);
        Ok(Live::Posted(Box::new(Arriving::of(arriving))))
    }

    #[cfg(not(feature = "serve"))]
    pub(super) fn posted(self, _: &str, _: &Left) -> Result<Live, (String, Outcome)> {
        Err(("listen: this command was built without the feature `serve`".to_owned(), Outcome::WrongUse))
    }
}

impl Groups for Live {
    type Item = Block;

    fn next_group(&mut self, group: &mut VecDeque<Block>) -> bool {
        match self {
            Live::Nothing => false,
            Live::Input(blocks) => {
                group.extend(blocks.next());
                !group.is_empty()
            }
            #[cfg(feature = "serve")]
            Live::Posted(arriving) => {
                let before = group.len();
                let goes_on = arriving.next_group(group);
                progress::read(group.iter().skip(before).map(|block| block.len()).sum());
                goes_on
            }
        }
    }

    fn committed(&mut self, first: u64) {
        match self {
            #[cfg(feature = "serve")]
            Live::Posted(arriving) => arriving.committed(first),
            _ => _ = first,
        }
    }
}
