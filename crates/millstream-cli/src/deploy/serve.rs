//! Services: pipelines that answer what comes over the network until a signal comes.

use super::{Failed, Runs};
use crate::config::{Doing, Keep};
use crate::watching::Watching;
use millstream_core::{AnyEdge, Arrow, Item, PartsExt, pipeline};
use millstream_exec::{Client, Handle, Lasting, Observer, RunEnd, Stage, Stopper, service};
use millstream_net::http::Server;
use millstream_state::{JobError, Persistent, Recorded, Retention, Running, StateDir, Stored};
use std::io;
use std::time::Duration;

/// How long it may take until the end of a run that fails is noticed.
const LOOK: Duration = Duration::from_millis(100);

/// A service that runs, with its state kept or not.
enum Serving {
    Volatile(Handle<()>),
    Kept(Running<()>),
}

impl Serving {
    fn stopper(&self) -> Stopper {
        match self {
            Serving::Volatile(run) => run.stopper(),
            Serving::Kept(run) => run.stopper(),
        }
    }

    fn observer(&self) -> Observer {
        match self {
            Serving::Volatile(run) => run.observer(),
            Serving::Kept(run) => run.handle().observer(),
        }
    }

    fn is_finished(&self) -> bool {
        match self {
            Serving::Volatile(run) => run.is_finished(),
            Serving::Kept(run) => run.handle().is_finished(),
        }
    }

    fn join(self) -> (RunEnd<()>, Option<Stored>, Option<io::Error>) {
        match self {
            Serving::Volatile(run) => (run.join(), None, None),
            Serving::Kept(run) => {
                let (ended, stored, source) = run.join();
                (ended, Some(stored), source)
            }
        }
    }
}

impl Runs {
    /// Serves until a signal comes, or the run fails: `up` starts the server, which is closed then, and has this time
    /// for what is under way. Then the run is ended. Inside, why `up` could not.
    pub(crate) fn serve<Q, A, P, E>(
        &mut self,
        stages: P,
        within: Duration,
        up: impl FnOnce(Client<Q, A>, Observer) -> Result<Server, E>,
    ) -> Result<Result<(), E>, Failed>
    where
        Q: Recorded,
        A: Item + Clone,
        P: Stage<AnyEdge<Q>, A> + Lasting,
        AnyEdge<Q>: millstream_exec::BoxShape,
    {
        let (client, serving) = match self.config.keep.clone() {
            None => {
                let (client, run) = service(stages).start_on(&self.config.rings).map_err(Failed::Run)?;
                (client, Serving::Volatile(run))
            }
            Some(keep) => {
                let (client, run) = self.serve_kept(stages, &keep)?;
                (client, Serving::Kept(run))
            }
        };
        let watching = Watching::begin(&self.config, &self.shown, &serving.observer(), &self.complaints);
        // The first signal ends the server, and not the run: what was accepted is answered.
        self.interrupts.when_drained(|| ());
        self.interrupts.attend(serving.stopper());
        let server = match up(client, serving.observer()) {
            Ok(server) => server,
            Err(why) => return Ok(Err(why)),
        };
        while self.interrupts.first().is_none() && !serving.is_finished() {
            self.interrupts.wait_at_most(LOOK);
        }
        let closed = server.close(within);
        if closed.cut_off > 0 {
            self.complaints.complain(&format!("{} connections were cut off", closed.cut_off));
        }
        let (ended, stored, source) = serving.join();
        self.interrupts.leave();
        let (_, failure) = match stored {
            Some(stored) => self.kept(ended, &stored, watching),
            None => {
                let ended = self.ended("rings", ended);
                self.seen(watching);
                ended
            }
        };
        if let Some(error) = source {
            self.complaints.complain(&error.to_string());
        }
        failure.map_or(Ok(Ok(())), Err)
    }

    fn serve_kept<Q, A, P>(&self, stages: P, keep: &Keep) -> Result<(Client<Q, A>, Running<()>), JobError>
    where
        Q: Recorded,
        A: Item + Clone,
        P: Stage<AnyEdge<Q>, A> + Lasting,
    {
        let Doing::Run { program, job } = &keep.doing else { unreachable!("a look serves nothing") };
        let dir = StateDir::open(&keep.dir, program)?;
        let retention = Retention { count: Some(keep.snapshots), ..Retention::default() };
        let job = Persistent::new(self.config.rings.clone(), dir).described_as(job.clone()).keep(retention);
        let stages = pipeline::<Q>().any_edge().then(stages);
        job.snapshot_every(keep.cadence).serve(stages, keep.journal)
    }
}
