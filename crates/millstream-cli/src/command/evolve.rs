mod chart;
#[cfg(feature = "page")]
mod dashboard;
mod processes;
mod report;
mod run;
mod worker;

pub(crate) use worker::Worker;

use crate::config::StatsTo;
use crate::deploy::leave_no_other_report;
use crate::environment;
use crate::flags::ModelName;
use crate::interrupts::{Interrupts, when_hung_up};
use crate::message::{Complaints, cause, quoted, say};
use crate::outcome::{Outcome, before_exit};
use crate::output::Output;
use crate::progress;
use millstream_evolve::particles::{Bootstrap, Epidemic, Linear, Particle, Scene, Volatility, grid, kalman};
use millstream_evolve::{Address, Checkpoint, EvolveError, Lock, Options, Population, Secret, Tuning};
use processes::Processes;
use run::{Run, RunResult};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The environment variable that holds the secret.
const SECRET: &str = "MILLSTREAM_SECRET";

/// A shorter secret could be found by trying all of them against one recorded greeting.
const SHORTEST_SECRET: usize = 8;

/// The secret that master and workers share, if it is set.
fn secret() -> Result<Option<String>, String> {
    environment::secret(SECRET, SHORTEST_SECRET)
}

/// `evolve`: a particle filter on many workers.
#[derive(Clone, Debug)]
pub(crate) struct Evolve {
    pub(crate) model: ModelName,
    pub(crate) states: u32,
    pub(crate) rounds: u64,
    pub(crate) seed: u64,
    pub(crate) workers: usize,
    /// `None` if workers are threads. An empty file name means a temporary file.
    pub(crate) listen: Option<Address>,
    pub(crate) resume: Option<PathBuf>,
    pub(crate) tuning: Tuning,
    pub(crate) pin: bool,
    pub(crate) work: u64,
    pub(crate) plot: Option<PathBuf>,
    pub(crate) stats: Option<StatsTo>,
    #[cfg(feature = "page")]
    pub(crate) page: Option<String>,
    pub(crate) quiet: bool,
    pub(crate) hash: bool,
}

/// The task that workers receive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Task {
    model: String,
    work: u64,
}

impl Evolve {
    pub(crate) fn run(self) -> Outcome {
        match self.model {
            ModelName::Linear => {
                let linear = Linear::default();
                self.run_model("linear", linear, |seen| Some(kalman(&linear, seen).iter().map(|e| e.mean).collect()))
            }
            ModelName::Volatility => {
                let volatility = Volatility::default();
                let exact = |seen: &[f64]| Some(grid(&volatility, seen).iter().map(|e| e.mean).collect());
                self.run_model("volatility", volatility, exact)
            }
            ModelName::Epidemic => self.run_model("epidemic", Epidemic::default(), |_| None),
        }
    }

    fn run_model<P: Particle>(
        self,
        name: &str,
        particle: P,
        exact: impl FnOnce(&[f64]) -> Option<Vec<f64>>,
    ) -> Outcome {
        let complaints = Complaints::of("evolve");
        let secret = match self.secret() {
            Ok(secret) => secret,
            Err(why) => {
                complaints.complain(&why);
                return Outcome::WrongUse;
            }
        };
        let begun = Arc::default();
        let signals = signals(&begun).map_err(|error| EvolveError::Io("the system's signals".to_owned(), error));
        let (interrupts, lock) = match signals.and_then(|interrupts| Ok((interrupts, self.opened()?))) {
            Ok(opened) => opened,
            Err(error) => return failed(&complaints, 0, &error),
        };
        let reported = Arc::default();
        if let Some(path) = self.stats.as_ref().and_then(StatsTo::path) {
            leave_no_other_report(path, &reported);
        }
        let scene = Scene::new(&particle, usize::try_from(self.rounds).unwrap_or(usize::MAX), self.seed);
        #[cfg(feature = "page")]
        let shown = match dashboard::Shown::open(&self, name, &scene.truth, &complaints) {
            Ok(shown) => shown,
            Err(error) => failed(&complaints, 0, &error).exit(),
        };
        let exact = exact(&scene.observations);
        let task = Task { model: name.to_owned(), work: self.work };
        let evolve = Arc::new(Bootstrap { particle, work: self.work });
        let started = self.start(&task, &evolve, secret);
        let (mut population, processes, _dir) = match started {
            Ok(started) => started,
            Err(error) => failed(&complaints, 0, &error).exit(),
        };
        let run = Run {
            evolve: &self,
            name,
            particle: &evolve.particle,
            scene,
            exact,
            complaints,
            interrupts,
            begun,
            reported,
            #[cfg(feature = "page")]
            shown,
        };
        let (mut ran, opened) = (None, &run.complaints);
        let opened = Output::opened(opened, |output| {
            ran = Some(run.run_rounds(&mut population, output));
            // A message about a round that failed comes next.
            progress::end();
            Outcome::Done
        });
        if let Some(processes) = &processes {
            processes.stop_watching();
        }
        // This ends the workers.
        drop(population);
        drop(processes);
        drop(lock);
        match ran {
            None => opened.exit(),
            Some(Ok(RunResult { outcome, hash })) => {
                if let Some(hash) = hash.filter(|_| self.hash) {
                    say(&hash.to_string());
                }
                outcome
            }
            Some(Err((number, error))) => failed(&Complaints::of("evolve"), number, &error),
        }
    }

    /// `None` if workers are threads, or if this process starts all of them and makes a secret for them.
    fn secret(&self) -> Result<Option<String>, String> {
        match self.listen {
            None => Ok(None),
            Some(_) => match secret()? {
                None if self.workers == 0 => Err(format!(
                    "{SECRET} is not set: workers that join by themselves need it; \
                     `export {SECRET}=$(openssl rand -hex 16)` sets it"
                )),
                secret => Ok(secret),
            },
        }
    }

    /// Opens now what would otherwise fail after all the work: the files that are written at the end, and the
    /// checkpoints, which no other process can use while the lock is held.
    fn opened(&self) -> Result<Option<Lock>, EvolveError> {
        for path in self.plot.as_deref().into_iter().chain(self.stats.as_ref().and_then(StatsTo::path)) {
            let what = quoted(path.as_os_str());
            crate::output::can_be_written(path).map_err(|error| EvolveError::Io(what, error))?;
        }
        self.resume.as_deref().map(Checkpoint::lock).transpose()
    }

    /// The population with its workers, and the values that must live as long as they do.
    #[expect(clippy::type_complexity, reason = "the caller destructures it at once")]
    fn start<P: Particle>(
        &self,
        task: &Task,
        evolve: &Arc<Bootstrap<P>>,
        secret: Option<String>,
    ) -> Result<(Population<Bootstrap<P>>, Option<Processes>, Option<tempfile::TempDir>), EvolveError> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error| EvolveError::Io(what, error)
        };
        let (secret, text) = match secret {
            Some(text) => (Secret::new(text.as_bytes()), text),
            None => Secret::random().map_err(failed("the system's random numbers"))?,
        };
        let program = serde_json::to_vec(task).expect("a task has a JSON");
        let options = Options { tuning: self.tuning.clone(), program, pin: self.pin, ..Options::new(secret) };
        let mut population = Population::new(self.seed, options)?;
        let Some(address) = &self.listen else {
            population.add_threads(evolve, self.workers)?;
            return Ok((population, None, None));
        };
        let mut dir = None;
        let address = match address {
            Address::Unix(path) if path.as_os_str().is_empty() => {
                let made = dir.insert(tempfile::tempdir().map_err(failed("a temporary directory"))?).path();
                let [whole, left] = [made.to_owned(), made.to_owned()];
                before_exit(move || drop(std::fs::remove_dir_all(&whole)));
                // If the system refuses this, a closed terminal leaves the directory.
                let _ = when_hung_up(move || drop(std::fs::remove_dir_all(&left)));
                Address::Unix(made.join("master"))
            }
            address => address.clone(),
        };
        let at = population.listen(&address)?;
        if !self.quiet && self.workers == 0 {
            say(&format!("millstream evolve: waiting for `millstream evolve-worker --connect {at}`"));
        }
        let processes = Processes::start(self.workers, self.pin, &at, &text).map_err(failed("a worker's process"))?;
        population.wait_for(self.workers.max(1))?;
        Ok((population, Some(processes), dir))
    }
}

/// The signals. Before the rounds have `begun`, the first one ends the process.
fn signals(begun: &Arc<AtomicBool>) -> io::Result<Interrupts> {
    let interrupts = Interrupts::default();
    interrupts.listen()?;
    let (waiting, begun) = (interrupts.clone(), begun.clone());
    let early = move || {
        waiting.wait();
        if let Some(signal) = waiting.first().filter(|_| !begun.load(Ordering::SeqCst)) {
            say("millstream evolve: interrupted before the rounds began");
            Outcome::Interrupted(signal).exit()
        }
    };
    thread::Builder::new().name("signals-early".to_owned()).spawn(early)?;
    Ok(interrupts)
}

fn failed(complaints: &Complaints, number: u64, error: &EvolveError) -> Outcome {
    match error {
        EvolveError::Io(..) | EvolveError::Checkpoint(_) => {
            let said = match error {
                EvolveError::Io(what, error) => format!("{what}: {}", cause(error)),
                error => error.to_string(),
            };
            complaints.complain(&said);
            Outcome::InputOrOutputFailed
        }
        error => {
            say(&format!(
                "millstream: stage \"evolve\", number {number}: {}",
                crate::message::one_line(&error.to_string())
            ));
            Outcome::PipelineFailed
        }
    }
}
