//! `cluster rm`: removes an application.

use super::servers::{Servers, log_failed};
use super::status::alive;
use crate::message::Complaints;
use crate::outcome::Outcome;
use millstream_cluster::App;

#[derive(Debug)]
pub(crate) struct Remove {
    pub(super) servers: Servers,
    pub(super) force: bool,
}

impl Remove {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("cluster");
        let log = match self.servers.open(&complaints) {
            Ok(log) => log,
            Err(outcome) => return outcome,
        };
        let name = &self.servers.access.app;
        if !self.force {
            let working =
                App::read(&log).and_then(|app| app.map_or(Ok(0), |app| alive(&log, &app).map(|all| all.len())));
            match working {
                Ok(0) => {}
                Ok(working) => {
                    let why = format!("{working} workers are at work for {name}: stop them, or use --force");
                    complaints.complain(&why);
                    return Outcome::WrongUse;
                }
                Err(error) => return log_failed(&error, &complaints),
            }
        }
        match log.remove(&App::edges()) {
            Ok(()) => {
                complaints.note(&format!("application {name} is removed"));
                Outcome::Done
            }
            Err(error) => log_failed(&error, &complaints),
        }
    }
}
