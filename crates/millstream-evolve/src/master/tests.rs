//! Answers that only some orders of messages have, given by hand.

use super::cells::Stage;
use super::{Batch, Master, Outbox, Tuning};
use crate::message::{Answer, Spent, USUAL_MESSAGE, frame};
use crate::wire::{LENGTH, first_frame};
use crate::{Token, Violation};
use std::time::Duration;

struct Posts(Vec<Vec<u8>>);

impl Outbox for Posts {
    fn to(&mut self, worker: usize) -> &mut Vec<u8> {
        &mut self.0[worker]
    }
}

const NOW: Duration = Duration::ZERO;

struct Begun {
    master: Master,
    posts: Posts,
    tokens: Vec<Token>,
}

impl Begun {
    /// A round of two workers with ten states each, whose children's states are kept. The second worker has evolved
    /// its own, and steals.
    fn new() -> Self {
        let tuning = Tuning { batch: Batch::Fixed(1), ..Tuning::default() };
        let mut begun = Begun { master: Master::new(tuning), posts: Posts(vec![Vec::new(); 2]), tokens: tokens(20) };
        let Begun { master, posts, tokens } = &mut begun;
        for worker in 0..2 {
            assert_eq!(master.add_worker(NOW), worker);
        }
        master.reset(tokens.iter().map(|token| (*token, &b""[..])), NOW, posts).unwrap();
        master.begin(1, true);
        tokens.iter().for_each(|token| master.task(*token, |_| Ok(())).unwrap());
        master.go(NOW, posts);
        for state in 10..20 {
            begun.evolved(1, state).unwrap();
        }
        assert!(begun.master.roster.workers[1].incoming);
        begun
    }

    /// A state has evolved, and has no children.
    fn evolved(&mut self, worker: usize, state: usize) -> Result<(), Violation> {
        let mut message = Vec::new();
        let answer = Answer::StatesEvolved { items: 1, spent: Spent::default() };
        frame(&mut message, &answer).put(&(self.tokens[state], 1_u64, true, 0_u32)).end();
        self.master.receive(worker, &message[LENGTH..], NOW, &|_, _| true, &mut self.posts)
    }

    /// The first worker returns these of the states of the oldest request.
    fn returns(&mut self, states: &[usize], looked_at: usize) -> Result<(), Violation> {
        let (mut message, items) = (Vec::new(), states.len() as u32);
        let mut written = frame(&mut message, &Answer::StatesRemoved { items, looked_at: looked_at as u32 });
        for state in states {
            written.put(&self.tokens[*state]).put_bytes(b"");
        }
        written.end();
        self.master.receive(0, &message[LENGTH..], NOW, &|_, _| true, &mut self.posts)
    }

    fn stage(&self, state: usize) -> Stage {
        self.master.cells.get(self.master.cells.find(self.tokens[state]).unwrap()).stage
    }
}

fn tokens(states: u64) -> Vec<Token> {
    (0..states).map(|state| Token::root(0, 0, state)).collect()
}

/// Otherwise it would have no more than its own states in all rounds to come.
#[test]
fn a_worker_that_waited_for_a_wrong_answer_steals_again() {
    let mut begun = Begun::new();
    while let Some(removal) = begun.master.roster.workers[0].removals.front().copied() {
        if removal.thief == Some(1) {
            begun.returns(&[0], 1).unwrap_err();
            break;
        }
        // The states for the reserve have begun.
        begun.returns(&[], removal.cells).unwrap();
    }
    begun.master.lost(0, NOW, &mut begun.posts);
    assert!(!begun.master.roster.workers[1].incoming);
}

/// Its parent evolved again on the same worker, for another child, and so made it again.
#[test]
fn a_state_that_is_given_back_after_it_has_evolved_is_passed_over() {
    let mut begun = Begun::new();
    let cells = begun.master.roster.workers[0].removals[0].cells;
    // The states at the end of the list are asked back first.
    begun.evolved(0, 9).unwrap();
    let left = begun.master.left();
    begun.returns(&[9], cells).unwrap();
    assert_eq!((begun.stage(9), begun.master.left()), (Stage::Evolved, left));
}

/// The same, once the round is over.
#[test]
fn a_state_of_an_earlier_round_is_passed_over() {
    let mut begun = Begun::new();
    (0..10).for_each(|state| begun.evolved(0, state).unwrap());
    assert!(begun.master.is_done());
    begun.master.settle();
    begun.returns(&[9], 1).unwrap();
}

/// A worker accepts no longer ones.
#[test]
fn lists_of_tokens_and_of_empty_values_are_divided() {
    let mut begun = Begun::new();
    (0..10).for_each(|state| begun.evolved(0, state).unwrap());
    begun.master.settle();
    begun.posts.0.iter_mut().for_each(Vec::clear);
    for _ in 0..2 {
        let states = tokens(500);
        begun.master.reset(states.iter().map(|token| (*token, &b""[..])), NOW, &mut begun.posts).unwrap();
    }
    for post in &begun.posts.0 {
        let (mut rest, mut messages) = (post.as_slice(), 0);
        while let Some((message, length)) = first_frame(rest, usize::MAX).unwrap() {
            assert!(message.len() < 2 * USUAL_MESSAGE, "{}", message.len());
            (rest, messages) = (&rest[length..], messages + 1);
        }
        assert!(messages > 20, "{messages}");
    }
}
