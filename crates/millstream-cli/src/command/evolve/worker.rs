use super::{SECRET, Task, secret};
use crate::message::Complaints;
use crate::outcome::Outcome;
use millstream_evolve::particles::{Bootstrap, Epidemic, Linear, Particle, Volatility};
use millstream_evolve::{Accepted, Address, Secret, ServeError, connect_within};
use std::time::Duration;

/// A peer that is silent for this long is not a master that waits for workers.
const LET_IN_WITHIN: Duration = Duration::from_secs(10);

/// `evolve-worker`: works for a master until the population is done.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) address: Address,
    pub(crate) pin: Option<usize>,
    pub(crate) patience: Option<Duration>,
}

impl Worker {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("evolve-worker");
        let secret = match secret() {
            Ok(Some(secret)) => secret,
            Ok(None) => {
                let why = "set it to the secret of the master";
                complaints.complain(&format!("{SECRET} is not set: {why}"));
                return Outcome::WrongUse;
            }
            Err(why) => {
                complaints.complain(&why);
                return Outcome::WrongUse;
            }
        };
        if let Some(Err(reason)) = self.pin.map(millstream_exec::pin_to_physical_core) {
            complaints.complain(&format!("not pinned: {reason}"));
        }
        let accepted = match connect_within(LET_IN_WITHIN, &self.address, &Secret::new(secret)) {
            Ok(accepted) => match self.patience {
                Some(patience) => accepted.with_patience(patience),
                None => accepted,
            },
            Err(error) => return gone(&complaints, &error),
        };
        let task: Task = match serde_json::from_slice(accepted.program()) {
            Ok(task) => task,
            Err(error) => {
                complaints.complain(&format!("the master at {} sent no valid task: {error}", self.address));
                return Outcome::InputOrOutputFailed;
            }
        };
        match task.model.as_str() {
            "linear" => serve(accepted, Linear::default(), &task, &complaints),
            "volatility" => serve(accepted, Volatility::default(), &task, &complaints),
            "epidemic" => serve(accepted, Epidemic::default(), &task, &complaints),
            model => {
                complaints.complain(&format!("the master at {} asks for the unknown model {model:?}", self.address));
                Outcome::InputOrOutputFailed
            }
        }
    }
}

fn serve(accepted: Accepted, particle: impl Particle, task: &Task, complaints: &Complaints) -> Outcome {
    match accepted.serve(&Bootstrap { particle, work: task.work }) {
        Ok(()) => Outcome::Done,
        Err(error) => gone(complaints, &error),
    }
}

fn gone(complaints: &Complaints, error: &ServeError) -> Outcome {
    complaints.complain(&error.to_string());
    Outcome::InputOrOutputFailed
}
