//! Trees that can replace a version of a pipeline.

use super::{Pipe, Statement};
use crate::random::strategy::{Context, below, leaf};
use proptest::test_runner::{RngAlgorithm, TestRng};

/// Another version of a tree.
#[derive(Clone, Debug)]
pub struct Related {
    /// The tree.
    pub tree: Pipe,
    /// The edits by which it differs, in order.
    pub edits: Vec<Edit>,
}

/// An edit between two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edit {
    /// A stage without a state is new.
    Insert,
    /// A state, or a clock, is new.
    InsertState,
    /// A stage without a state is gone.
    Remove,
    /// A state is gone.
    RemoveState,
    /// Another stage replaces a stage.
    Replace,
    /// Two parts without states are swapped.
    Exchange,
    /// Two parts with states are swapped.
    ExchangeStates,
    /// A function has another constant.
    Constant,
    /// The initial value of a state that goes on has changed.
    Start,
    /// A shard has another number of tasklets.
    Shards,
    /// A shard of keys, with their states, has another number of tasklets.
    KeyShards,
    /// A part is in a box, on the side, in a shard, or beside another stage.
    Wrap,
    /// A part is no longer in a box, on the side or in a shard.
    Unwrap,
}

impl Edit {
    /// All edits.
    pub const EVERY: [Edit; 13] = [
        Edit::Insert,
        Edit::InsertState,
        Edit::Remove,
        Edit::RemoveState,
        Edit::Replace,
        Edit::Exchange,
        Edit::ExchangeStates,
        Edit::Constant,
        Edit::Start,
        Edit::Shards,
        Edit::KeyShards,
        Edit::Wrap,
        Edit::Unwrap,
    ];
}

/// How often to try another place for an edit that does not fit.
const TRIES: usize = 30;

impl Pipe {
    /// Another version of a [versioned](Pipe::versioned) tree: stages are inserted, removed, replaced and swapped,
    /// inside bodies too, and have other constants and other numbers of shards. A part of both versions has the same
    /// name in both. `version` is at least 1, and differs for each version of a run, so that a new state's name is
    /// always new.
    ///
    /// A stage that numbers its outputs itself is never removed or swapped: the numbers of the output would jump, which
    /// a run refuses.
    #[must_use]
    pub fn related(&self, seed: u64, version: u32) -> Related {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut editor = Editor { last: version * 1000, rng: &mut rng };
        let (mut tree, mut edits) = (self.clone(), Vec::new());
        for _ in 0..=below(editor.rng, 4) {
            edits.extend((0..TRIES).find_map(|_| editor.edit(&mut tree)));
        }
        Related { tree, edits }
    }

    /// The parts of a tree, each with its place.
    fn parts_mut(&mut self, place: Context) -> Vec<(&mut Pipe, Context)> {
        let (body, lane) = (place.at_most(Context::Body), place.at_most(Context::Lane));
        match self {
            Pipe::Then(p, q) => {
                let after = place.after(p);
                vec![(p, place), (q, after)]
            }
            Pipe::Fanout(p, q) | Pipe::Both(p, q) => vec![(p, body), (q, body)],
            Pipe::FanoutAll(bodies) => bodies.iter_mut().map(|p| (p, body)).collect(),
            Pipe::Choose(p, q) | Pipe::Merge(p, q) => vec![(p, lane), (q, lane)],
            Pipe::Feedback(_, p) | Pipe::Tee(p) => vec![(p, body)],
            Pipe::Shard(_, p) => vec![(p, Context::Shard)],
            Pipe::ShardBy { body, .. } => vec![(body, lane)],
            Pipe::Named(p) | Pipe::Boxed(p) => vec![(p, place)],
            // Its stage is not a separate part.
            Pipe::Called(_, p) => p.parts_mut(place),
            Pipe::Block(block) => {
                let parts = block.statements.iter_mut().flat_map(|statement| match statement {
                    Statement::Body(_, p) => vec![(p, body)],
                    Statement::If { yes, no, .. } => vec![(&mut yes.1, lane), (&mut no.1, lane)],
                    Statement::Join(_) | Statement::Or(..) => Vec::new(),
                });
                parts.collect()
            }
            _ => Vec::new(),
        }
    }

    /// Calls `f` with the part that is `left` parts after the first one.
    fn at_part<R>(
        &mut self,
        place: Context,
        left: &mut usize,
        f: &mut dyn FnMut(&mut Pipe, Context) -> R,
    ) -> Option<R> {
        if *left == 0 {
            return Some(f(self, place));
        }
        *left -= 1;
        self.parts_mut(place).into_iter().find_map(|(part, place)| part.at_part(place, left, f))
    }

    fn parts(&mut self) -> usize {
        1 + self.parts_mut(Context::Body).into_iter().map(|(part, _)| part.parts()).sum::<usize>()
    }

    /// Whether something in it keeps a state, or numbers its outputs itself.
    fn has_states(&self) -> bool {
        matches!(self, Pipe::Called(..))
            || self.clone().parts_mut(Context::Body).iter().any(|(part, _)| part.has_states())
    }

    fn is_leaf(&self) -> bool {
        match self {
            Pipe::Called(_, p) => p.is_leaf(),
            leaf => leaf.clone().parts_mut(Context::Body).is_empty() && !matches!(leaf, Pipe::Block(_)),
        }
    }
}

struct Editor<'r> {
    /// The last name that was used.
    last: u32,
    rng: &'r mut TestRng,
}

impl Editor<'_> {
    fn edit(&mut self, tree: &mut Pipe) -> Option<Edit> {
        let mut left = below(self.rng, tree.parts());
        tree.at_part(Context::Outer, &mut left, &mut |part, place| self.edit_part(part, place)).flatten()
    }

    fn edit_part(&mut self, part: &mut Pipe, place: Context) -> Option<Edit> {
        match below(self.rng, 10) {
            0 | 1 => self.insert(part, place),
            2 => remove(part),
            3 => {
                remove(part)?;
                *part = self.stage(place);
                Some(Edit::Replace)
            }
            4 => exchange(part),
            5 => self.constant(part),
            6 | 7 => self.shards(part),
            8 => self.wrap(part, place),
            _ => unwrap(part),
        }
    }

    fn insert(&mut self, part: &mut Pipe, place: Context) -> Option<Edit> {
        let before = below(self.rng, 2) == 0;
        let new = self.stage(if before { place } else { place.after(part) });
        let edit = if new.has_states() { Edit::InsertState } else { Edit::Insert };
        let old = std::mem::replace(part, Pipe::Id);
        let (first, second) = if before { (new, old) } else { (old, new) };
        *part = Pipe::Then(first.into(), second.into());
        Some(edit)
    }

    /// A new stage, or a combinator with a stage in it.
    fn stage(&mut self, place: Context) -> Pipe {
        let stage = match below(self.rng, 10) {
            0 => Pipe::Shard(1 + below(self.rng, 3), leaf(self.rng, Context::Shard).into()),
            1 if place.keeps_states() => {
                let (keys, k) = (below(self.rng, 7) as i64, 1 + below(self.rng, 3));
                let most = [1 + below(self.rng, 3), 100][below(self.rng, 2)];
                Pipe::ShardBy { keys, most, k, body: leaf(self.rng, place.at_most(Context::Lane)).into() }
            }
            _ => leaf(self.rng, place),
        };
        // A later stage may need the order.
        if stage.gives_order_up() { Pipe::Map { plus: 1 } } else { stage.calling(&mut self.last) }
    }

    fn constant(&mut self, part: &mut Pipe) -> Option<Edit> {
        let small = below(self.rng, 9) as i64;
        match part {
            Pipe::Map { plus }
            | Pipe::MapBlocking { plus }
            | Pipe::MapAsync { plus, .. }
            | Pipe::MapOwned { plus }
            | Pipe::FilterMap { plus, .. }
            | Pipe::TryMap { plus, .. }
            | Pipe::TryMapOrError(_, plus)
            | Pipe::DeadLetter { plus, .. }
            | Pipe::DeadLetterAsync(_, _, plus)
            | Pipe::Text { plus, .. } => *plus += 1 + small,
            Pipe::Filter { modulus } | Pipe::Partition { modulus } => *modulus += 1 + small,
            Pipe::Called(_, stage) => match &mut **stage {
                Pipe::FlatMap { modulus } => *modulus = 1 + *modulus % 4,
                Pipe::Unordered { plus, .. } => *plus += 1 + small,
                Pipe::Scan { start } | Pipe::ScanFinish { start } | Pipe::Fold { start } | Pipe::Feedback(start, _) => {
                    *start += 1 + small;
                    return Some(Edit::Start);
                }
                _ => return None,
            },
            _ => return None,
        }
        Some(Edit::Constant)
    }

    fn shards(&mut self, part: &mut Pipe) -> Option<Edit> {
        let other = |k: usize, rng: &mut TestRng| 1 + (k + below(rng, 3)) % 4;
        match part {
            Pipe::Shard(k, _) => {
                *k = other(*k, self.rng);
                Some(Edit::Shards)
            }
            Pipe::Called(_, stage) => match &mut **stage {
                Pipe::ShardBy { k, .. } => {
                    *k = other(*k, self.rng);
                    Some(Edit::KeyShards)
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn wrap(&mut self, part: &mut Pipe, place: Context) -> Option<Edit> {
        let shards = 1 + below(self.rng, 3);
        let beside = self.stage(place.at_most(Context::Body));
        let wrapped: Box<Pipe> = part.clone().into();
        *part = match below(self.rng, 4) {
            0 => Pipe::Boxed(wrapped),
            1 if part.is_pure() => Pipe::Shard(shards, wrapped),
            2 if !part.renumbers() => Pipe::Tee(wrapped),
            3 if !part.renumbers() && part.is_quiet() && beside.is_quiet() => Pipe::Fanout(wrapped, beside.into()),
            _ => return None,
        };
        Some(Edit::Wrap)
    }
}

fn remove(part: &mut Pipe) -> Option<Edit> {
    let is_one = part.is_leaf() || matches!(part, Pipe::Called(..) | Pipe::Shard(..));
    if *part == Pipe::Id || part.renumbers() || !is_one {
        return None;
    }
    let edit = if part.has_states() { Edit::RemoveState } else { Edit::Remove };
    *part = Pipe::Id;
    Some(edit)
}

fn exchange(part: &mut Pipe) -> Option<Edit> {
    let states = part.has_states();
    let (Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) | Pipe::Choose(p, q) | Pipe::Merge(p, q)) = part
    else {
        return None;
    };
    if p == q || (p.renumbers() && q.renumbers()) || p.gives_order_up() || q.gives_order_up() {
        return None;
    }
    std::mem::swap(p, q);
    Some(if states { Edit::ExchangeStates } else { Edit::Exchange })
}

fn unwrap(part: &mut Pipe) -> Option<Edit> {
    let (Pipe::Boxed(p) | Pipe::Tee(p) | Pipe::Shard(_, p)) = part else { return None };
    *part = std::mem::replace(p, Pipe::Id);
    Some(Edit::Unwrap)
}
