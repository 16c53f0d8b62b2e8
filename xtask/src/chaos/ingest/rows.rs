//! The rows of one client. Each has an id, and the number of times that its request was sent before.

use super::super::Random;
use super::super::clients::{Answered, Posts};
use super::super::http::Response;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// The longest pause before a request. Without pauses, a run needs more time to begin with the ids that it knows than
/// to take rows.
const PAUSE_MS: u64 = 20;

/// One body in this many is large.
const LARGE_ONE_IN: u64 = 100;

/// One row in this many is not JSON.
const BAD_ONE_IN: u64 = 16;

/// One row in this many is long.
const LONG_ONE_IN: u64 = 32;

pub(super) struct Rows {
    client: String,
    number: u64,
    random: Random,
    clock: Arc<AtomicU64>,
    /// All that was sent, in this order.
    pub(super) sendings: Vec<Sending>,
}

/// A body that was sent once.
#[derive(Debug)]
pub(super) struct Sending {
    /// The rows, as they are in the body.
    pub(super) rows: Vec<String>,
    pub(super) taken: Taken,
    /// The clock before it was sent, and when the answer was there.
    pub(super) begun: u64,
    pub(super) ended: Option<u64>,
}

/// What a client knows of the rows of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// This number of the first ones is taken, and no others.
    First(usize),
    /// Perhaps some of the first ones are taken.
    Unknown,
}

/// Rows that are not acknowledged yet.
pub(super) struct Post {
    name: String,
    rows: Vec<Row>,
    /// How often the request was sent.
    sent: u64,
    /// The place of the last time among all that was sent.
    sending: usize,
}

struct Row {
    number: usize,
    /// The rest of the row; `None` if it is to be no JSON.
    rest: Option<String>,
}

impl Rows {
    pub(super) fn new(client: String, random: Random, clock: Arc<AtomicU64>) -> Self {
        Rows { client, number: 0, random, clock, sendings: Vec::new() }
    }

    fn row(&mut self, number: usize) -> Row {
        if self.random.below(BAD_ONE_IN) == 0 {
            return Row { number, rest: None };
        }
        let most = if self.random.below(LONG_ONE_IN) == 0 { 4000 } else { 20 };
        let pad = "x".repeat(self.random.below(most) as usize);
        Row { number, rest: Some(format!("\"k\":{},\"pad\":\"{pad}\"", self.random.below(5))) }
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn ended(&mut self, post: &Post, taken: Taken) {
        let ended = self.tick();
        let sending = &mut self.sendings[post.sending];
        (sending.taken, sending.ended) = (taken, Some(ended));
    }
}

impl Posts for Rows {
    type Post = Post;

    const PATH: &'static str = "/ingest";

    fn next(&mut self) -> Post {
        sleep(Duration::from_millis(self.random.below(PAUSE_MS)));
        let name = format!("{}-{}", self.client, self.number);
        self.number += 1;
        let few = self.random.below(LARGE_ONE_IN) > 0;
        let count = if few { 1 + self.random.below(5) } else { 200 + self.random.below(400) } as usize;
        let rows = (0..count).map(|number| self.row(number)).collect();
        Post { name, rows, sent: 0, sending: 0 }
    }

    fn name(post: &Post) -> String {
        post.name.clone()
    }

    fn sent(&mut self, post: &mut Post) -> (String, String) {
        let Post { name, sent, .. } = post;
        let text = |Row { number, rest }: &Row| match rest {
            Some(rest) => format!("{{\"id\":\"{name}-{number}\",\"sent\":{sent},{rest}}}"),
            None => format!("bad {name}-{number} {sent}"),
        };
        let rows: Vec<String> = post.rows.iter().map(text).collect();
        let body = rows.join("\n") + "\n";
        (post.sent, post.sending) = (*sent + 1, self.sendings.len());
        let begun = self.tick();
        self.sendings.push(Sending { rows, taken: Taken::Unknown, begun, ended: None });
        (String::new(), body)
    }

    fn answered(&mut self, post: &mut Post, response: &Response) -> Answered {
        let all = post.rows.len();
        match (response.status, response.taken) {
            (200, _) if response.body != format!("{{\"taken\":{all}}}\n") => {
                Answered::Wrong(format!("{all} rows were sent"))
            }
            (200, _) => {
                self.ended(post, Taken::First(all));
                Answered::Done
            }
            (503, Some(taken)) if taken <= all => {
                self.ended(post, Taken::First(taken));
                post.rows.drain(..taken);
                if taken == all { Answered::Done } else { Answered::Again(format!("{taken} of {all} rows are taken")) }
            }
            (500.., None) => Answered::Again("nothing is said of its rows".to_owned()),
            (_, taken) => Answered::Wrong(format!("{taken:?} of {all} rows are taken")),
        }
    }

    fn not_read(&mut self, post: &mut Post) {
        self.ended(post, Taken::First(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, body: &str, taken: Option<usize>) -> Response {
        Response { status, body: body.to_owned(), taken, is_last: false }
    }

    #[test]
    fn rows_are_sent_until_they_are_acknowledged_with_another_text_each_time() {
        let mut rows = Rows::new("a".to_owned(), Random(1), Arc::default());
        let row = |number| Row { number, rest: Some("\"k\":0".to_owned()) };
        let mut post = Post { name: "a-0".to_owned(), rows: vec![row(0), row(1)], sent: 0, sending: 0 };
        let both = "{\"id\":\"a-0-0\",\"sent\":0,\"k\":0}\n{\"id\":\"a-0-1\",\"sent\":0,\"k\":0}\n";
        assert_eq!(rows.sent(&mut post).1, both);
        assert!(matches!(rows.answered(&mut post, &response(503, "", Some(1))), Answered::Again(_)));
        assert_eq!(rows.sent(&mut post).1, "{\"id\":\"a-0-1\",\"sent\":1,\"k\":0}\n");
        rows.not_read(&mut post);
        rows.sent(&mut post);
        assert!(matches!(rows.answered(&mut post, &response(502, "", None)), Answered::Again(_)));
        rows.sent(&mut post);
        assert!(matches!(rows.answered(&mut post, &response(200, "{\"taken\":2}\n", None)), Answered::Wrong(_)));
        assert!(matches!(rows.answered(&mut post, &response(200, "{\"taken\":1}\n", None)), Answered::Done));
        let taken: Vec<Taken> = rows.sendings.iter().map(|sending| sending.taken).collect();
        assert_eq!(taken, [Taken::First(1), Taken::First(0), Taken::Unknown, Taken::First(1)]);
        assert_eq!(rows.sendings[2].ended, None);
    }
}
