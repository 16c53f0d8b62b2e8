//! `cluster status`: an application's edges and workers.

use super::servers::{Servers, answered, log_failed};
use crate::message::{Complaints, one_line};
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_cluster::{App, EdgeState, JetStream, LogError, Place, PlaceState, newest_snapshot};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::thread::sleep;
use std::time::Duration;

/// A live worker renews its record within this time.
const LIVES: Duration = Duration::from_millis(1200);

#[derive(Debug)]
pub(crate) struct Status {
    pub(super) servers: Servers,
    pub(super) json: bool,
}

/// The output of `status`.
struct Seen {
    app: App,
    input: EdgeState,
    output: EdgeState,
    snapshot: Option<u64>,
    places: BTreeMap<u32, Place>,
    alive: Vec<u32>,
}

/// The ranks with a live worker, whose record changes.
pub(super) fn alive(log: &JetStream, app: &App) -> Result<Vec<u32>, LogError> {
    let before = Place::all(log, app.replicas)?;
    if before.values().all(|(place, _)| place.state != PlaceState::Works) {
        return Ok(Vec::new());
    }
    sleep(LIVES);
    let now = Place::all(log, app.replicas)?;
    let lives = |rank: &u32, place: &Place, revision: u64| {
        place.state == PlaceState::Works && before.get(rank).is_none_or(|(_, earlier)| *earlier != revision)
    };
    let living = now.iter().filter(|(rank, (place, revision))| lives(rank, place, *revision));
    Ok(living.map(|(rank, _)| *rank).collect())
}

/// The reason why a replica stopped.
pub(super) struct Alarm;

impl Alarm {
    pub(super) fn of(place: &Place) -> Option<&str> {
        match &place.state {
            PlaceState::Failed(why) | PlaceState::Diverged(why) => Some(why),
            PlaceState::Works | PlaceState::Left | PlaceState::Ended => None,
        }
    }

    pub(super) fn first(log: &JetStream) -> Option<String> {
        let app = App::read(log).ok()??;
        let places = Place::all(log, app.replicas).ok()?;
        places.iter().find_map(|(rank, (place, _))| Some(format!("replica {rank}: {}", one_line(Self::of(place)?))))
    }
}

impl Status {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("cluster");
        let log = match self.servers.open(&complaints) {
            Ok(log) => log,
            Err(outcome) => return outcome,
        };
        let seen = match answered(|| seen(&log)) {
            Ok(Some(seen)) => seen,
            Ok(None) => {
                let name = &self.servers.access.app;
                complaints.complain(&format!("application {name} has no plan: `cluster apply` makes one"));
                return Outcome::WrongUse;
            }
            Err(error) => return log_failed(&error, &complaints),
        };
        let text = if self.json { format!("{:#}\n", seen.json()) } else { seen.text() };
        Output::opened(&complaints, |mut output| {
            output.write(text.as_bytes());
            if seen.places.values().any(|place| Alarm::of(place).is_some()) {
                return Outcome::CheckFailed;
            }
            Outcome::Done
        })
    }
}

fn seen(log: &JetStream) -> Result<Option<Seen>, LogError> {
    let Some(app) = App::read(log)? else { return Ok(None) };
    let alive = alive(log, &app)?;
    let places = Place::all(log, app.replicas)?.into_iter().map(|(rank, (place, _))| (rank, place)).collect();
    let (input, output) = (log.edge(App::INPUT)?, log.edge(App::OUTPUT)?);
    Ok(Some(Seen { snapshot: newest_snapshot(log, App::OUTPUT)?, app, input, output, places, alive }))
}

impl Seen {
    fn state(&self, rank: u32, place: &Place) -> &'static str {
        match place.state {
            PlaceState::Works if !self.alive.contains(&rank) => "silent",
            PlaceState::Works if place.appends => "appends",
            PlaceState::Works => "follows",
            PlaceState::Left => "left",
            PlaceState::Ended => "ended",
            PlaceState::Failed(_) => "failed",
            PlaceState::Diverged(_) => "diverged",
        }
    }

    fn text(&self) -> String {
        let App { program, replicas, copies, .. } = &self.app;
        let mut text = format!("{program}: {replicas} replicas, each batch on {copies} servers\n");
        let snapshot = self.snapshot.map_or("none".to_owned(), |at| format!("at batch {at}"));
        let _ = writeln!(text, "snapshot: {snapshot}");
        for (name, edge) in [("input", &self.input), ("output", &self.output)] {
            let EdgeState { last, entries, bytes, capacity, leader, .. } = edge;
            let leader = leader.as_ref().map_or_else(String::new, |leader| format!(", led by {leader}"));
            let _ = writeln!(text, "{name}: batch {last}, {entries} of {capacity} kept, {bytes} bytes{leader}");
        }
        let _ = writeln!(text, "replica  state     computed    appended         lag  worker");
        for rank in 0..*replicas {
            let Some(place) = self.places.get(&rank) else {
                let _ = writeln!(text, "{rank:>7}  free");
                continue;
            };
            let lag = self.input.last.saturating_sub(place.position);
            let (state, Place { position, durable, host, process, .. }) = (self.state(rank, place), place);
            let _ = writeln!(text, "{rank:>7}  {state:<8}{position:>10}  {durable:>10}  {lag:>10}  {host} {process}");
        }
        for rank in &self.alive {
            if let Some(why) = self.places.get(rank).and_then(|place| place.waits.as_ref()) {
                let _ = writeln!(text, "waiting: replica {rank}: {}", one_line(why));
            }
        }
        for (rank, why) in self.places.iter().filter_map(|(rank, place)| Some((rank, Alarm::of(place)?))) {
            let _ = writeln!(text, "alarm: replica {rank}: {}", one_line(why));
        }
        text
    }

    fn json(&self) -> Value {
        let edge = |edge: &EdgeState| {
            let EdgeState { first, last, entries, bytes, capacity, leader } = edge;
            json!({
                "first": first, "last": last, "entries": entries, "bytes": bytes, "capacity": capacity, "leader": leader
            })
        };
        let places: Vec<Value> = self
            .places
            .iter()
            .map(|(rank, place)| {
                json!({
                    "rank": rank,
                    "state": self.state(*rank, place),
                    "computed": place.position,
                    "appended": place.durable,
                    "lag": self.input.last.saturating_sub(place.position),
                    "host": place.host,
                    "process": place.process,
                    "worker": place.worker,
                    "waits": place.waits,
                    "alarm": Alarm::of(place),
                })
            })
            .collect();
        json!({
            "program": self.app.program,
            "replicas": self.app.replicas,
            "copies": self.app.copies,
            "snapshot": self.snapshot,
            "input": edge(&self.input),
            "output": edge(&self.output),
            "places": places,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_has_one_line_and_so_has_what_a_worker_waits_for() {
        let why = "stage \"sum\", number 2: assertion `left == right` failed\n  left: 1\n right: 2";
        let place = Place {
            worker: "w".to_owned(),
            host: "h".to_owned(),
            process: 1,
            beat: 1,
            position: 3,
            durable: 2,
            appends: true,
            state: PlaceState::Failed(why.to_owned()),
            waits: None,
        };
        let (program, stages) = ("sums".to_owned(), vec![]);
        let app = App { program, stages, replicas: 1, copies: 1, capacity: 9, snapshot_every: 4 };
        let input = EdgeState { first: 1, last: 3, entries: 3, bytes: 9, capacity: 9, leader: None };
        let (output, places) = (input.clone(), BTreeMap::from([(0, place)]));
        let mut seen = Seen { app, input, output, snapshot: None, places, alive: vec![] };
        let alarm = "alarm: replica 0: stage \"sum\", number 2: assertion `left == right` failed; left: 1; right: 2";
        assert_eq!(seen.text().lines().last(), Some(alarm));
        let place = seen.places.get_mut(&0).unwrap();
        (place.state, place.waits) = (PlaceState::Works, Some("a snapshot is not stored: no room".to_owned()));
        let waits = "waiting: replica 0: a snapshot is not stored: no room";
        // What a dead one has tried does not count.
        assert!(!seen.text().contains(waits));
        seen.alive.push(0);
        assert_eq!(seen.text().lines().last(), Some(waits));
    }
}
