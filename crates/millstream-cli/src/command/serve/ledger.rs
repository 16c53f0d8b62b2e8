//! Accounts, and the commands on them.

use millstream_net::once::{FirstAnswers, Look};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Bound;

/// A request of a client. An amount is a whole number of the smallest unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Order {
    Deposit { to: String, amount: u64 },
    Withdraw { from: String, amount: u64 },
    Transfer { from: String, to: String, amount: u64 },
    Balance { of: String },
    Accounts { after: String },
    Audit,
}

/// An order, with an id that makes a repetition harmless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) id: Option<String>,
    /// The fingerprint of the order's bytes.
    pub(super) fingerprint: u64,
    pub(super) order: Order,
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Answer {
    Balance {
        account: String,
        balance: u64,
    },
    Accounts {
        balances: Vec<(String, u64)>,
        more: bool,
    },
    Audit(Audit),
    /// The rules of the ledger do not allow it.
    Refused(String),
    /// There is no such account.
    Unknown(String),
    /// The request is not a command: the status, and why.
    Wrong(u16, String),
    /// A request with this id was answered, too long ago.
    Forgotten,
}

/// The audit of the ledger. `balances` must be `paid_in` less `paid_out`; otherwise money was lost or made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Audit {
    accounts: u64,
    balances: u64,
    paid_in: u64,
    paid_out: u64,
    transfers: u64,
}

/// The accounts of one page.
const PAGE: usize = 1000;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ledger {
    balances: BTreeMap<String, u64>,
    most_accounts: u64,
    paid_in: u64,
    paid_out: u64,
    transfers: u64,
    answers: FirstAnswers<Answer>,
}

impl Ledger {
    /// A ledger with at most this many accounts. It keeps the answers to this many commands with ids.
    pub(super) fn new(most_accounts: u64, most_answers: usize) -> Self {
        let answers = FirstAnswers::new(most_answers);
        Ledger { balances: BTreeMap::new(), most_accounts, paid_in: 0, paid_out: 0, transfers: 0, answers }
    }

    /// Carries out a command, as a whole or not at all, and once for each id.
    pub(super) fn apply(&mut self, command: &Command) -> Answer {
        let Some(id) = &command.id else { return self.execute(&command.order) };
        match self.answers.look(id, command.fingerprint) {
            Look::New => {}
            Look::Answered(first) => return first,
            Look::OtherRequest => {
                return Answer::Refused(format!("the id {id:?} was already used for another request"));
            }
            Look::Forgotten => return Answer::Forgotten,
        }
        let answer = self.execute(&command.order);
        self.answers.keep(id, command.fingerprint, answer.clone());
        answer
    }

    fn execute(&mut self, order: &Order) -> Answer {
        let done = match order {
            Order::Deposit { to, amount } => self.deposit(to, *amount),
            Order::Withdraw { from, amount } => self.withdraw(from, *amount),
            Order::Transfer { from, to, amount } => self.transfer(from, to, *amount),
            Order::Balance { of } => match self.balances.get(of) {
                Some(balance) => Ok((of, *balance)),
                None => return Answer::Unknown(of.clone()),
            },
            Order::Accounts { after } => return self.page(after),
            Order::Audit => return Answer::Audit(self.audit()),
        };
        match done {
            Ok((account, balance)) => Answer::Balance { account: account.clone(), balance },
            Err(why) => Answer::Refused(why),
        }
    }

    fn deposit<'o>(&mut self, to: &'o String, amount: u64) -> Result<(&'o String, u64), String> {
        // The balances add up to at most the sum of all deposits, so no sum of balances overflows.
        let paid_in =
            self.paid_in.checked_add(amount).ok_or_else(|| "the sum of all deposits would be too large".to_owned())?;
        let balance = self.room_for(to)? + amount;
        self.paid_in = paid_in;
        self.balances.insert(to.clone(), balance);
        Ok((to, balance))
    }

    fn withdraw<'o>(&mut self, from: &'o String, amount: u64) -> Result<(&'o String, u64), String> {
        let rest = self.rest(from, amount)?;
        self.paid_out += amount;
        self.balances.insert(from.clone(), rest);
        Ok((from, rest))
    }

    fn transfer<'o>(&mut self, from: &'o String, to: &str, amount: u64) -> Result<(&'o String, u64), String> {
        let rest = self.rest(from, amount)?;
        let sum = self.room_for(to)? + amount;
        self.balances.insert(from.clone(), rest);
        self.balances.insert(to.to_owned(), sum);
        self.transfers += 1;
        Ok((from, rest))
    }

    /// The balance of an account after it has paid this amount.
    fn rest(&self, from: &str, amount: u64) -> Result<u64, String> {
        let has = self.balances.get(from).copied().unwrap_or(0);
        has.checked_sub(amount).ok_or_else(|| format!("{from} does not have {amount}"))
    }

    /// The balance of an account. Refuses a new account beyond the limit.
    fn room_for(&self, account: &str) -> Result<u64, String> {
        match self.balances.get(account) {
            Some(balance) => Ok(*balance),
            None if (self.balances.len() as u64) < self.most_accounts => Ok(0),
            None => Err(format!("there are {} accounts, and no more are allowed", self.most_accounts)),
        }
    }

    fn page(&self, after: &str) -> Answer {
        let mut behind = self.balances.range::<str, _>((Bound::Excluded(after), Bound::Unbounded));
        let balances = behind.by_ref().take(PAGE).map(|(account, balance)| (account.clone(), *balance)).collect();
        Answer::Accounts { balances, more: behind.next().is_some() }
    }

    fn audit(&self) -> Audit {
        Audit {
            accounts: self.balances.len() as u64,
            balances: self.balances.values().sum(),
            paid_in: self.paid_in,
            paid_out: self.paid_out,
            transfers: self.transfers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(id: &str, order: Order) -> Command {
        let fingerprint = millstream_net::once::fingerprint(format!("{order:?}").as_bytes());
        Command { id: (!id.is_empty()).then(|| id.to_owned()), fingerprint, order }
    }

    fn deposit(id: &str, to: &str, amount: u64) -> Command {
        command(id, Order::Deposit { to: to.to_owned(), amount })
    }

    fn transfer(id: &str, from: &str, to: &str, amount: u64) -> Command {
        command(id, Order::Transfer { from: from.to_owned(), to: to.to_owned(), amount })
    }

    fn balance(account: &str, balance: u64) -> Answer {
        Answer::Balance { account: account.to_owned(), balance }
    }

    #[test]
    fn a_repeated_command_gets_its_first_answer_and_is_done_once() {
        let mut ledger = Ledger::new(10, 100);
        let paid = deposit("a", "ann", 100);
        assert_eq!(ledger.apply(&paid), balance("ann", 100));
        assert_eq!(ledger.apply(&transfer("b", "ann", "bo", 30)), balance("ann", 70));
        assert_eq!(ledger.apply(&paid), balance("ann", 100));
        let refused = transfer("c", "bo", "ann", 31);
        assert_eq!(ledger.apply(&refused), Answer::Refused("bo does not have 31".to_owned()));
        ledger.apply(&deposit("", "bo", 1));
        assert_eq!(ledger.apply(&refused), Answer::Refused("bo does not have 31".to_owned()));
        let other = deposit("a", "ann", 101);
        assert_eq!(
            ledger.apply(&other),
            Answer::Refused("the id \"a\" was already used for another request".to_owned())
        );
        let audit = Audit { accounts: 2, balances: 101, paid_in: 101, paid_out: 0, transfers: 1 };
        assert_eq!(ledger.audit(), audit);
    }

    #[test]
    fn beyond_the_bound_an_id_is_refused() {
        let mut ledger = Ledger::new(1000, 16);
        (0..100).for_each(|n| drop(ledger.apply(&deposit(&n.to_string(), "ann", 1))));
        assert_eq!(ledger.apply(&deposit("5", "ann", 1)), Answer::Forgotten);
        assert_eq!(ledger.audit().balances, 100);
    }

    #[test]
    fn no_sum_overflows_and_no_account_is_one_too_many() {
        let mut ledger = Ledger::new(2, 16);
        assert_eq!(ledger.apply(&deposit("", "ann", u64::MAX)), balance("ann", u64::MAX));
        assert!(matches!(ledger.apply(&deposit("", "bo", 1)), Answer::Refused(_)));
        assert_eq!(ledger.apply(&transfer("", "ann", "bo", 1)), balance("ann", u64::MAX - 1));
        assert!(matches!(ledger.apply(&transfer("", "ann", "cy", 1)), Answer::Refused(_)));
        assert_eq!(ledger.audit().balances, u64::MAX);
    }

    #[test]
    fn accounts_come_in_pages() {
        let mut ledger = Ledger::new(5000, 16);
        (0..2500).for_each(|n| drop(ledger.apply(&deposit("", &format!("{n:04}"), 1))));
        let (mut after, mut pages) = (String::new(), Vec::new());
        loop {
            let Answer::Accounts { balances, more } = ledger.apply(&command("", Order::Accounts { after })) else {
                panic!()
            };
            pages.push(balances.len());
            after = balances[balances.len() - 1].0.clone();
            if !more {
                break;
            }
        }
        assert_eq!(pages, [1000, 1000, 500]);
    }
}
