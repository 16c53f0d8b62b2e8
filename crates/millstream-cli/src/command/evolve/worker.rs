use super::{SECRET, Task, secret};
use crate::message::Complaints;
use crate::outcome::Outcome;
use millstream_evolve::particles::{Bootstrap, Epidemic, Linear, Particle, Volatility};
use millstream_evolve::{Accepted, Address, Secret, ServeError, connect_within};
use std::time::Duration;

/// A peer that is silent for this long is not a master that waits for workers. But a worker without a limit waits for a
/// master that is stopped.
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
        let accepted = match connect_within(let_in_within(self.patience), &self.address, &Secret::new(secret)) {
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

fn let_in_within(patience: Option<Duration>) -> Duration {
    patience.map_or(Duration::MAX, |_| LET_IN_WITHIN)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// `evolve` starts its workers without a limit. It may be stopped just then, and starts none again that has given
    /// it up.
    #[test]
    fn a_worker_without_a_limit_waits_to_be_let_in() {
        let limits = [Some(Duration::from_secs(600)), None].map(let_in_within);
        assert_eq!(limits, [LET_IN_WITHIN, Duration::MAX]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap().to_string());
        let waits = thread::spawn(move || connect_within(limits[1], &address, &Secret::new("s")).map(drop));
        drop(listener.accept().unwrap());
        let said = waits.join().unwrap().unwrap_err().to_string();
        assert!(said.ends_with(": the connection was closed"), "{said}");
    }
}
