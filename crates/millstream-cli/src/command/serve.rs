mod descriptors;
mod ledger;
mod routes;
mod stages;
mod steps;

use crate::config::{Doing, Keep, RunConfig};
use crate::deploy::{Answer, Refused, Runs, Serves, TookOver, opened};
use crate::environment::{self, SHORTEST_TOKEN, TOKEN};
use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_core::{AnyEdge, Arrow, PartsExt, SequenceNumber, Val, pipeline};
use millstream_exec::{Client, Lasting, Observer, Stage, sink};
use millstream_net::http::axum::Router;
use millstream_net::http::hand_over::Predecessor;
use millstream_net::http::{Limits, Server};
use millstream_observe::{PageRoutes, Watch};
use millstream_state::journaled_in_groups;
use millstream_state::resumable::Groups;
use stages::stages;
use std::collections::VecDeque;
#[cfg(feature = "tls")]
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use steps::{Reply, Request};

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

/// The live requests of a replay or a look: none.
struct NoRequests;

impl Groups for NoRequests {
    type Item = Request;

    fn next_group(&mut self, _: &mut VecDeque<Request>) -> bool {
        false
    }
}

impl Serve {
    pub(crate) fn run(self) -> Outcome {
        let complaints = self.run.complaints("serve");
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
            let printed = sink::fold(output, print);
            match runs.keep::<false, _, _, _, _, _>(keep, &pipeline, source, Answer, printed) {
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
            complaints.note(&format!(
                "--connections {connections}: the system allows only about {fewer}; `ulimit -Hn` shows its limit"
            ));
        }
        let mut runs = Runs::new(self.run, complaints.clone());
        let page = PageRoutes::new();
        page.name("millstream serve");
        let service = Service {
            listen: self.listen,
            limits: self.limits,
            #[cfg(feature = "tls")]
            tls: self.tls,
            most_accounts: self.most_accounts,
            most_answers: self.most_answers,
            page,
            counted: Arc::default(),
            took_over: Arc::default(),
            told: (!quiet).then(|| complaints.clone()),
        };
        match runs.serve(&service) {
            Ok(Ok(())) => runs.finish(),
            Ok(Err((why, outcome))) => {
                complaints.note(&why);
                outcome
            }
            Err(failed) => runs.fail(&failed),
        }
    }
}

/// The ledger, and the address at which it listens.
struct Service {
    listen: String,
    limits: Limits,
    #[cfg(feature = "tls")]
    tls: Option<(PathBuf, PathBuf)>,
    most_accounts: u64,
    most_answers: usize,
    page: PageRoutes,
    counted: routes::Counted,
    took_over: routes::Taken,
    /// Prints the address at which it listens.
    told: Option<Complaints>,
}

impl Serves for Service {
    type Request = Request;
    type Answer = Reply;

    fn stages(&self) -> impl Stage<AnyEdge<Request>, Reply> + Lasting {
        stages(self.most_accounts, self.most_answers)
    }

    fn routes(&self, client: Client<Request, Reply>, observer: Observer) -> Router {
        if let Ok(watch) = Watch::attach(observer) {
            self.page.show(Arc::new(watch));
        }
        routes::routes(&client, &self.page, self.counted.clone(), self.took_over.clone())
    }

    fn open(&self, routes: Router, before: Option<&Predecessor>) -> Result<Server, Refused> {
        let limits = self.limits.clone();
        #[cfg(feature = "tls")]
        if let Some((certificates, key)) = &self.tls {
            let certificate = millstream_net::http::Certificate::read(certificates, key)
                .map_err(|error| (format!("--tls-certificate, --tls-key: {error}"), Outcome::InputOrOutputFailed))?;
            let server = match (before, crate::deploy::supervised()?) {
                (Some(before), _) => before.open_tls(routes, limits, &certificate),
                (None, Some(listener)) => Server::open_tls_on(listener, routes, limits, &certificate),
                (None, None) => Server::open_tls(&*self.listen, routes, limits, &certificate),
            };
            return server.map_err(|error| crate::deploy::refused(&format!("--listen {}", self.listen), &error));
        }
        opened(&self.listen, &format!("--listen {}", self.listen), routes, limits, before)
    }

    fn listens(&self, server: &Server, took_over: Option<TookOver>) {
        let _ = self.counted.set(server.counters().clone());
        if let Some(took_over) = took_over {
            let _ = self.took_over.set(took_over);
        }
        if let Some(told) = &self.told {
            let scheme = if server.is_encrypted() { "https" } else { "http" };
            told.note(&format!("listening at {scheme}://{}/", server.address()));
        }
    }

    fn idle(&self) -> Duration {
        self.limits.head_within
    }

    fn ends(&self, outcome: Outcome) {
        self.page.end(outcome.code(), &outcome.sentence());
    }
}
