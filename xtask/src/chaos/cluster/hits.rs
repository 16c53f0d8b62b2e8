//! What is hit: of every kind some, in an order that the seed decides.

use super::super::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hit {
    KillsWorker,
    StopsWorker,
    KillsFeed,
    KillsRead,
    KillsServer,
    /// A machine dies: a server, and the worker beside it.
    KillsMachine,
    StopsServer,
    /// The network loses a machine, which goes on: a server, and the worker beside it.
    CutsHost,
}

impl Hit {
    fn is_of_a_server(self) -> bool {
        matches!(self, Hit::KillsServer | Hit::KillsMachine | Hit::StopsServer | Hit::CutsHost)
    }
}

/// The hits that are left.
pub(super) struct Hits(Vec<Hit>);

impl Hits {
    /// With `hosts`, the network of one is cut where a server would be killed or stopped.
    pub(super) fn new(count: u64, hosts: bool, random: &mut Random) -> Self {
        let kind = |number| match number % 20 {
            1 | 2 if hosts => Hit::CutsHost,
            0 => Hit::KillsMachine,
            1 => Hit::KillsServer,
            2 => Hit::StopsServer,
            3 | 4 => Hit::KillsFeed,
            5 | 6 => Hit::KillsRead,
            7..=10 => Hit::StopsWorker,
            _ => Hit::KillsWorker,
        };
        let mut hits: Vec<Hit> = (0..count).map(kind).collect();
        for last in (1..hits.len()).rev() {
            hits.swap(last, random.below(last as u64 + 1) as usize);
        }
        Hits(hits)
    }

    /// The next one. Servers are hit early, since they need time after it, and only if they may be.
    pub(super) fn next(&mut self, server: bool, random: &mut Random) -> Hit {
        let of = |server| self.0.iter().position(|hit| hit.is_of_a_server() == server);
        let first = if server && random.below(2) == 0 { of(true) } else { None };
        match first.or_else(|| of(false)) {
            Some(place) => self.0.remove(place),
            // Only servers are left, which may not be hit.
            None => Hit::KillsWorker,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_hit_and_the_seed_decides_the_order() {
        let of = |seed, hosts| {
            let mut random = Random(seed);
            let mut hits = Hits::new(20, hosts, &mut random);
            (0..20).map(|_| hits.next(true, &mut random)).collect::<Vec<_>>()
        };
        for seed in 0..50 {
            for (hosts, server) in [(false, Hit::KillsServer), (false, Hit::StopsServer), (true, Hit::CutsHost)] {
                let hits = of(seed, hosts);
                for kind in [server, Hit::KillsMachine, Hit::KillsFeed, Hit::KillsRead, Hit::StopsWorker] {
                    assert!(hits.contains(&kind), "seed {seed}: {hits:?}");
                }
            }
        }
        assert_eq!(of(1, false), of(1, false));
        assert_ne!(of(1, false), of(2, false));
    }

    #[test]
    fn servers_that_need_time_are_left_alone() {
        let mut random = Random(1);
        let mut hits = Hits::new(40, false, &mut random);
        assert!((0..40).all(|_| !hits.next(false, &mut random).is_of_a_server()));
    }
}
