//! The master's side of the workers' answers.

use super::cells::Stage;
use super::{Master, Outbox};
use crate::message::{Answer, Request, frame};
use crate::wire::Body;
use crate::{EvolveError, Token, Violation};
use std::time::Duration;

impl Master {
    /// Handles an answer. After an error the caller gives the worker up, and calls `lost`.
    ///
    /// `fits` returns whether bytes are an output, or, if the flag is set, a state.
    pub(crate) fn receive(
        &mut self,
        worker: usize,
        message: &[u8],
        now: Duration,
        fits: &dyn Fn(&[u8], bool) -> bool,
        out: &mut impl Outbox,
    ) -> Result<(), Violation> {
        self.now = now;
        self.roster.workers[worker].heard = now;
        let mut body = Body::new(message);
        match body.get::<Answer>()? {
            Answer::StatesEvolved { items, spent } => {
                let record = &mut self.roster.workers[worker];
                (record.spent, record.answered) = (spent, Some(now));
                for _ in 0..items {
                    self.evolved(worker, &mut body, fits, out)?;
                }
                self.send_drops(out);
            }
            Answer::StatesAdded { .. } => {
                let adding = &mut self.roster.workers[worker].adding;
                *adding =
                    adding.checked_sub(1).ok_or_else(|| Violation::new("an answer to states that were not sent"))?;
            }
            Answer::StatesRemoved { items, looked_at } => {
                self.removed(worker, [items, looked_at], &mut body, fits, out)?;
            }
            Answer::Failed => {
                let (token, text) = (body.get()?, body.get::<&str>()?);
                self.cells.find(token).filter(|cell| self.cells.get(*cell).home == Some(worker)).ok_or_else(|| {
                    Violation::new(format!("the state {token} fails, but this worker does not have it"))
                })?;
                self.failed = Some(EvolveError::Panicked { token, message: text.to_owned() });
            }
            Answer::Ends => return Err(Violation::new(format!("it ended: {}", body.get::<&str>()?))),
        }
        body.end()?;
        self.hand_out(worker, out);
        self.seek(worker, out);
        self.look_after_idle(out);
        let record = &mut self.roster.workers[worker];
        if record.listed > 0 || !(record.incoming || record.idle || record.is_asked()) {
            // It has work, or no work is on its way to it: neither is a wait for the master.
            record.answered = None;
        }
        Ok(())
    }

    /// The cell of a state that this worker was asked to evolve.
    fn listed(&self, worker: usize, token: Token) -> Result<u32, Violation> {
        let asked = |cell: &u32| {
            let cell = self.cells.get(*cell);
            cell.home == Some(worker) && matches!(cell.stage, Stage::Handed | Stage::Leaving { .. })
        };
        let found = self.cells.find(token).filter(asked);
        found.ok_or_else(|| {
            Violation::new(format!("an answer for the state {token}, which this worker was not asked for"))
        })
    }

    /// Handles one state of an answer. The whole item is checked before any part of it counts.
    fn evolved(
        &mut self,
        worker: usize,
        body: &mut Body<'_>,
        fits: &dyn Fn(&[u8], bool) -> bool,
        out: &mut impl Outbox,
    ) -> Result<(), Violation> {
        let (token, nanoseconds, backup, number): (Token, u64, bool, u32) = body.get()?;
        let parent = self.listed(worker, token)?;
        let mut ahead = *body;
        for _ in 0..number {
            let fit = fits(ahead.bytes()?, false) && (!backup || fits(ahead.bytes()?, true));
            if !fit {
                return Err(Violation::new(format!("bytes that are not an output or state, of a child of {token}")));
            }
        }
        let again = self.cells.get(parent).again;
        let before = self.cells.get(parent).children.len();
        if again && before != number as usize {
            let what = format!("the state {token} had {before} children and now {number}: it must have the same again");
            return Err(Violation::new(what));
        }
        if !again && self.backup && !backup {
            return Err(Violation::new("an answer without the states that were asked for"));
        }
        if self.cells.get(parent).stage == Stage::Handed {
            self.roster.unlist(&mut self.cells, worker, parent);
        }
        let record = &mut self.roster.workers[worker];
        record.evolved += 1;
        self.counts.evolved += 1;
        let nanoseconds = nanoseconds.max(1);
        self.cost = match self.cost {
            0 => nanoseconds,
            // The worker may report any number.
            cost => cost.saturating_mul(15).saturating_add(nanoseconds) / 16,
        };
        if again {
            self.counts.again += 1;
            self.found_again(worker, parent, backup, body, out)?;
        } else {
            self.born(worker, parent, backup, number, body)?;
            self.left -= 1;
        }
        let parent = self.cells.at(parent);
        (parent.stage, parent.home, parent.again, parent.deaths) = (Stage::Evolved, None, false, 0);
        Ok(())
    }

    fn born(
        &mut self,
        worker: usize,
        parent: u32,
        backup: bool,
        number: u32,
        body: &mut Body<'_>,
    ) -> Result<(), Violation> {
        let token = self.cells.get(parent).token;
        let first = u32::try_from(self.cells.cells.len()).unwrap_or(u32::MAX);
        for index in 0..number {
            let child = self.cells.add(token.child(index), Some(parent));
            let Some(child) = child else {
                let what = format!("two states have the token {}", token.child(index));
                return Err(Violation::new(what));
            };
            self.cells.at(child).home = Some(worker);
            self.cells.keep_output(child, body.bytes()?);
            if backup {
                self.cells.keep_backup(child, body.bytes()?);
            }
        }
        self.cells.at(parent).children = first..first + number;
        Ok(())
    }

    /// Handles the children of a state that evolved again. The wanted ones are added to this worker's list. It forgets
    /// those that have another home.
    fn found_again(
        &mut self,
        worker: usize,
        parent: u32,
        backup: bool,
        body: &mut Body<'_>,
        out: &mut impl Outbox,
    ) -> Result<(), Violation> {
        for child in self.cells.get(parent).children.clone() {
            let _output = body.bytes()?;
            if backup {
                body.bytes()?;
            }
            let cell = self.cells.get(child);
            if cell.stage == Stage::Wanted {
                self.roster.append(&mut self.cells, worker, child);
            } else if cell.home != Some(worker) {
                self.roster.drop_later(worker, child);
            }
        }
        self.hand_out(worker, out);
        Ok(())
    }

    /// Handles states that a worker returned. Stolen ones go to the thief. Those that were looked at and not returned
    /// have begun.
    fn removed(
        &mut self,
        worker: usize,
        [items, looked_at]: [u32; 2],
        body: &mut Body<'_>,
        fits: &dyn Fn(&[u8], bool) -> bool,
        out: &mut impl Outbox,
    ) -> Result<(), Violation> {
        let record = &mut self.roster.workers[worker];
        let removal = record.removals.pop_front().ok_or_else(|| Violation::new("states that were not asked back"))?;
        let mut asked = std::mem::take(&mut self.scratch);
        asked.clear();
        asked.extend((0..removal.cells).map_while(|_| self.roster.leaving.pop(&mut record.leaving)));
        let looked_at = usize::try_from(looked_at).unwrap_or(usize::MAX).min(asked.len());
        // Those of an earlier round have evolved.
        let states = states(if removal.cells > 0 { items } else { 0 }, *body);
        let checked = match looked_at {
            _ if removal.cells == 0 => Master::returned(items, body, fits, |_| true),
            0 => Err(Violation::new("it looked at none of the states that were asked back")),
            _ => {
                // Items are in the order of the request, so each occurs at most once.
                let mut expected = asked[..looked_at].iter().map(|cell| self.cells.get(*cell).token);
                Master::returned(items, body, fits, |token| expected.any(|asked| asked == token))
            }
        };
        if let Err(violation) = checked {
            // `lost` follows. It frees the thief, or forgets the promise.
            self.roster.workers[worker].removals.push_front(removal);
            self.scratch = asked;
            return Err(violation);
        }
        match removal.thief {
            Some(thief) => {
                self.roster.workers[thief].incoming = false;
                let to = if self.roster.workers[thief].here { Some(thief) } else { self.roster.in_turn() };
                self.deliver(worker, to.unwrap_or(worker), states, out);
            }
            None => {
                let added = self.add_to_reserve(worker, states);
                self.forget_promise(removal.cells - added);
            }
        }
        let mut begun = false;
        for (at, cell) in asked.drain(..).enumerate() {
            let entry = self.cells.get(cell);
            match entry.stage {
                Stage::Leaving { handed } if entry.home == Some(worker) => {
                    begun |= at < looked_at;
                    if handed || at < looked_at {
                        self.roster.put_back(&mut self.cells, worker, cell);
                    } else {
                        self.roster.append(&mut self.cells, worker, cell);
                    }
                }
                _ => (),
            }
        }
        if begun {
            self.roster.has_begun(worker);
        }
        self.scratch = asked;
        match removal.thief {
            Some(thief) if thief != worker => self.seek(thief, out),
            _ => (),
        }
        Ok(())
    }

    /// Checks that all of these states were asked back, before any of them counts.
    fn returned(
        items: u32,
        body: &mut Body<'_>,
        fits: &dyn Fn(&[u8], bool) -> bool,
        mut is_expected: impl FnMut(Token) -> bool,
    ) -> Result<(), Violation> {
        for _ in 0..items {
            let token = body.get()?;
            if !is_expected(token) {
                return Err(Violation::new(format!("the state {token} was not asked back")));
            }
            if !fits(body.bytes()?, true) {
                return Err(Violation::new(format!("bytes that are not a state, for {token}")));
            }
        }
        Ok(())
    }

    /// The cell of a state that this worker was asked to give back; `None` if it has evolved since. A parent that
    /// evolved again made it again, and the worker gave that copy back.
    pub(super) fn leaving(&self, worker: usize, token: Token) -> Option<u32> {
        let leaves = |cell: &u32| {
            let cell = self.cells.get(*cell);
            cell.home == Some(worker) && matches!(cell.stage, Stage::Leaving { .. })
        };
        self.cells.find(token).filter(leaves)
    }

    fn deliver<'a>(
        &mut self,
        from: usize,
        to: usize,
        states: impl Iterator<Item = (Token, &'a [u8])> + Clone,
        out: &mut impl Outbox,
    ) {
        let items: u32 = states.clone().map(|(token, _)| u32::from(self.leaving(from, token).is_some())).sum();
        if items == 0 {
            return;
        }
        self.sends_to(to).adding += 1;
        if from != to {
            self.counts.stolen += u64::from(items);
        }
        let mut message = frame(out.to(to), &Request::AddStates { items });
        for (token, state) in states {
            if let Some(cell) = self.leaving(from, token) {
                message.put(&token).put_bytes(state);
                self.roster.append(&mut self.cells, to, cell);
            }
        }
        message.end();
        self.hand_out(to, out);
    }
}

/// The states of an answer, which are checked before they count.
fn states(items: u32, mut body: Body<'_>) -> impl Iterator<Item = (Token, &[u8])> + Clone {
    (0..items).map_while(move |_| Some((body.get().ok()?, body.bytes().ok()?)))
}
