//! The six stages: read, parse, validate, update the state, respond, serialise.

use super::ledger::{Answer, Command, Ledger, Order};
use millstream_core::{AnyEdge, Arrow, wires};
use millstream_exec::{Lasting, Stage};
use millstream_net::once::fingerprint;
use millstream_state::Recorded;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A request as it came: what the journal has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) verb: Verb,
    pub(super) id: Option<String>,
    /// The body of a `POST`; of a `GET` what its path names.
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

/// A response as it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: String,
}

impl Recorded for Request {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(postcard::to_allocvec(self).expect("plain data can be written"));
    }

    fn read(bytes: Vec<u8>) -> Result<Self, String> {
        postcard::from_bytes(&bytes).map_err(|error| error.to_string())
    }
}

/// An id has at most this many bytes, and so has a name.
const LONGEST_ID: usize = 128;
const LONGEST_NAME: usize = 64;

/// The six stages. A command that is refused on its way has a lane of its own, and never meets the ledger.
pub(super) fn stages(most_accounts: u64, most_answers: usize) -> impl Stage<AnyEdge<Request>, Reply> + Lasting {
    wires!(|request: AnyEdge<Request>| {
        let text = request.map(read);
        let command = text.map(|text| text.as_ref().map_err(Answer::clone).and_then(parse));
        let valid = command.map(|command| command.as_ref().map_err(Answer::clone).and_then(validate));
        let ledger = match valid {
            Ok(command) => command.scan(Ledger::new(most_accounts, most_answers), Ledger::apply),
            Err(wrong) => |wrong| wrong.clone(),
        };
        let response = ledger.map(respond);
        response.map(serialise)
    })
}

/// The bytes as text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    verb: Verb,
    id: Option<String>,
    text: String,
}

fn read(request: &Request) -> Result<Asked, Answer> {
    let Request { verb, id, body } = request.clone();
    match String::from_utf8(body) {
        Ok(text) => Ok(Asked { verb, id, text }),
        Err(_) => Err(Answer::Wrong(400, "the body is not UTF-8".to_owned())),
    }
}

/// The bodies of posted commands. An id may also be here, for clients that cannot set headers.
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

fn parse(asked: &Asked) -> Result<Command, Answer> {
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
            return Err(Answer::Wrong(400, "the header has another id than the body".to_owned()));
        }
        (header, body) => header.or(body),
    };
    let bytes = serde_json::to_vec(&order).unwrap_or_default();
    Ok(Command { id, fingerprint: fingerprint(&bytes), order })
}

fn json_of<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Answer> {
    serde_json::from_str(text).map_err(|error| Answer::Wrong(400, format!("the body: {error}")))
}

fn validate(command: &Command) -> Result<Command, Answer> {
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

/// The status, and what the body says.
fn respond(answer: &Answer) -> (u16, Value) {
    match answer {
        Answer::Balance { account, balance } => (200, json!({ "account": account, "balance": balance })),
        Answer::Accounts { balances, more } => (200, json!({ "accounts": balances, "more": more })),
        Answer::Audit(audit) => (200, json!(audit)),
        Answer::Refused(why) => (422, json!({ "refused": why })),
        Answer::Unknown(name) => (404, json!({ "refused": format!("there is no account {name:?}") })),
        Answer::Wrong(status, why) => (*status, json!({ "refused": why })),
        Answer::Forgotten => (409, json!({ "refused": "this id was answered, too long ago to know how" })),
    }
}

fn serialise((status, body): &(u16, Value)) -> Reply {
    Reply { status: *status, body: format!("{body}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_core::{ModelExt, PartsExt, pipeline};
    use millstream_exec::{JobExt, Rings, Runner};

    fn post(verb: Verb, id: Option<&str>, body: &str) -> Request {
        Request { verb, id: id.map(str::to_owned), body: body.as_bytes().to_vec() }
    }

    fn script() -> Vec<Request> {
        let deposit = |id, body| post(Verb::Deposit, id, body);
        vec![
            deposit(Some("1"), r#"{"to":"ann","amount":100}"#),
            deposit(None, r#"{"to":"ann","amount":100,"id":"1"}"#),
            post(Verb::Transfer, None, r#"{"from":"ann","to":"bo","amount":30}"#),
            post(Verb::Transfer, None, r#"{"from":"ann","to":"ann","amount":30}"#),
            post(Verb::Withdraw, None, r#"{"from":"bo","amount":31}"#),
            deposit(None, "{"),
            deposit(Some("2"), r#"{"to":"ann","amount":100,"id":"1"}"#),
            Request { verb: Verb::Deposit, id: None, body: vec![0xff] },
            deposit(None, r#"{"to":"a b","amount":1}"#),
            post(Verb::Balance, None, "bo"),
            post(Verb::Balance, None, "cy"),
            post(Verb::Accounts, None, "ann"),
            post(Verb::Audit, None, ""),
        ]
    }

    #[test]
    fn every_request_has_its_answer_and_rings_have_the_models() {
        let p = pipeline::<Request>().any_edge().then(stages(10, 100));
        let replies = p.model(script());
        let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
        assert_eq!(statuses, [200, 200, 200, 422, 422, 400, 400, 400, 422, 200, 404, 200, 200]);
        assert_eq!(replies[1], replies[0], "a repeated request gets the first answer");
        assert_eq!(replies[9].body, "{\"account\":\"bo\",\"balance\":30}\n");
        assert_eq!(replies[11].body, "{\"accounts\":[[\"bo\",30]],\"more\":false}\n");
        assert!(replies[12].body.contains("\"balances\":100") && replies[12].body.contains("\"paid_in\":100"));
        assert_eq!(Rings::new().collect(p.from(script())).unwrap(), replies);
    }

    #[test]
    fn what_the_journal_has_is_read_again() {
        for request in script() {
            let mut bytes = Vec::new();
            request.write(&mut bytes);
            assert_eq!(Request::read(bytes), Ok(request));
        }
        assert!(Request::read(vec![9, 9]).is_err());
    }
}
