//! The function of each stage, for one request.

use super::ledger::{Answer, Command, Order};
use millstream_net::once::fingerprint;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A request as it arrived, and as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) verb: Verb,
    pub(super) id: Option<String>,
    /// The body of a `POST`; the name in the path of a `GET`.
    pub(super) body: Vec<u8>,
}

/// The last part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Verb {
    Deposit,
    Withdraw,
    Transfer,
    Balance,
    Accounts,
    Audit,
}

/// A response as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: String,
}

/// The most bytes of an id, or of a name.
const LONGEST_ID: usize = 128;
const LONGEST_NAME: usize = 64;

/// The bytes as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    verb: Verb,
    id: Option<String>,
    text: String,
}

pub(super) fn read(request: &Request) -> Result<Asked, Answer> {
    let Request { verb, id, body } = request.clone();
    match String::from_utf8(body) {
        Ok(text) => Ok(Asked { verb, id, text }),
        Err(_) => Err(Answer::Wrong(400, "the body is not UTF-8".to_owned())),
    }
}

/// The bodies of posted commands. A body may have an id, for clients that cannot set headers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct In {
    to: String,
    amount: u64,
    id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Out {
    from: String,
    amount: u64,
    id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Across {
    from: String,
    to: String,
    amount: u64,
    id: Option<String>,
}

pub(super) fn parse(asked: &Asked) -> Result<Command, Answer> {
    let text = &asked.text;
    let (order, in_body) = match asked.verb {
        Verb::Deposit => json_of(text).map(|In { to, amount, id }| (Order::Deposit { to, amount }, id))?,
        Verb::Withdraw => json_of(text).map(|Out { from, amount, id }| (Order::Withdraw { from, amount }, id))?,
        Verb::Transfer => {
            let Across { from, to, amount, id } = json_of(text)?;
            (Order::Transfer { from, to, amount }, id)
        }
        Verb::Balance => (Order::Balance { of: text.clone() }, None),
        Verb::Accounts => (Order::Accounts { after: text.clone() }, None),
        Verb::Audit => (Order::Audit, None),
    };
    let id = match (asked.id.clone(), in_body) {
        (Some(header), Some(body)) if header != body => {
            return Err(Answer::Wrong(400, "the id in the header differs from the id in the body".to_owned()));
        }
        (header, body) => header.or(body),
    };
    let bytes = serde_json::to_vec(&order).unwrap_or_default();
    Ok(Command { id, fingerprint: fingerprint(&bytes), order })
}

fn json_of<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Answer> {
    serde_json::from_str(text).map_err(|error| Answer::Wrong(400, format!("the body: {error}")))
}

pub(super) fn validate(command: &Command) -> Result<Command, Answer> {
    let refuse = |why: &str| Err(Answer::Wrong(422, why.to_owned()));
    if command.id.as_ref().is_some_and(|id| id.is_empty() || id.len() > LONGEST_ID) {
        return refuse("an id has 1 to 128 bytes");
    }
    let (names, amount) = match &command.order {
        Order::Deposit { to: name, amount } | Order::Withdraw { from: name, amount } => (vec![name], Some(*amount)),
        Order::Transfer { from, to, .. } if from == to => return refuse("an account cannot pay itself"),
        Order::Transfer { from, to, amount } => (vec![from, to], Some(*amount)),
        Order::Balance { of } => (vec![of], None),
        Order::Accounts { .. } | Order::Audit => (Vec::new(), None),
    };
    if amount == Some(0) {
        return refuse("an amount is at least 1");
    }
    if !names.into_iter().all(|name| is_name(name)) {
        return refuse("a name has 1 to 64 letters, digits, `.`, `-` and `_`");
    }
    Ok(command.clone())
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(allowed)
}

/// The status and the body of an answer.
pub(super) fn respond(answer: &Answer) -> (u16, Value) {
    match answer {
        Answer::Balance { account, balance } => (200, json!({ "account": account, "balance": balance })),
        Answer::Accounts { balances, more } => (200, json!({ "accounts": balances, "more": more })),
        Answer::Audit(audit) => (200, json!(audit)),
        Answer::Refused(why) => (422, json!({ "refused": why })),
        Answer::Unknown(name) => (404, json!({ "refused": format!("there is no account {name:?}") })),
        Answer::Wrong(status, why) => (*status, json!({ "refused": why })),
        Answer::Forgotten => {
            (409, json!({ "refused": "this request was answered so long ago that its answer is not kept any more" }))
        }
    }
}

pub(super) fn serialise((status, body): &(u16, Value)) -> Reply {
    Reply { status: *status, body: format!("{body}\n") }
}
