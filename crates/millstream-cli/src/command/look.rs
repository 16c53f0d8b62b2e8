use super::Command;
use crate::config::Seen;
use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_exec::Snapshot;
use serde_json::{Map, Value};

/// `state`: the states of a run at a number.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) command: Box<Command>,
    pub(crate) seen: Seen,
    pub(crate) stage: Option<String>,
}

impl Look {
    pub(crate) fn run(self) -> Outcome {
        let outcome = self.command.run();
        show_states(outcome, &self.seen, self.stage)
    }
}

/// Prints the state of this stage, or all states, if the look has found them.
pub(crate) fn show_states(outcome: Outcome, seen: &Seen, stage: Option<String>) -> Outcome {
    let Some(snapshot) = seen.take() else { return outcome };
    let complaints = Complaints::of("state");
    Output::opened(&complaints, |mut output| {
        let json = match stage {
            Some(stage) if snapshot.stages().any(|there| there == stage) => {
                snapshot.json(&stage).map(unwrapped).map_err(|error| error.to_string())
            }
            Some(_) if snapshot.stages().next().is_none() => Err("no stage of this run keeps a state".to_owned()),
            Some(stage) => {
                let there: Vec<&str> = snapshot.stages().collect();
                Err(format!("no stage {stage:?} keeps a state; these do: {}", there.join(", ")))
            }
            None => all(&snapshot),
        };
        match json {
            Ok(json) => {
                output.write(format!("{json:#}\n").as_bytes());
                Outcome::Done
            }
            Err(why) => {
                complaints.note(&why);
                Outcome::WrongUse
            }
        }
    })
}

/// The number, and the states by their stages' names.
fn all(snapshot: &Snapshot) -> Result<Value, String> {
    let state =
        |stage: &str| Ok((stage.to_owned(), unwrapped(snapshot.json(stage).map_err(|error| error.to_string())?)));
    let states: Map<String, Value> = snapshot.stages().map(state).collect::<Result<_, String>>()?;
    Ok(serde_json::json!({ "at": snapshot.at(), "output_at": snapshot.output_at(), "states": states }))
}

/// Shows the state of a stage without lanes without its list.
pub(super) fn unwrapped(lanes: Value) -> Value {
    match lanes {
        Value::Array(mut lanes) if lanes.len() == 1 => lanes.remove(0),
        lanes => lanes,
    }
}
