//! The rounds of a filter, from their beginning or from a checkpoint.

use super::{Evolve, chart, report};
use crate::hash::Hash;
use crate::interrupts::Interrupts;
use crate::message::{Complaints, cause, quoted, say};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::{progress, stats};
use millstream_core::SequenceNumber;
use millstream_evolve::particles::{Bootstrap, Filter, Particle, Scene, Weighed, rmse};
use millstream_evolve::{Checkpoint, Children, EvolveError, Population};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) struct Run<'a, P> {
    pub(super) evolve: &'a Evolve,
    pub(super) name: &'a str,
    pub(super) particle: &'a P,
    pub(super) scene: Scene,
    pub(super) exact: Option<Vec<f64>>,
    pub(super) complaints: Complaints,
    pub(super) interrupts: Interrupts,
    /// Set once a signal ends the rounds and not the process.
    pub(super) begun: Arc<AtomicBool>,
    /// Set once the file of `--stats` is that of this run.
    pub(super) reported: Arc<AtomicBool>,
    #[cfg(feature = "page")]
    pub(super) shown: Option<super::dashboard::Shown>,
}

pub(super) struct RunResult {
    pub(super) outcome: Outcome,
    pub(super) hash: Option<Hash>,
}

/// The data of a checkpoint other than the states.
#[derive(Serialize, Deserialize)]
struct Note {
    model: String,
    states: u32,
    seed: u64,
    work: u64,
    filter: Filter,
    means: Vec<f64>,
    hash: (u64, u64),
}

/// The state between two rounds.
struct Progress {
    filter: Filter,
    means: Vec<f64>,
    hash: Hash,
}

impl<P: Particle> Run<'_, P> {
    /// Runs the rounds. Each row is printed when its round ends. Writes the report, also of a run that fails.
    pub(super) fn run_rounds(
        &self,
        population: &mut Population<Bootstrap<P>>,
        output: Output,
    ) -> Result<RunResult, (u64, EvolveError)> {
        let ran = self.all_rounds(population, output);
        if let Some(to) = &self.evolve.stats {
            let mut report = report::population(&population.glance());
            report["failure"] = ran.as_ref().err().map(|(_, error)| error.to_string()).into();
            stats::write(to, &stats::text(&[report]), &self.complaints);
            self.reported.store(true, Ordering::Relaxed);
        }
        let (outcome, hash) = ran?;
        let outcome = match outcome {
            Outcome::Done if self.complaints.any() => Outcome::InputOrOutputFailed,
            outcome => outcome,
        };
        Ok(RunResult { outcome, hash: Some(hash) })
    }

    fn all_rounds(
        &self,
        population: &mut Population<Bootstrap<P>>,
        mut output: Output,
    ) -> Result<(Outcome, Hash), (u64, EvolveError)> {
        let Evolve { states, rounds, quiet, resume, .. } = self.evolve;
        #[cfg(feature = "page")]
        let shown = &self.shown;
        let mut now = self.begin(population).map_err(|error| (0, error))?;
        #[cfg(feature = "page")]
        if let Some(shown) = shown {
            shown.rounds(&now.means);
        }
        let mut is_read = output.offer(self.header().as_bytes()) && output.offer(self.rows(0, &now.means).as_bytes());
        progress::begin_particles("evolve", u64::from(*states) * (rounds - now.filter.rounds().min(*rounds)), *quiet);
        self.show_progress(
            population,
            #[cfg(feature = "page")]
            shown.clone(),
        );
        population.keep_all(resume.is_some());
        self.begun.store(true, Ordering::SeqCst);
        while is_read && now.filter.rounds() < *rounds && self.interrupts.first().is_none() {
            let round = now.filter.rounds();
            let failed = |error| (round, error);
            let observation = self.scene.observations[now.means.len()];
            let (children, estimate) = now.filter.round(population, observation).map_err(failed)?;
            hash(&mut now.hash, &children);
            now.means.push(estimate.mean);
            is_read = output.offer(self.rows(now.means.len() - 1, &now.means).as_bytes());
            #[cfg(feature = "page")]
            if let Some(shown) = shown {
                shown.rounds(&[estimate.mean]);
            }
            if let Some(dir) = resume {
                population.checkpoint(self.note(&now)).and_then(|kept| kept.save(dir)).map_err(failed)?;
            }
        }
        progress::end();
        #[cfg(feature = "page")]
        if let Some(shown) = shown {
            shown.end(&population.glance());
        }
        // A signal in the last round has nothing left to end.
        let outcome = match self.interrupts.first().filter(|_| now.filter.rounds() < *rounds) {
            Some(signal) => {
                say(&format!("millstream evolve: interrupted after {} of {rounds} rounds", now.means.len()));
                Outcome::Interrupted(signal)
            }
            None if !is_read => Outcome::Done,
            None => self.print_errors(&now, &mut output),
        };
        if !quiet {
            report(population);
        }
        Ok((outcome, now.hash))
    }

    /// Begins after the last checkpoint, if there is one.
    fn begin(&self, population: &mut Population<Bootstrap<P>>) -> Result<Progress, EvolveError> {
        let Evolve { states, seed, work, resume, .. } = self.evolve;
        let kept = match resume {
            Some(dir) => Checkpoint::last_but(dir, said_damaged)?.map(|kept| (dir, kept)),
            None => None,
        };
        let Some((dir, kept)) = kept else {
            let filter = Filter::begin(population, self.particle, *states, *seed)?;
            return Ok(Progress { filter, means: Vec::new(), hash: Hash::default() });
        };
        let damaged = |_| EvolveError::Checkpoint(format!("{} holds a checkpoint of another program", dir.display()));
        let note: Note = postcard::from_bytes(&kept.note).map_err(damaged)?;
        if (note.model.as_str(), note.states, note.seed, note.work) != (self.name, *states, *seed, *work) {
            return Err(EvolveError::Checkpoint(format!(
                "{} holds --model {} --states {} --seed {} --work {}: use these flags, or another directory",
                dir.display(),
                note.model,
                note.states,
                note.seed,
                note.work
            )));
        }
        if kept.round > self.evolve.rounds {
            let what = format!("{} has {} rounds already: raise --rounds", dir.display(), kept.round);
            return Err(EvolveError::Checkpoint(what));
        }
        population.restore(&kept)?;
        let (state, slots) = note.hash;
        Ok(Progress { filter: note.filter, means: note.means, hash: Hash::resumed(state, slots) })
    }

    fn note(&self, now: &Progress) -> Vec<u8> {
        let note = Note {
            model: self.name.to_owned(),
            states: self.evolve.states,
            seed: self.evolve.seed,
            work: self.evolve.work,
            filter: now.filter.clone(),
            means: now.means.clone(),
            hash: (now.hash.state(), now.hash.slots()),
        };
        postcard::to_allocvec(&note).expect("a note has an encoding")
    }

    fn show_progress(
        &self,
        population: &mut Population<Bootstrap<P>>,
        #[cfg(feature = "page")] shown: Option<super::dashboard::Shown>,
    ) {
        let mut before = 0;
        // Only distinct parents evolve. Their share of the work is scaled to all particles.
        let states = self.evolve.states as usize;
        population.watch(Box::new(move |glance| {
            let (evolved, of) = (glance.evolved(), glance.states());
            #[cfg(feature = "page")]
            if let Some(shown) = &shown {
                shown.glance(glance);
            }
            let now = (evolved * states).checked_div(of).unwrap_or(states);
            progress::advance(now.saturating_sub(before));
            before = if evolved == of { 0 } else { now.max(before) };
        }));
    }

    /// The line above the rows.
    fn header(&self) -> String {
        let exact = if self.exact.is_some() { "\texact" } else { "" };
        format!("round\ttruth\tobservation\testimate{exact}\n")
    }

    /// A line for each round from this one on.
    fn rows(&self, from: usize, means: &[f64]) -> String {
        let Scene { truth, observations } = &self.scene;
        let mut text = String::new();
        for (round, mean) in means.iter().enumerate().skip(from) {
            let _ = write!(text, "{round}\t{:.6}\t{:.6}\t{mean:.6}", truth[round], observations[round]);
            let _ = match &self.exact {
                Some(exact) => writeln!(text, "\t{:.6}", exact[round]),
                None => writeln!(text),
            };
        }
        text
    }

    /// Prints how far the estimates are from the truth, and draws the plot.
    fn print_errors(&self, now: &Progress, output: &mut Output) -> Outcome {
        let (truth, mut text) = (&self.scene.truth, String::new());
        let _ = writeln!(text, "rmse estimate truth {:.6}", rmse(&now.means, truth));
        if let Some(exact) = &self.exact {
            let _ = writeln!(text, "rmse exact truth {:.6}", rmse(exact, truth));
            let _ = writeln!(text, "rmse estimate exact {:.6}", rmse(&now.means, exact));
        }
        output.offer(text.as_bytes());
        if let Some(path) = &self.evolve.plot {
            let lines = [("truth", truth.as_slice()), ("estimate", &now.means)];
            let exact = self.exact.as_ref().map(|exact| ("exact", exact.as_slice()));
            let svg = chart::svg(self.name, lines.into_iter().chain(exact));
            if let Err(error) = std::fs::write(path, svg) {
                self.complaints.complain(&format!("{}: {}", path.display(), cause(&error)));
            }
        }
        if self.complaints.any() { Outcome::InputOrOutputFailed } else { Outcome::Done }
    }
}

fn said_damaged(path: &Path) {
    say(&format!(
        "millstream evolve: {} is damaged; the run continues from the checkpoint before it",
        quoted(path.as_os_str())
    ));
}

/// Every particle is a slot: its token and its output.
fn hash(hash: &mut Hash, children: &Children<Weighed>) {
    for (token, Weighed { log_weight, hidden }) in children.values().flatten() {
        let bytes = [token.bytes().as_slice(), &log_weight.to_le_bytes(), &hidden.to_le_bytes()].concat();
        hash.slot(SequenceNumber(hash.slots()), &bytes);
    }
}

/// Prints the activity of all workers.
fn report<P: Particle>(population: &Population<Bootstrap<P>>) {
    say("worker   evolved   working s   waiting s");
    for (worker, working, waiting, evolved) in population.spent() {
        say(&format!("{worker:6} {evolved:9} {:11.3} {:11.3}", working.as_secs_f64(), waiting.as_secs_f64()));
    }
    let (counts, (sent, received)) = (population.counts(), population.traffic());
    say(&format!(
        "{} states in {} batches, {} stolen in {} attempts, {} workers lost, {} states evolved again; \
         {sent} bytes sent, {received} received",
        counts.evolved, counts.batches, counts.stolen, counts.steals, counts.lost, counts.again
    ));
    let latency = population.latency();
    say(&format!("from answer to next request, {} times: {latency}", latency.total()));
}
