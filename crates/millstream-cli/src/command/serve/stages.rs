//! The six stages: read, parse, validate, update the state, respond, serialise.

use super::ledger::{Answer, Ledger};
use super::steps::{Reply, Request, parse, read, respond, serialise, validate};
use millstream_core::{AnyEdge, Arrow, wires};
use millstream_exec::{Lasting, Stage};
use millstream_state::recorded;

recorded!(Request);

/// The six stages. A command that parsing or validation refuses has its own lane, and never reaches the ledger.
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
        response.map(serialise).named("reply")
    })
}

#[cfg(test)]
mod tests {
    use super::super::steps::Verb;
    use super::*;
    use millstream_core::{ModelExt, PartsExt, pipeline};
    use millstream_exec::{JobExt, Rings, Runner};
    use millstream_state::Recorded;

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
    fn requests_in_the_journal_are_read_again() {
        for request in script() {
            let mut bytes = Vec::new();
            request.write(&mut bytes);
            assert_eq!(Request::read(bytes), Ok(request));
        }
        assert!(Request::read(vec![9, 9]).is_err());
    }
}
