mod descriptors;
mod ledger;
mod routes;
mod stages;
mod steps;

use crate::config::{Doing, Keep, RunConfig};
use crate::deploy::{Answer, Runs};
use crate::environment::{self, SHORTEST_TOKEN, TOKEN};
use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_core::{Arrow, PartsExt, SequenceNumber, Val, pipeline};
use millstream_exec::{Lasting, sink};
use millstream_net::http::axum::Router;
use millstream_net::http::{Limits, OpenError, Server};
use millstream_observe::{PageRoutes, Watch};
use millstream_state::journaled_in_groups;
use millstream_state::resumable::Groups;
use stages::stages;
use std::collections::VecDeque;
#[cfg(feature = "tls")]
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use steps::{Reply, Request};

/// The requests under way are answered within this time after a signal, or they are cut off.
const GRACE: Duration = Duration::from_secs(10);

/// `serve`: a ledger of accounts over HTTP.
#[derive(Debug)]
pub(crate) struct Serve {
    pub(crate) listen: String,
    pub(crate) limits: Limits,
    /// The file with the certificates, and the one with the key.
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) most_accounts: u64,
    pub(crate) most_answers: usize,
    pub(crate) run: RunConfig,
}

/// The live requests of a run that only looks at old ones: none.
struct NoRequests;

impl Groups for NoRequests {
    type Item = Request;

    fn next_group(&mut self, _: &mut VecDeque<Request>) -> bool {
        false
    }
}

impl Serve {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("serve");
        match self.run.keep.clone() {
            Some(keep) if !matches!(keep.doing, Doing::Run { .. }) => self.look(&keep, &complaints),
            _ => self.serve(complaints),
        }
    }

    fn pipeline(&self) -> impl Lasting<In = Val<Request>, Out: millstream_exec::Edge<Reply>> + use<> {
        pipeline::<Request>().any_edge().then(stages(self.most_accounts, self.most_answers))
    }

    /// Repeats a part of the run. `replay` prints the answers of that part.
    fn look(self, keep: &Keep, complaints: &Complaints) -> Outcome {
        let pipeline = self.pipeline();
        Output::opened(complaints, |output| {
            let mut runs = Runs::new(self.run, complaints.clone());
            let print = |output: &mut Output, number: SequenceNumber, reply: &Reply| {
                output.write(format!("{number} {} {}", reply.status, reply.body).as_bytes());
            };
            let journal = keep.journal;
            let source = |state: &_| journaled_in_groups(state, journal, || NoRequests);
            match runs.keep(keep, &pipeline, source, Answer, sink::fold(output, print)) {
                Ok(_) => runs.finish(),
                Err(failed) => runs.fail(&failed),
            }
        })
    }

    fn serve(mut self, complaints: Complaints) -> Outcome {
        match environment::secret(TOKEN, SHORTEST_TOKEN) {
            Ok(token) => self.limits.token = token,
            Err(why) => {
                complaints.note(&why);
                return Outcome::WrongUse;
            }
        }
        let (quiet, connections) = (self.run.quiet, self.limits.connections as u64);
        if let Some(fewer) = descriptors::allow(connections) {
            complaints.note(&format!("--connections {connections}: the system allows about {fewer} (`ulimit -Hn`)"));
        }
        let pipeline = stages(self.most_accounts, self.most_answers);
        let mut runs = Runs::new(self.run, complaints.clone());
        let (listen, limits) = (self.listen, self.limits);
        #[cfg(feature = "tls")]
        let tls = self.tls;
        let page = PageRoutes::new();
        page.name("millstream serve");
        let served = runs.serve(pipeline, GRACE, |client, observer| {
            if let Ok(watch) = Watch::attach(observer) {
                page.show(Arc::new(watch));
            }
            let counted = Arc::new(OnceLock::new());
            let routes = routes::routes(&client, &page, counted.clone());
            #[cfg(feature = "tls")]
            let server = opened(&listen, routes, limits, tls)?;
            #[cfg(not(feature = "tls"))]
            let server = plain(&listen, routes, limits)?;
            let _ = counted.set(server.counters().clone());
            if !quiet {
                let scheme = if server.is_encrypted() { "https" } else { "http" };
                complaints.note(&format!("listening at {scheme}://{}/", server.address()));
            }
            Ok(server)
        });
        match served {
            Ok(Ok(())) => runs.finish(),
            Ok(Err((why, outcome))) => {
                complaints.note(&why);
                outcome
            }
            Err(failed) => runs.fail(&failed),
        }
    }
}

/// Why nothing is served, and the exit code.
type Refused = (String, Outcome);

fn refused(listen: &str, error: &OpenError) -> Refused {
    match error {
        OpenError::NoToken(_) => {
            let set = format!("`export {TOKEN}=$(openssl rand -hex 16)` sets one");
            (
                format!("--listen {listen}: other machines can reach it, and no token is asked for: {set}"),
                Outcome::WrongUse,
            )
        }
        error => (format!("--listen {listen}: {error}"), Outcome::InputOrOutputFailed),
    }
}

fn plain(listen: &str, routes: Router, limits: Limits) -> Result<Server, Refused> {
    Server::open_with(listen, routes, limits).map_err(|error| refused(listen, &error))
}

#[cfg(feature = "tls")]
fn opened(listen: &str, routes: Router, limits: Limits, tls: Option<(PathBuf, PathBuf)>) -> Result<Server, Refused> {
    let Some((certificates, key)) = tls else { return plain(listen, routes, limits) };
    let certificate = millstream_net::http::Certificate::read(&certificates, &key)
        .map_err(|error| (format!("--tls-certificate, --tls-key: {error}"), Outcome::InputOrOutputFailed))?;
    Server::open_tls(listen, routes, limits, &certificate).map_err(|error| refused(listen, &error))
}
