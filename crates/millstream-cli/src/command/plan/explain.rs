//! What a run on rings would decide, and why.

use super::PlanCommand;
use crate::flags::Program;
use millstream_core::Plan;
use millstream_core::plan::Stage;
use millstream_exec::Wait;
use serde_json::{Value, json};
use std::fmt;

/// The decisions that are known before a run, and what they rest on.
#[derive(Debug)]
pub(super) struct Explanation {
    cores: usize,
    cores_reason: String,
    most_workers: usize,
    workers_reason: String,
    /// Tasklets that workers share.
    shared: usize,
    /// Tasklets with a thread each, by the name of their stage.
    blocking: Vec<(String, usize)>,
    source: &'static str,
    rings: usize,
    ring_bytes: usize,
    wait: Wait,
    wait_reason: String,
}

impl Explanation {
    pub(super) fn of(command: &PlanCommand, plan: &Plan) -> Self {
        let (cores, cores_reason) = cores();
        let (waiting, blocking): (Vec<&Stage>, Vec<&Stage>) = plan.stages.iter().partition(|stage| !blocks(stage));
        let (source_tasklets, source_threads, source) = source(command.program);
        // The sink is one as well.
        let shared = source_tasklets + waiting.iter().map(|stage| stage.tasklets).sum::<usize>() + 1;
        let most_workers = command.workers.unwrap_or(cores).min(shared);
        let workers_reason = match command.workers {
            Some(n) if n > shared => format!("fixed: {n} were asked for, and there are {shared} tasklets to share"),
            Some(_) => "fixed: as asked for".to_owned(),
            None => "automatic: 1 to begin with; one more is kept where it moves at least 10% more".to_owned(),
        };
        // What a run compares with the cores before it lets a thread spin.
        let threads = command.workers.unwrap_or(cores) + source_threads;
        let (wait, wait_reason) = waiting_for(command.wait, threads, cores);
        Explanation {
            cores,
            cores_reason,
            most_workers,
            workers_reason,
            shared,
            blocking: blocking.iter().map(|stage| (stage.name.clone(), stage.tasklets)).collect(),
            source,
            rings: plan.rings.len(),
            ring_bytes: plan.bytes().unwrap_or(0),
            wait,
            wait_reason,
        }
    }

    pub(super) fn json(&self) -> Value {
        let blocking = self.blocking.iter().map(|(name, threads)| json!({ "stage": name, "threads": threads }));
        json!({
            "cores": { "usable": self.cores, "why": self.cores_reason },
            "workers": { "most": self.most_workers, "why": self.workers_reason },
            "tasklets": { "shared": self.shared, "own_thread": self.own_threads() },
            "source": self.source,
            "rings": { "count": self.rings, "bytes": self.ring_bytes },
            "wait": { "strategy": self.wait.to_string(), "why": self.wait_reason },
            "blocking": blocking.collect::<Vec<Value>>(),
        })
    }

    fn own_threads(&self) -> usize {
        self.blocking.iter().map(|(_, threads)| threads).sum()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.own_threads();
        writeln!(f, "usable cores:   {} ({})", self.cores, self.cores_reason)?;
        writeln!(f, "workers:        at most {} ({})", self.most_workers, self.workers_reason)?;
        writeln!(f, "tasklets:       {} shared by the workers, {own} with a thread of their own", self.shared)?;
        writeln!(f, "source:         {}", self.source)?;
        writeln!(f, "rings:          {}, {} bytes together", self.rings, self.ring_bytes)?;
        writeln!(f, "waiting:        {} ({})", self.wait, self.wait_reason)?;
        if self.blocking.is_empty() {
            return writeln!(f, "stages that block: none");
        }
        self.blocking
            .iter()
            .try_for_each(|(name, threads)| writeln!(f, "stage that blocks: {name} (own threads: {threads})"))
    }
}

fn blocks(stage: &Stage) -> bool {
    stage.kind == "map_blocking"
}

/// How many tasklets and how many threads the program's source takes, in words as well.
fn source(program: Program) -> (usize, usize, &'static str) {
    match program {
        Program::Wc | Program::Uppercase => {
            (1, 1, "may wait, so it has a thread; a tasklet drops the blocks that were released")
        }
        Program::Sleep | Program::Panic => (1, 0, "never waits, so a worker runs it"),
        Program::Idle => (0, 1, "may wait, so it has a thread"),
    }
}

/// What a run makes of the wish for a strategy.
fn waiting_for(wait: Wait, threads: usize, cores: usize) -> (Wait, String) {
    let crowded = threads > cores;
    match wait {
        Wait::BusySpin if crowded => (
            Wait::Phased,
            format!(
                "busy-spin refused: workers and source are up to {threads} threads on {cores} usable cores; no spinning"
            ),
        ),
        Wait::Phased | Wait::Yielding | Wait::Sleeping if crowded => {
            (wait, format!("without spinning: workers and source are up to {threads} threads on {cores} usable cores"))
        }
        _ => (wait, format!("workers and source are up to {threads} threads on {cores} usable cores")),
    }
}

/// The cores that this process may use, and what says so.
fn cores() -> (usize, String) {
    match std::thread::available_parallelism() {
        Ok(cores) => {
            let mask = status("Cpus_allowed_list:");
            let mask = mask.map_or(String::new(), |mask| format!(", here cores {mask}"));
            (cores.get(), format!("the affinity mask{mask}, or the cgroup's quota if that is less"))
        }
        Err(error) => (1, format!("the system does not tell: {error}")),
    }
}

/// What the kernel says of this process.
fn status(key: &str) -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix(key)?.trim().to_owned()))
}
