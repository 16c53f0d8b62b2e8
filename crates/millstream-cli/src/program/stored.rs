//! Looks at the stored states of a user's program.

use super::flags::{Command, Flags, OverLines};
use super::{Line, Printed, Program};
use crate::command::{Differ, seen_by, show_states};
use crate::config::{self, Doing, NUMBERS, Seen};
use crate::flags::{self, Look, Replay};
use crate::message::Complaints;
use crate::outcome::Outcome;
use millstream_core::{Item, Val};
use millstream_exec::{Everywhere, QueueShape};
use millstream_state::Span;
use std::fmt::Display;
use std::path::Path;

impl<T, P, O> Program<T, P>
where
    P: Everywhere<In = Val<T>, Out = O>,
    O: QueueShape,
    T: Line,
{
    pub(super) fn replay<B>(&self, flags: Replay) -> Outcome
    where
        O: Printed<B>,
        B: Item + Display,
    {
        let Replay { dir, from, to } = flags;
        self.stored("replay", &dir, Doing::Replay(Span { from, to }))
    }

    pub(super) fn look<B>(&self, flags: Look) -> Outcome
    where
        O: Printed<B>,
        B: Item + Display,
    {
        let Look { dir, at, stage } = flags;
        let seen = Seen::default();
        let outcome = self.stored("state", &dir, Doing::Look { at, seen: seen.clone(), tool: "state" });
        show_states(outcome, &seen, stage)
    }

    pub(super) fn diff<B>(&self, flags: &flags::Differ) -> Outcome
    where
        O: Printed<B>,
        B: Item + Display,
    {
        let dirs = [config::whole(&flags.dir), config::whole(&flags.other)];
        Differ { dirs }.run_with(&|dir, at| {
            let seen = Seen::default();
            let outcome = self.stored("diff", dir, Doing::Look { at: Some(at), seen: seen.clone(), tool: "diff" });
            seen_by(dir, outcome, &seen)
        })
    }

    /// The run whose state the directory has, for a replay or a look by this command.
    fn stored<B>(&self, command: &'static str, dir: &Path, doing: Doing) -> Outcome
    where
        O: Printed<B>,
        B: Item + Display,
    {
        let complaints = Complaints::of(command);
        let dir = &config::whole(dir);
        let stored = config::stored_flags::<Flags>(dir).and_then(|flags| match flags.command {
            Command::Run(OverLines { input, mut run }) => {
                run.without_reports();
                let shards = run.tuning.shards;
                Ok((input.names(), shards, config::run_with_slots(NUMBERS, run)?))
            }
            _ => Err("the directory has the state of another command".to_owned()),
        });
        match (stored, self.keeps) {
            (Ok((files, shards, mut config)), Some(run)) => {
                config.only_looks(dir, doing);
                let Some(mut keep) = config.keep.clone() else { return Outcome::WrongUse };
                keep.migrations = self.migrations.clone();
                self.pipeline.run_on(shards.unwrap_or(1), |pipeline| run(pipeline, config, &keep, files, &complaints))
            }
            (Err(why), _) => {
                complaints.note(&why);
                Outcome::WrongUse
            }
            (Ok(_), None) => {
                complaints.note("this program keeps no state; its author can add one with `Program::lasting`");
                Outcome::WrongUse
            }
        }
    }
}
