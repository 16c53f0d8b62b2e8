//! Input that comes only once, and therefore goes to a journal: standard input, or posted rows.

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
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How long a source that has ended may take to be dropped.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// The source whose values come only once.
#[derive(Clone, Debug)]
pub(super) enum Once {
    /// Standard input, which this source reads.
    Input(Named),
    /// Rows that are posted to this address.
    Posted(String),
}

/// Its values. An address is opened only once this process has the state.
pub(super) enum Live {
    Nothing,
    Input(RowBlocks),
    #[cfg(feature = "serve")]
    Posted(Box<Arriving<Block>>),
}

impl Once {
    /// The source of a program that comes only once; `None` if the program reads only files.
    ///
    /// # Errors
    ///
    /// If there are two of them.
    pub(super) fn of(files: &[Named]) -> Result<Option<Self>, String> {
        let inputs = || files.iter().flat_map(|named| &named.files).filter(|name| *name == "-");
        if inputs().count() > 1 {
            return Err("--state: only one source can read standard input".to_owned());
        }
        let input = files.iter().find(|named| named.files.iter().any(|name| name == "-"));
        match (input, files.iter().find_map(|named| named.of.listen.clone())) {
            (Some(_), Some(address)) => Err(format!(
                "--state: the journal keeps one source, either standard input or the input at {address}: \
                 write the other one to a file, and read that"
            )),
            (Some(input), None) => Ok(Some(Once::Input(input.clone()))),
            (None, address) => Ok(address.map(Once::Posted)),
        }
    }

    /// Whether a read may wait for the next value.
    pub(super) fn waits(&self) -> bool {
        match self {
            Once::Input(_) => !never_waits("-".as_ref()),
            Once::Posted(_) => true,
        }
    }

    /// Opens standard input, and tells the runs that it cannot be handed over. An address is opened later. `watched` is
    /// whether a signal ends a wait for input, since it does not drain the run.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub(super) fn begin(&self, runs: &mut Runs, most: usize, watched: bool) -> Result<Live, String> {
        let Once::Input(named) = self else { return Ok(Live::Nothing) };
        runs.is_live();
        let mut opening = runs.opening(true);
        opening.watched |= watched;
        match opening.open("-".as_ref()) {
            Ok(input) => Ok(input.map_or(Live::Nothing, |input| Live::Input(named.of.blocks(input, most)))),
            Err(error) => Err(message("-".as_ref(), &error)),
        }
    }
}

impl Live {
    /// The place of the error that ends it.
    pub(super) fn failure(&self) -> Option<Failure> {
        match self {
            Live::Input(blocks) => Some(blocks.failure()),
            _ => None,
        }
    }
}

/// The source that takes no more rows when another process takes over.
#[derive(Clone, Default)]
pub(super) struct Left(Arc<Mutex<Option<CutsOff>>>);

type CutsOff = Box<dyn FnOnce() + Send>;

impl Left {
    #[cfg(feature = "serve")]
    fn cut_off(&self, cut_off: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(cut_off));
    }

    /// Cuts the source off before the runs let their directory go, and waits until nothing writes to the journal. The
    /// caller drops the returned sender together with the values of the source.
    pub(super) fn before_leaving(&self, runs: &mut Runs) -> SyncSender<()> {
        let (there, gone) = sync_channel(1);
        let left = self.clone();
        runs.when_left(move || {
            let cut_off = left.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(cut_off) = cut_off {
                cut_off();
                // If the journal is still in use, the other process reports that.
                let _ = gone.recv_timeout(GONE_WITHIN);
            }
        });
        there
    }
}

/// The arguments for opening an address.
#[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "nothing listens"))]
pub(super) struct Opening {
    pub(super) most: usize,
    pub(super) quiet: bool,
    /// The sources that a signal ends.
    pub(super) endless: Endless,
    #[cfg(feature = "serve")]
    pub(super) clients: Clients,
    pub(super) complaints: Complaints,
}

impl Opening {
    /// Listens, or goes on with clients that post already. `left` gets the function that cuts the source off when
    /// another process takes over.
    ///
    /// # Errors
    ///
    /// Why it does not listen, and the exit code.
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

/// The address of a source, which is opened when this process has the state: once.
pub(super) struct Posts {
    open: Arc<Mutex<Option<Open>>>,
    /// The values that were opened [later](Posts::later).
    live: Receiver<Live>,
    gives: SyncSender<Live>,
    refused: Arc<OnceLock<(String, Outcome)>>,
}

type Open = Box<dyn FnOnce() -> Result<Live, (String, Outcome)> + Send>;

/// Opens an address.
fn open(open: &Mutex<Option<Open>>, refused: &OnceLock<(String, Outcome)>) -> Result<Live, String> {
    let Some(open) = open.lock().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(Live::Nothing) };
    open().map_err(|(why, outcome)| {
        let _ = refused.set((why.clone(), outcome));
        why
    })
}

impl Posts {
    /// `refused` gets why it cannot be opened, and the exit code.
    pub(super) fn of(opening: Opening, address: &str, left: &Left, refused: &Arc<OnceLock<(String, Outcome)>>) -> Self {
        let (address, left) = (address.to_owned(), left.clone());
        let open: Open = Box::new(move || opening.posted(&address, &left));
        let (gives, live) = sync_channel(1);
        Posts { open: Arc::new(Mutex::new(Some(open))), live, gives, refused: refused.clone() }
    }

    /// Opens it now.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened.
    pub(super) fn open(self) -> Result<Live, String> {
        open(&self.open, &self.refused)
    }

    /// Opens it when called, for [`opened_later`](Posts::opened_later).
    #[cfg(feature = "serve")]
    pub(super) fn later(&self) -> impl FnOnce() -> Result<(), String> + Send + use<> {
        let (opening, refused, gives) = (self.open.clone(), self.refused.clone(), self.gives.clone());
        move || {
            // The run may be gone.
            open(&opening, &refused).map(|live| drop(gives.send(live)))
        }
    }

    /// The values, once it is open.
    pub(super) fn opened_later(self) -> Live {
        drop(self.gives);
        self.live.recv().unwrap_or(Live::Nothing)
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
