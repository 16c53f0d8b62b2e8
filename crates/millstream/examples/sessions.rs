//! Sessions by user: what each visitor of a shop did in one visit, which ends after half an hour without a request.
//!
//! A visit keeps what it is about, and none of its requests. Requests come late, by up to some minutes, so two visits
//! can turn out to be one. A dashboard sees long visits before they end: every tenth request has an early result.
//!
//! `cargo run --release -p millstream --example sessions [REQUESTS]`

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use millstream::core::SplitMix64;
use millstream::prelude::*;

const MINUTE: u64 = 60;

#[derive(Clone, Copy, Debug)]
struct Request {
    user: u32,
    /// In seconds.
    time: u64,
    /// The amount spent, in cents; mostly 0.
    paid: u64,
}

/// The state of a visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Visit {
    requests: u64,
    paid: u64,
}

impl Visit {
    fn add(&mut self, request: &Request) {
        self.requests += 1;
        self.paid += request.paid;
    }

    fn join(&mut self, later: Visit) {
        self.requests += later.requests;
        self.paid += later.paid;
    }
}

/// A result of a user's visit.
type Result = FoldedWindow<Visit, u32>;

fn visits() -> impl Pipeline<Request, Result> {
    let visit = Window::session(30 * MINUTE).lateness(5 * MINUTE).early_every(10);
    pipeline::<Request>()
        .fold_sessions_by(|r| r.user, visit, |r| r.time, Visit::default(), Visit::add, Visit::join)
        .named("visits")
        .flatten()
        .named("results")
}

/// Requests of some thousand users, in the order in which they arrive: up to four minutes late.
fn requests(count: u64) -> impl Iterator<Item = Request> + Send {
    let mut random = SplitMix64::new(42);
    (0..count).map(move |n| {
        let drawn = random.draw();
        let user = (drawn % 64 * (drawn >> 8 & 63)) as u32; // some come often
        let time = 4 * MINUTE + n - (drawn >> 20) % (4 * MINUTE);
        Request { user, time, paid: if (drawn >> 40).is_multiple_of(10) { (drawn >> 44) % 10_000 } else { 0 } }
    })
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args().nth(1).map_or(Ok(1_000_000), |requests| requests.parse())?;
    let results = Rings::new().collect(visits().from(requests(count)))?;
    let (early, ended): (Vec<_>, Vec<_>) = results.iter().partition(|result| result.timing == Timing::Early);
    let paid: u64 = ended.iter().map(|result| result.state.paid).sum();
    println!("{count} requests, {} visits, {} early results, {paid} cents", ended.len(), early.len());
    let longest = ended.iter().max_by_key(|result| result.end - result.start);
    println!("the longest visit: {longest:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The visits of each user, from all requests in the order of their times: no lateness to think of.
    fn by_plain_loop(mut requests: Vec<Request>) -> Vec<(u32, u64, u64, Visit)> {
        requests.sort_by_key(|request| request.time);
        let mut open: BTreeMap<u32, (u64, u64, Visit)> = BTreeMap::new();
        let mut ended = Vec::new();
        for request in requests {
            let end = request.time + 30 * MINUTE;
            let visit = open.entry(request.user).or_insert((request.time, end, Visit::default()));
            if visit.1 <= request.time {
                let (start, end, state) = std::mem::replace(visit, (request.time, end, Visit::default()));
                ended.push((request.user, start, end, state));
            }
            visit.1 = end;
            visit.2.add(&request);
        }
        ended.extend(open.into_iter().map(|(user, (start, end, visit))| (user, start, end, visit)));
        ended.sort_by_key(|(user, start, ..)| (*user, *start));
        ended
    }

    #[test]
    fn visits_are_those_of_a_plain_loop() {
        let requests: Vec<Request> = requests(30_000).collect();
        let results = Rings::new().workers(2).collect(visits().from(requests.clone())).unwrap();
        assert_eq!(results, visits().model(requests.clone()));
        let ended = results.iter().filter(|result| result.timing == Timing::OnTime);
        let mut ended: Vec<_> = ended.map(|visit| (visit.key, visit.start, visit.end, visit.state)).collect();
        ended.sort_by_key(|(user, start, ..)| (*user, *start));
        assert_eq!(ended, by_plain_loop(requests));
        assert!(results.iter().all(|result| result.dropped == 0));
        let early = results.iter().filter(|result| result.timing == Timing::Early);
        assert!(early.clone().count() > 100 && early.clone().all(|result| result.state.requests % 10 == 0));
    }

    /// Late requests are there, and join visits.
    #[test]
    fn a_late_request_joins_two_visits() {
        let at = |minute: u64| Request { user: 7, time: minute * MINUTE, paid: 1 };
        let ended = visits().model([at(10), at(42), at(38), at(200)]);
        let visits: Vec<_> =
            ended.iter().map(|visit| (visit.start / MINUTE, visit.end / MINUTE, visit.state)).collect();
        let visit = |requests| Visit { requests, paid: requests };
        assert_eq!(visits, [(10, 72, visit(3)), (200, 230, visit(1))]);
    }
}
