//! A service of six stages: read, parse, validate, update the state, respond, serialise. Many clients call it, each
//! gets its own answers, and the accounts need no lock: all requests are one stream.
//!
//! ```console
//! $ cargo run --release -p millstream --features service --example service
//! ```
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use millstream::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A request of a client: `deposit NAME AMOUNT`, `transfer FROM TO AMOUNT` or `balance NAME`.
#[derive(Clone, Debug, PartialEq)]
enum Command {
    Deposit { to: String, amount: u64 },
    Transfer { from: String, to: String, amount: u64 },
    Balance { of: String },
}

#[derive(Clone, Debug, PartialEq)]
enum Reply {
    Balance(u64),
    Refused(String),
}

/// The accounts, and the balance of each.
#[derive(Clone, Debug, Default)]
struct Ledger(BTreeMap<String, u64>);

impl Ledger {
    /// Does what a command says, as a whole or not at all. Returns the balance of the account that it names first.
    fn apply(&mut self, command: &Command) -> Reply {
        let known = |name: &String| self.0.get(name).copied();
        match command {
            Command::Deposit { to, amount } => {
                let Some(balance) = known(to).unwrap_or(0).checked_add(*amount) else {
                    return Reply::Refused(format!("the balance of {to} would be too large"));
                };
                self.0.insert(to.clone(), balance);
                Reply::Balance(balance)
            }
            Command::Balance { of } => {
                known(of).map_or_else(|| Reply::Refused(format!("there is no {of}")), Reply::Balance)
            }
            Command::Transfer { from, to, amount } => {
                let Some(rest) = known(from).and_then(|has| has.checked_sub(*amount)) else {
                    return Reply::Refused(format!("{from} does not have {amount}"));
                };
                let Some(sum) = known(to).unwrap_or(0).checked_add(*amount) else {
                    return Reply::Refused(format!("the balance of {to} would be too large"));
                };
                self.0.insert(from.clone(), rest);
                self.0.insert(to.clone(), sum);
                Reply::Balance(rest)
            }
        }
    }
}

fn read(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

fn parse(words: &[String]) -> Result<Command, String> {
    let amount = |text: &String| text.parse().map_err(|_| format!("{text:?} is no amount"));
    Ok(match words {
        [verb, to, amount_of] if verb == "deposit" => Command::Deposit { to: to.clone(), amount: amount(amount_of)? },
        [verb, from, to, amount_of] if verb == "transfer" => {
            Command::Transfer { from: from.clone(), to: to.clone(), amount: amount(amount_of)? }
        }
        [verb, of] if verb == "balance" => Command::Balance { of: of.clone() },
        _ => return Err(format!("{:?} is no command", words.join(" "))),
    })
}

fn validate(command: &Command) -> Result<Command, String> {
    match command {
        Command::Transfer { from, to, .. } if from == to => Err(format!("{from} cannot pay itself")),
        Command::Deposit { amount: 0, .. } | Command::Transfer { amount: 0, .. } => Err("an amount of 0".to_owned()),
        valid => Ok(valid.clone()),
    }
}

fn serialise(reply: &Reply) -> String {
    let mut line = String::new();
    // A string takes all that is written to it.
    let _ = match reply {
        Reply::Balance(balance) => write!(line, "ok {balance}"),
        Reply::Refused(why) => write!(line, "refused: {why}"),
    };
    line
}

/// Lines to lines. A command that is refused on its way has a lane of its own, and never meets the ledger.
fn bank() -> Service<String, String> {
    service(wires!(|line: AnyEdge<String>| {
        let words = line.map(|line| read(line));
        let command = words.map(|words| parse(words));
        let valid = command.map(|command| command.as_ref().map_err(String::clone).and_then(validate));
        let reply = match valid {
            Ok(command) => command.scan(Ledger::default(), Ledger::apply),
            Err(why) => |why| Reply::Refused(why.clone()),
        };
        reply.map(serialise)
    }))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (client, run) = bank().start()?;
    for line in ["deposit ann 100", "transfer ann bo 30", "transfer bo ann 31", "balance ann", "give me all"] {
        println!("{line:20} {}", client.call_blocking(line.to_owned())?);
    }
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let client = client.clone();
            std::thread::spawn(move || {
                (0..1000).try_for_each(|_| client.call_blocking("deposit bo 1".into()).map(drop))
            })
        })
        .collect();
    for client in clients {
        client.join().expect("it does not panic")?;
    }
    println!("{:20} {}", "balance bo", client.call_blocking("balance bo".to_owned())?);
    drop(client); // the last client ends the service
    run.wait()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream::core::SplitMix64;

    /// The same, line by line, without a pipeline.
    fn answer(ledger: &mut Ledger, line: &str) -> String {
        let valid = parse(&read(line)).and_then(|command| validate(&command));
        serialise(&valid.map_or_else(Reply::Refused, |command| ledger.apply(&command)))
    }

    fn lines(seed: u64, count: usize) -> Vec<String> {
        let mut random = SplitMix64::new(seed);
        let name = |drawn: u64| ["ann", "bo", "cy"][(drawn % 3) as usize];
        let line = |drawn: u64| {
            let (a, b, amount) = (name(drawn >> 8), name(drawn >> 16), (drawn >> 24) % 50);
            match drawn % 8 {
                0..=2 => format!("deposit {a} {amount}"),
                3..=5 => format!("transfer {a} {b} {amount}"),
                6 => format!("balance {a}"),
                _ => format!("what {a}?"),
            }
        };
        (0..count).map(|_| line(random.draw())).collect()
    }

    #[test]
    fn one_client_gets_the_answers_of_a_loop() {
        let (client, _run) = bank().start().unwrap();
        let lines = lines(1, 2000);
        let answers: Vec<_> = lines.iter().map(|line| client.send(line.clone()).unwrap()).collect();
        let mut ledger = Ledger::default();
        for (line, given) in lines.iter().zip(answers) {
            assert_eq!(given.wait().unwrap(), answer(&mut ledger, line), "{line}");
        }
    }

    #[test]
    fn money_is_conserved_between_clients() {
        let (client, run) = bank().start().unwrap();
        let deposited: u64 = (0..4_u64)
            .map(|seed| {
                let client = client.clone();
                std::thread::spawn(move || {
                    let paid_in = |line: &str| match parse(&read(line)) {
                        Ok(Command::Deposit { amount, .. }) => amount,
                        _ => 0,
                    };
                    let all = lines(seed, 500).into_iter().map(|line| {
                        let amount = paid_in(&line);
                        if client.call_blocking(line).unwrap().starts_with("ok") { amount } else { 0 }
                    });
                    all.sum::<u64>()
                })
            })
            .collect::<Vec<_>>()
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum();
        let balance = |name: &str| {
            let answer = client.call_blocking(format!("balance {name}")).unwrap();
            answer.strip_prefix("ok ").map_or(0, |balance| balance.parse::<u64>().unwrap())
        };
        assert_eq!(["ann", "bo", "cy"].map(balance).iter().sum::<u64>(), deposited);
        drop(client);
        run.wait().unwrap();
    }
}
