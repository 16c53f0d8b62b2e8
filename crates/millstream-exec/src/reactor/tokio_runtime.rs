use crate::machine::{allow, allowed};
use std::sync::OnceLock;
use tokio::runtime::{Builder, EnterGuard, Handle, Runtime, RuntimeFlavor};

/// A tokio runtime: its timers, its sockets, its `spawn`. The futures themselves are polled by workers.
#[derive(Debug)]
pub(crate) struct Reactor {
    /// The runtime in which the run was started.
    current: Option<Handle>,
    /// The run's own runtime, from its first future on.
    own: OnceLock<Runtime>,
    /// The cores on which the threads of that runtime run; none if they are unknown.
    cores: Vec<usize>,
}

impl Reactor {
    /// The runtime of the caller. The run gets one of its own if the caller's has a single thread, which a caller
    /// waiting for the run would block.
    pub(crate) fn here() -> Self {
        let current = Handle::try_current().ok().filter(|current| {
            current.runtime_flavor() != RuntimeFlavor::CurrentThread && current.metrics().num_workers() > 1
        });
        Reactor { current, own: OnceLock::new(), cores: allowed().unwrap_or_default() }
    }

    /// # Panics
    ///
    /// If a runtime cannot be started.
    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        match &self.current {
            Some(current) => current.enter(),
            None => self.own.get_or_init(|| started(self.cores.clone())).enter(),
        }
    }
}

/// One thread for timers, sockets, and the tasks that futures spawn; and those for what blocks there.
fn started(cores: Vec<usize>) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("millstream-tokio").enable_all();
    // A pinned worker may start them.
    builder.on_thread_start(move || allow(&cores));
    builder.build().unwrap_or_else(|error| panic!("tokio's runtime cannot be started: {error}"))
}

impl Drop for Reactor {
    /// Does not wait for the tasks that futures have spawned: blocking is not allowed in an async task.
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            own.shutdown_background();
        }
    }
}
