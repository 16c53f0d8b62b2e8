//! The page that shows the runs of a command.
//!
//! A process has one command and therefore one page, a static. Any code that ends the process can report the outcome to
//! it.

use crate::config::RunConfig;
use crate::interrupts::Interrupts;
use crate::message::{Complaints, cause};
use crate::outcome::Outcome;
use crate::{name, progress};
use millstream_observe::{Page, PageRoutes, Watch};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
#[cfg(feature = "run")]
use serde_json::Value;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The interval between tries to listen at an address that another process has.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug)]
struct Open {
    routes: PageRoutes,
    /// `None` while another process has the address.
    page: Option<Page>,
    waits: Option<Waits>,
}

/// Another process has the address: as a rule, the one that is taken over.
#[derive(Debug)]
struct Waits {
    listens: Listens,
    /// The process from which this one took over, once it is known.
    before: Option<Pid>,
}

impl Open {
    /// Listens if the address is free, and complains if it is not at the `last` try. Returns whether there is nothing
    /// more to try.
    fn tries(&mut self, last: bool) -> bool {
        let Some(Waits { listens, before }) = &self.waits else { return true };
        // A process that has ended has no sockets, so a try after that is the last one.
        let last = last || before.is_some_and(|before| test_kill_process(before) == Err(Errno::SRCH));
        let opened = listens.open(&self.routes);
        if is_taken(&opened) && !last {
            return false;
        }
        self.page = listens.or_complain(opened);
        self.waits = None;
        true
    }
}

static PAGE: Mutex<Option<Open>> = Mutex::new(None);

fn page() -> MutexGuard<'static, Option<Open>> {
    PAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports to readers of the page how the process is about to end.
pub(crate) fn ended(outcome: Outcome) {
    if let Some(open) = page().take() {
        open.routes.end(outcome.code(), &outcome.sentence());
    }
}

/// Makes the page answer posted texts by this function. If there is a token, requests must have it.
#[cfg(feature = "run")]
pub(crate) fn on_upgrade(token: Option<String>, by: impl Fn(&Value) -> (u16, Value) + Send + Sync + 'static) {
    if let Some(open) = &*page() {
        open.routes.on_upgrade(token, by);
    }
}

/// The page, if the flags ask for one.
#[derive(Debug)]
pub(crate) struct Shown {
    linger: Duration,
}

impl Shown {
    /// Opens the page and prints its address. `None` if it cannot listen there, with a message. A process that is to be
    /// taken over may have the address, or one that this process was to hand over to: then the page opens once that has
    /// ended.
    pub(crate) fn open(config: &RunConfig, complaints: &Complaints) -> Option<Self> {
        if let Some(address) = config.page.clone() {
            let routes = PageRoutes::new();
            routes.name(format!("{} {}", name::said(), complaints.program()));
            routes.bytes(progress::bytes);
            let listens = Listens { address, is_quiet: config.quiet, complaints: complaints.clone() };
            let opened = listens.open(&routes);
            if config.keep.as_ref().is_some_and(|keep| keep.take_over || keep.goes_on) && is_taken(&opened) {
                let why = "the address is in use: the page opens once it is free";
                listens.note(&format!("--page {}: {why}", listens.address));
                *page() = Some(Open { routes, page: None, waits: Some(Waits { listens, before: None }) });
                if let Err(error) = thread::Builder::new().name("page".into()).spawn(once_free) {
                    complaints.complain(&format!("--page: no thread: {error}"));
                    return None;
                }
            } else {
                *page() = Some(Open { routes, page: Some(listens.or_complain(opened)?), waits: None });
            }
        }
        Some(Shown { linger: config.page_linger })
    }

    /// The run begins, and nothing was taken over: no other process may have the page's address.
    pub(crate) fn begins_alone(&self) {
        page().iter_mut().for_each(|open| _ = open.tries(true));
    }

    /// The run begins where that of this process ended, if the system says which one it was: once that has ended, no
    /// other process may have the page's address.
    pub(crate) fn begins_after(&self, process: Option<u32>) {
        let process = process.and_then(|process| i32::try_from(process).ok()).and_then(Pid::from_raw);
        if let Some(Open { waits: Some(waits), .. }) = &mut *page() {
            waits.before = process;
        }
    }

    /// Another process has taken over: the address is for its page, so this one does not [stay](Shown::linger).
    pub(crate) fn is_taken_over(&mut self) {
        self.linger = Duration::ZERO;
    }

    pub(super) fn show(&self, watch: &Arc<Watch>) {
        if let Some(open) = &*page() {
            open.routes.show(watch.clone());
        }
    }

    /// Whether the page is to [stay](Shown::linger) after all runs, which ended like this. Notes that in `complaints`.
    pub(crate) fn lingers(&self, outcome: Outcome, interrupts: &Interrupts, complaints: Option<&Complaints>) -> bool {
        if self.linger.is_zero() || interrupts.first().is_some() {
            return false;
        }
        if let Some(open) = &*page() {
            open.routes.end(outcome.code(), &outcome.sentence());
        }
        if let Some(complaints) = complaints {
            complaints.note(&format!("the page stays for {} s, or until a signal comes", self.linger.as_secs()));
        }
        true
    }

    /// Keeps the page for as long as the flags say, or until a signal comes.
    pub(crate) fn linger(&self, interrupts: &Interrupts) {
        interrupts.wait_at_most(self.linger);
    }
}

fn is_taken(opened: &io::Result<Page>) -> bool {
    opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
}

/// Opens the page as soon as no other process has its address, unless the run is over by then.
fn once_free() {
    loop {
        let over = match &mut *page() {
            Some(open) => open.tries(false),
            None => true,
        };
        if over {
            return;
        }
        thread::sleep(LOOK);
    }
}

/// Listens for readers of the page.
#[derive(Debug)]
struct Listens {
    address: String,
    is_quiet: bool,
    complaints: Complaints,
}

impl Listens {
    /// Listens at the address, and says where that is.
    fn open(&self, routes: &PageRoutes) -> io::Result<Page> {
        let opened = Page::of(routes.clone(), self.address.as_str())?;
        self.note(&format!("the run is shown at http://{}/", opened.address()));
        Ok(opened)
    }

    fn or_complain(&self, opened: io::Result<Page>) -> Option<Page> {
        let complain = |error: &_| self.complaints.complain(&format!("--page {}: {}", self.address, cause(error)));
        opened.inspect_err(complain).ok()
    }

    fn note(&self, text: &str) {
        if !self.is_quiet {
            self.complaints.note(text);
        }
    }
}
