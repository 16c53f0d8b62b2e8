//! The smaller trees of a tree.

use super::{FoldWindows, Pipe};
use crate::random::TryScanBy;

impl Pipe {
    /// Trees that are a little simpler, the simplest first. All of a pure tree's are pure, and of a quiet one's quiet.
    #[must_use]
    pub fn simpler(&self) -> Vec<Pipe> {
        let mut found = Vec::new();
        if *self != Pipe::Id {
            found.push(Pipe::Id);
        }
        let join = |make: fn(Box<Pipe>, Box<Pipe>) -> Pipe, p: &Pipe, q: &Pipe| {
            let first = p.simpler().into_iter().map(|simple| make(simple.into(), q.clone().into()));
            let second = q.simpler().into_iter().map(|simple| make(p.clone().into(), simple.into()));
            [p.clone(), q.clone()].into_iter().chain(first).chain(second).collect::<Vec<_>>()
        };
        match self {
            Pipe::Then(p, q) => found.extend(join(Pipe::Then, p, q)),
            Pipe::Fanout(p, q) => found.extend(join(Pipe::Fanout, p, q)),
            Pipe::FanoutAll(bodies) => {
                found.extend(bodies.iter().cloned());
                let without = |n: usize| [&bodies[..n], &bodies[n + 1..]].concat();
                found.extend((0..bodies.len()).filter(|_| bodies.len() > 3).map(|n| Pipe::FanoutAll(without(n))));
                for (n, body) in bodies.iter().enumerate() {
                    found.extend(body.simpler().into_iter().map(|simple| {
                        let mut bodies = bodies.clone();
                        bodies[n] = simple;
                        Pipe::FanoutAll(bodies)
                    }));
                }
            }
            Pipe::Block(block) => {
                found.extend(block.bodies().cloned());
                found.extend(block.simpler().into_iter().map(Pipe::Block));
            }
            Pipe::Both(p, q) => found.extend(join(Pipe::Both, p, q)),
            Pipe::Choose(p, q) => found.extend(join(Pipe::Choose, p, q)),
            Pipe::Merge(p, q) => found.extend(join(Pipe::Merge, p, q)),
            Pipe::Feedback(start, p) => {
                found.push((**p).clone());
                found.extend(p.simpler().into_iter().map(|simple| Pipe::Feedback(*start, simple.into())));
            }
            Pipe::Tee(p) => {
                found.extend(p.is_quiet().then(|| (**p).clone()));
                found.extend(p.simpler().into_iter().map(|simple| Pipe::Tee(simple.into())));
            }
            Pipe::Shard(k, p) => {
                found.push((**p).clone());
                found.extend((1..*k).map(|k| Pipe::Shard(k, p.clone())));
                found.extend(p.simpler().into_iter().map(|simple| Pipe::Shard(*k, simple.into())));
            }
            Pipe::ShardBy { keys, most, k, body } => {
                found.push((**body).clone());
                let other = |keys, most, k, body| Pipe::ShardBy { keys, most, k, body };
                found.extend((1..*k).map(|k| other(*keys, *most, k, body.clone())));
                // Keys that are made are simpler than borrowed ones.
                let fewer = if *keys == 0 { 1..2 } else { 1..*keys };
                found.extend(fewer.map(|keys| other(keys, *most, *k, body.clone())));
                found.extend(body.simpler().into_iter().map(|simple| other(*keys, *most, *k, simple.into())));
            }
            Pipe::Called(name, p) => {
                found.push((**p).clone());
                found.extend(p.simpler().into_iter().map(|simple| Pipe::Called(*name, simple.into())));
            }
            Pipe::Named(p) => {
                found.push((**p).clone());
                found.extend(p.simpler().into_iter().map(|simple| Pipe::Named(simple.into())));
            }
            Pipe::Boxed(p) => {
                found.push((**p).clone());
                found.extend(p.simpler().into_iter().map(|simple| Pipe::Boxed(simple.into())));
            }
            Pipe::FilterMap { modulus, plus } => {
                found.extend([Pipe::Map { plus: *plus }, Pipe::Filter { modulus: *modulus }]);
            }
            Pipe::TryMap { modulus, plus } => found.push(Pipe::FilterMap { modulus: *modulus, plus: *plus }),
            Pipe::TryMapOrError(modulus, plus) => found.push(Pipe::TryMap { modulus: *modulus, plus: *plus }),
            Pipe::DeadLetter { modulus, plus } => found.push(Pipe::TryMap { modulus: *modulus, plus: *plus }),
            Pipe::DeadLetterAsync(limit, modulus, plus) => {
                found.push(Pipe::DeadLetter { modulus: *modulus, plus: *plus });
                found.extend((1..*limit).map(|limit| Pipe::DeadLetterAsync(limit, *modulus, *plus)));
            }
            Pipe::Park { modulus, plus, .. } => found.push(Pipe::DeadLetter { modulus: *modulus, plus: *plus }),
            Pipe::FoldBy { start, .. } => found.push(Pipe::Fold { start: *start }),
            Pipe::Answer(_) => found.push(Pipe::Fold { start: 0 }),
            Pipe::FoldWindows(windows) => {
                let other = |windows| Pipe::FoldWindows(windows);
                found.extend([Pipe::Scan { start: windows.start }]);
                found.extend(windows.keys.map(|_| other(FoldWindows { keys: None, ..*windows })));
                found.extend(windows.early.map(|_| other(FoldWindows { early: None, ..*windows })));
                found.extend((windows.refine > 0).then(|| other(FoldWindows { refine: 0, ..*windows })));
                found.extend(windows.own_watermark.then(|| other(FoldWindows { own_watermark: false, ..*windows })));
            }
            Pipe::FlatScan { modulus, .. } => found.push(Pipe::FlatMap { modulus: *modulus }),
            Pipe::ScanFinish { start } => found.push(Pipe::Scan { start: *start }),
            Pipe::TryScan { start, by: TryScanBy::Empty, .. } => found.push(Pipe::Scan { start: *start }),
            Pipe::TryScan { start, modulus, by } => {
                found.push(Pipe::Scan { start: *start });
                found.extend((!by.retries()).then_some(Pipe::TryScan {
                    start: *start,
                    modulus: *modulus,
                    by: TryScanBy::Empty,
                }));
            }
            Pipe::Row(row) => found.push(row.apart()),
            Pipe::MapOwned { plus } | Pipe::MapBlocking { plus } => found.push(Pipe::Map { plus: *plus }),
            Pipe::Text { modulus, plus } => found.push(Pipe::FilterMap { modulus: *modulus, plus: *plus }),
            Pipe::Words { modulus } => found.push(Pipe::FlatMap { modulus: *modulus }),
            Pipe::FlatMap { .. } | Pipe::Flatten | Pipe::WindowsBy(_) => found.push(Pipe::Compact),
            Pipe::Unordered { limit, plus } => {
                found.extend([Pipe::Compact, Pipe::Map { plus: *plus }]);
                found.extend((1..*limit).map(|limit| Pipe::Unordered { limit, plus: *plus }));
            }
            Pipe::MapAsync { limit, plus } => {
                found.push(Pipe::Map { plus: *plus });
                found.extend((1..*limit).map(|limit| Pipe::MapAsync { limit, plus: *plus }));
            }
            _ => {}
        }
        found
    }
}
