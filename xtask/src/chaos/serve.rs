//! Kills a ledger that is served over HTTP, at any moment, and starts it again. Clients repeat what was not answered,
//! and now and then what was. Every transfer moves its own amount to its own account, so the balances say which
//! requests were done, and how often.

mod change;
mod client;

use super::{Args, Random};
use crate::cmd::{Cmd, Failure, Result, failure, target_dir};
use client::Client;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

const CLIENTS: u64 = 8;

/// The amount that is paid in at the beginning.
const PAID_IN: u64 = 1 << 40;

/// One life in this many is ended by SIGTERM, and has to answer what it accepted.
const TERMINATED_ONE_IN: u64 = 6;

/// The longest life.
const MOST_MS: u64 = 400;

/// A server that does not answer for this long is broken.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn run(args: &Args) -> Result {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => {
            Cmd::cargo("build --release --quiet -p millstream-cli").run()?;
            target_dir().join("release/millstream")
        }
    };
    let home = std::env::temp_dir().join(format!("millstream-chaos-serve-{}", std::process::id()));
    fs::create_dir_all(&home).map_err(io("make a directory"))?;
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = port.map_err(io("find a port"))?.port();
    let ledger = Ledger { program, home: home.clone(), port, snapshot_every: format!("{}s", args.snapshot_every) };
    match if args.change { change::run(args, &ledger) } else { lives(args, &ledger) } {
        Ok(said) => println!("{said}"),
        Err(broken) => {
            eprintln!("{}; all is in {}", broken.message, home.display());
            std::process::exit(i32::from(broken.code));
        }
    }
    let _ = fs::remove_dir_all(&home);
    Ok(())
}

/// A failure of the ledger, which must never occur.
fn violation(message: String) -> Failure {
    Failure { message, code: 4 }
}

fn io(doing: &'static str) -> impl Fn(std::io::Error) -> Failure {
    move |error| failure(format!("cannot {doing}: {error}"))
}

/// Kills and starts until enough were killed, and checks what is left.
fn lives(args: &Args, ledger: &Ledger) -> Result<String> {
    let mut random = Random(args.seed);
    let mut server = Ending(ledger.start()?);
    let mut own = ledger.client();
    let bank = format!("{{\"to\":\"bank\",\"amount\":{PAID_IN}}}");
    own.until_answered("/deposit", "bank", &bank, PATIENCE)?.expect(200)?;
    let all = Arc::new(All::default());
    let clients: Vec<JoinHandle<Result>> = (0..CLIENTS)
        .map(|number| {
            let (all, client, seed) = (all.clone(), ledger.client(), args.seed);
            thread::spawn(move || all.work(number, client, Random(seed * CLIENTS + number)))
        })
        .collect();
    let (mut killed, mut terminated) = (0, 0);
    while killed < args.kills && !clients.iter().any(JoinHandle::is_finished) {
        sleep(Duration::from_millis(random.below(MOST_MS)));
        if random.below(TERMINATED_ONE_IN) == 0 {
            terminated += 1;
            let status = terminate(&mut server.0)?;
            if status.code() != Some(143) {
                return Err(violation(format!("after SIGTERM it ended with {status}")));
            }
        } else {
            server.0.kill().and_then(|()| server.0.wait().map(drop)).map_err(io("kill"))?;
            killed += 1;
        }
        server = Ending(ledger.start()?);
        own.audit(PATIENCE)?;
    }
    all.over.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().map_err(|_| failure("a client panicked"))??;
    }
    let done = all.check(&mut own, 0)?;
    terminate(&mut server.0)?;
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

/// The server, and its home.
struct Ledger {
    program: PathBuf,
    home: PathBuf,
    port: u16,
    snapshot_every: String,
}

impl Ledger {
    fn start(&self) -> Result<Child> {
        self.start_as(&self.program, "errors", &[])
    }

    /// Starts this program, which says what it does in this file.
    fn start_as(&self, program: &Path, errors: &str, more: &[&str]) -> Result<Child> {
        let errors = File::options().append(true).create(true).open(self.home.join(errors));
        let mut command = Command::new(program);
        command.args(["serve", "--accounts", "10000000", "--snapshot-every", &self.snapshot_every, "--listen"]);
        command.arg(format!("127.0.0.1:{}", self.port)).arg("--state").arg(self.home.join("state")).args(more);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors.map_err(io("open a file"))?);
        command.spawn().map_err(|error| failure(format!("cannot start {}: {error}", program.display())))
    }

    fn client(&self) -> Client {
        Client::new(self.port, &self.home)
    }
}

/// A server that does not outlive this, also where the chaos ends with a violation.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Ends the server by SIGTERM.
fn terminate(server: &mut Child) -> Result<ExitStatus> {
    let _ = Command::new("kill").args(["-TERM", &server.id().to_string()]).status();
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        if let Some(status) = server.try_wait().map_err(io("wait"))? {
            return Ok(status);
        }
        sleep(Duration::from_millis(5));
    }
    Err(violation("it does not end after SIGTERM".to_owned()))
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

/// What a state directory's owner sees: the errors of all lives.
fn errors(home: &Path) -> String {
    fs::read_to_string(home.join("errors")).unwrap_or_default()
}
