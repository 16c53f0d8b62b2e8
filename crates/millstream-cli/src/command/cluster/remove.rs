//! `cluster rm`: removes an application.

use super::servers::{Servers, answered, log_failed};
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
        let name = &self.servers.access.app;
        let removed = self.is_at_rest(&complaints).and_then(|()| self.servers.remove(&complaints));
        match removed {
            Ok(()) => {
                complaints.note(&format!("application {name} is removed"));
                Outcome::Done
            }
            Err(outcome) => outcome,
        }
    }

    /// An error, after a message, if workers are at work for it. An application that was removed in part has none.
    fn is_at_rest(&self, complaints: &Complaints) -> Result<(), Outcome> {
        if self.force {
            return Ok(());
        }
        let Some(log) = self.servers.open_if_there(complaints)? else { return Ok(()) };
        let working = || App::read(&log)?.map_or(Ok(0), |app| alive(&log, &app).map(|all| all.len()));
        match answered(working).map_err(|error| log_failed(&error, complaints))? {
            0 => Ok(()),
            working => {
                let name = &self.servers.access.app;
                complaints.complain(&format!("{working} workers are at work for {name}: stop them, or use --force"));
                Err(Outcome::WrongUse)
            }
        }
    }
}
