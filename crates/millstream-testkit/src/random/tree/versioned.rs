//! Trees whose states have names.

use super::{Pipe, Stream};
use crate::random::answer::Answer;
use crate::random::row::LastOfRow;

impl Pipe {
    /// A similar tree, as the first version in a run of several: each part with a state or a clock is
    /// [called](Pipe::Called) by its own name. It has no [`Pipe::TeeTo`], since versions do not share sinks, and only
    /// some [answers](Pipe::Answer): in the others a stage follows the one with the state, and would get the name. So
    /// would the last stage of [`Pipe::Words`].
    #[must_use]
    pub fn versioned(self) -> Pipe {
        self.calling(&mut 0)
    }

    /// The same tree, with names from `last + 1` on.
    pub(super) fn calling(self, last: &mut u32) -> Pipe {
        match self {
            Pipe::Called(name, p) => Pipe::Called(name, p),
            Pipe::Then(p, q) => {
                let p = p.calling(last).into();
                Pipe::Then(p, q.calling(last).into())
            }
            Pipe::Fanout(p, q) => {
                let p = p.calling(last).into();
                Pipe::Fanout(p, q.calling(last).into())
            }
            Pipe::FanoutAll(bodies) => Pipe::FanoutAll(bodies.into_iter().map(|p| p.calling(last)).collect()),
            Pipe::Both(p, q) => {
                let p = p.calling(last).into();
                Pipe::Both(p, q.calling(last).into())
            }
            Pipe::Choose(p, q) => {
                let p = p.calling(last).into();
                Pipe::Choose(p, q.calling(last).into())
            }
            Pipe::Merge(p, q) => {
                let p = p.calling(last).into();
                Pipe::Merge(p, q.calling(last).into())
            }
            Pipe::Block(mut block) => {
                for body in block.bodies_mut() {
                    *body = std::mem::replace(body, Pipe::Id).calling(last);
                }
                Pipe::Block(block)
            }
            Pipe::Tee(p) => Pipe::Tee(p.calling(last).into()),
            Pipe::Shard(k, p) => Pipe::Shard(k, p.calling(last).into()),
            Pipe::Boxed(p) => Pipe::Boxed(p.calling(last).into()),
            // The name would go to a state inside it.
            Pipe::Named(p) => p.calling(last),
            Pipe::TeeTo => Pipe::Id,
            Pipe::Feedback(start, p) => {
                let body = p.calling(last).into();
                called(Pipe::Feedback(start, body), last)
            }
            Pipe::ShardBy { keys, most, k, body } => {
                let body = body.calling(last).into();
                called(Pipe::ShardBy { keys, most, k, body }, last)
            }
            leaf => match leaf.last_with_state() {
                leaf if leaf.keeps() => called(leaf, last),
                leaf => leaf,
            },
        }
    }

    /// A stage that keeps its state in the last stage of its box.
    fn last_with_state(self) -> Pipe {
        match self {
            Pipe::Words { modulus } => Pipe::FlatMap { modulus },
            Pipe::Answer(answer) => Pipe::Answer(match answer {
                Answer::Count | Answer::Sum | Answer::Any(_) | Answer::All(_) => Answer::Last,
                Answer::TopN(_) => Answer::Max,
                Answer::TopNByKey(_, modulus) | Answer::TopNBy(_, modulus) => Answer::MaxByKey(modulus),
                Answer::CountBy(modulus) => Answer::MaxByKey(modulus.max(1)),
                Answer::GroupBy(modulus) => Answer::MinByKey(modulus.max(1)),
                alone => alone,
            }),
            leaf => leaf,
        }
    }

    /// Whether a stage keeps a state, or numbers its outputs itself.
    pub(super) fn keeps(&self) -> bool {
        match self {
            Pipe::Scan { .. } | Pipe::TryScan { .. } | Pipe::Delay { .. } | Pipe::ScanFinish { .. } => true,
            Pipe::Fold { .. } | Pipe::Answer(_) | Pipe::FoldBy { .. } | Pipe::FoldWindows(_) | Pipe::Park { .. } => {
                true
            }
            Pipe::Stream(stage) => !matches!(stage, Stream::Enumerate | Stream::Inspect | Stream::MapM(_)),
            Pipe::Row(row) => !matches!(row.last, LastOfRow::Map | LastOfRow::FilterMap),
            leaf => leaf.starts_a_clock(),
        }
    }
}

fn called(pipe: Pipe, last: &mut u32) -> Pipe {
    *last += 1;
    Pipe::Called(*last, pipe.into())
}
