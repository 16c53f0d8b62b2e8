//! Kills a ledger that is served over HTTP, at any moment, and starts it again. Clients repeat what was not answered,
//! and now and then what was. Every transfer moves its own amount to its own account, so the balances say which
//! requests were done, and how often.

mod client;
mod filled;
mod transfers;

use super::change::Change;
use super::lives::{Lives, joined};
use super::processes::{PATIENCE, Place, Service, violation};
use super::{Args, Random};
use crate::cmd::{Result, failure};
use client::Client;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use transfers::Transfers;

const CLIENTS: u64 = 8;

/// The amount that is paid in at the beginning.
const PAID_IN: u64 = 1 << 40;

pub(super) fn run(args: &Args) -> Result {
    Place::disturbed(args, |place| {
        let ledger = Ledger { place, all: Arc::default() };
        if args.change { changed(args, &ledger) } else { lives(args, &ledger) }
    })
}

/// Kills and starts until enough were killed, and checks what is left.
fn lives(args: &Args, ledger: &Ledger) -> Result<String> {
    let (mut random, all) = (Random(args.seed), &ledger.all);
    let mut server = ledger.start(&ledger.place.program, 0, &[])?;
    let mut own = ledger.client();
    ledger.pay_in(&mut own)?;
    let clients: Vec<JoinHandle<Result>> = (0..CLIENTS)
        .map(|number| {
            let (all, client, seed) = (all.clone(), ledger.client(), args.seed);
            thread::spawn(move || all.work(number, client, Random(seed * CLIENTS + number)))
        })
        .collect();
    let Lives { killed, terminated } = Lives::lived(&mut server, ledger, (&mut random, args.kills), &clients)?;
    joined(&all.over, clients)?;
    let done = all.check(&mut own, 0)?;
    server.terminate()?;
    let repeated = all.repeated.load(Ordering::Relaxed);
    if repeated == 0 && args.kills >= 20 {
        return Err(failure("no kill met a request that was under way: the kills prove nothing"));
    }
    Ok(format!(
        "{killed} killed, {terminated} terminated; {done} transfers, each done once; {repeated} were sent again without \
         an answer, and {} with one",
        all.again.load(Ordering::Relaxed)
    ))
}

/// Lets new processes take over, and checks what is left.
fn changed(args: &Args, ledger: &Ledger) -> Result<String> {
    let mut change = Change::begin(args, ledger)?;
    ledger.pay_in(&mut ledger.client())?;
    filled::fill(ledger.place.port, args.accounts)?;
    let said = change.changed(args)?;
    let done = ledger.all.check(&mut ledger.client(), args.accounts)?;
    change.end()?;
    Ok(format!("{said}; {done} transfers, each done once"))
}

/// The service, and what it was asked to do.
struct Ledger {
    place: Place,
    all: Arc<All>,
}

impl Ledger {
    fn client(&self) -> Client {
        Client::new(self.place.port, &self.place.home)
    }

    fn pay_in(&self, client: &mut Client) -> Result {
        let body = format!("{{\"to\":\"bank\",\"amount\":{PAID_IN}}}");
        client.until_answered("/deposit", "bank", &body, PATIENCE)?.expect(200)
    }
}

impl Service for Ledger {
    type Posts = Transfers;

    fn place(&self) -> &Place {
        &self.place
    }

    fn command(&self, program: &Path, _: u64) -> Result<Command> {
        let Place { home, port, snapshot_every, .. } = &self.place;
        let mut command = Command::new(program);
        command.args(["serve", "--accounts", "10000000", "--snapshot-every", snapshot_every, "--listen"]);
        command.arg(format!("127.0.0.1:{port}")).arg("--state").arg(home.join("state"));
        command.stdout(Stdio::null());
        Ok(command)
    }

    fn has_begun(&self, said: &str) -> bool {
        said.contains("listening at")
    }

    /// No money may be lost or made.
    fn answers(&self, within: Duration) -> Result {
        self.client().audit(within).map(drop)
    }

    fn posts(&self, name: String, random: Random) -> Transfers {
        Transfers::new(name, random, self.all.clone())
    }
}

/// The work of all clients.
#[derive(Default)]
struct All {
    over: AtomicBool,
    /// The balance that each account must have.
    accounts: Mutex<BTreeMap<String, u64>>,
    transfers: AtomicU64,
    /// Requests that were sent again, since there was no answer, or although there was one.
    repeated: AtomicU64,
    again: AtomicU64,
}

impl All {
    fn work(&self, number: u64, mut client: Client, mut random: Random) -> Result {
        for request in 0.. {
            if self.over.load(Ordering::Relaxed) {
                break;
            }
            let (account, amount) = (format!("c{number}-{request}"), 2 + random.below(1000));
            let body = format!("{{\"from\":\"bank\",\"to\":\"{account}\",\"amount\":{amount}}}");
            let answer = client.until_answered("/transfer", &account, &body, PATIENCE)?;
            answer.expect(200)?;
            self.repeated.fetch_add(answer.repeated, Ordering::Relaxed);
            let mut rest = amount;
            if random.below(4) == 0 {
                // Some of it goes back, by a request of its own.
                let body = format!("{{\"from\":\"{account}\",\"to\":\"bank\",\"amount\":1,\"id\":\"back-{account}\"}}");
                client.until_answered("/transfer", "", &body, PATIENCE)?.expect(200)?;
                self.transfers.fetch_add(1, Ordering::Relaxed);
                rest -= 1;
            }
            if random.below(8) == 0 {
                let again = client.until_answered("/transfer", &account, &body, PATIENCE)?;
                if again.body != answer.body {
                    let why = format!("{account}: first {:?}, and then {:?}", answer.body, again.body);
                    return Err(violation(why));
                }
                self.again.fetch_add(1, Ordering::Relaxed);
            }
            self.transfers.fetch_add(1, Ordering::Relaxed);
            self.accounts.lock().unwrap_or_else(PoisonError::into_inner).insert(account, rest);
        }
        Ok(())
    }

    /// Compares the ledger with the answers. Returns the number of transfers. `filled` accounts have 1 each.
    fn check(&self, client: &mut Client, filled: u64) -> Result<u64> {
        let expected = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut there = client.accounts(PATIENCE)?;
        if let Some(lost) = (0..filled).find(|n| there.remove(&format!("f{n}")) != Some(1)) {
            return Err(violation(format!("f{lost} has lost what it had")));
        }
        let bank = PAID_IN - expected.values().sum::<u64>();
        let found = there.remove("bank").unwrap_or(0);
        for (account, amount) in &*expected {
            match there.remove(account) {
                Some(has) if has == *amount => {}
                has => return Err(violation(format!("{account} was answered to have {amount}, and has {has:?}"))),
            }
        }
        if let Some((account, has)) = there.first_key_value() {
            return Err(violation(format!("{account} has {has}, and no answer said so")));
        }
        if found != bank {
            return Err(violation(format!("the bank has {found}, and should have {bank}")));
        }
        // What is paid in is no transfer.
        let (done, said) = (self.transfers.load(Ordering::Relaxed), client.audit(PATIENCE)?);
        if said != done {
            return Err(violation(format!("{done} transfers were answered, and {said} were done")));
        }
        Ok(done)
    }
}
