//! The transfers of one client, each to an account of its own, whose name is the id of the request.

use super::super::Random;
use super::super::clients::{Answered, Posts};
use super::super::http::Response;
use super::All;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

pub(super) struct Transfers {
    client: String,
    number: u64,
    random: Random,
    all: Arc<All>,
}

pub(super) struct Transfer {
    account: String,
    amount: u64,
}

impl Transfers {
    pub(super) fn new(client: String, random: Random, all: Arc<All>) -> Self {
        Transfers { client, number: 0, random, all }
    }
}

impl Posts for Transfers {
    type Post = Transfer;

    const PATH: &'static str = "/transfer";

    fn next(&mut self) -> Transfer {
        let account = format!("{}-{}", self.client, self.number);
        self.number += 1;
        Transfer { account, amount: 1 + self.random.below(1000) }
    }

    fn name(transfer: &Transfer) -> String {
        transfer.account.clone()
    }

    fn sent(&mut self, Transfer { account, amount }: &mut Transfer) -> (String, String) {
        let body = format!("{{\"from\":\"bank\",\"to\":\"{account}\",\"amount\":{amount}}}");
        (format!("idempotency-key: {account}\r\n"), body)
    }

    fn answered(&mut self, Transfer { account, amount }: &mut Transfer, response: &Response) -> Answered {
        match response.status {
            200 => {
                self.all.transfers.fetch_add(1, Ordering::Relaxed);
                self.all.accounts.lock().unwrap_or_else(PoisonError::into_inner).insert(account.clone(), *amount);
                Answered::Done
            }
            400..=407 | 409..=428 => Answered::Wrong("nothing is wrong with it".to_owned()),
            _ => Answered::Again("not done".to_owned()),
        }
    }
}
