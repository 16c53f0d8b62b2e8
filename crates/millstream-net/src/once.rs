//! The first answers to requests with ids: what makes a repeated request harmless.

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A generation of answers ends with one part in this many of the bound. Older ones never change, so cloning the whole
/// for a snapshot copies one generation at most.
const GENERATIONS: usize = 16;

/// The ids of this many times the bound are known after their answers were forgotten.
const GONE: usize = 8;

/// The answers to the last requests with ids, as a part of a stage's state.
///
/// A client that got no answer repeats its request with the same id. The stage that does what is asked
/// [looks](FirstAnswers::look) whether it was done already, and [keeps](FirstAnswers::keep) the answer if it was not.
/// As the state is in snapshots, and the requests behind them in the journal, that holds across crashes.
///
/// It is bounded: the answers to the last `most` requests with ids are there, to the request. The ids of eight times as
/// many are known, without an answer: [`Forgotten`](Look::Forgotten). An id that is older still counts as new, so a
/// client should not repeat a request for longer than it takes to make that many.
///
/// ```
/// use millstream::{net::once::{FirstAnswers, Look}, prelude::*};
///
/// #[derive(Clone)]
/// struct Payment { id: String, amount: u64 }
///
/// let paid = pipeline::<Payment>().scan((0, FirstAnswers::new(1000)), |(sum, answers), payment| {
///     match answers.look(&payment.id, payment.amount) {
///         Look::New => *sum += payment.amount,
///         Look::Answered(first) => return Ok(first),
///         Look::OtherRequest | Look::Forgotten => return Err("refused"),
///     }
///     answers.keep(&payment.id, payment.amount, *sum);
///     Ok(*sum)
/// });
/// let payment = |id: &str, amount| Payment { id: id.to_owned(), amount };
/// let payments = [payment("a", 5), payment("b", 7), payment("a", 5), payment("b", 8)];
/// assert_eq!(paid.model(payments), [Ok(5), Ok(12), Ok(5), Err("refused")]);
/// ```
#[derive(Clone, Debug)]
pub struct FirstAnswers<A> {
    most: usize,
    young: Generation<A>,
    /// The oldest first.
    old: VecDeque<Arc<Generation<A>>>,
    gone: VecDeque<Arc<Gone>>,
}

/// What is known of an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look<A> {
    /// Nothing.
    New,
    /// The first answer.
    Answered(A),
    /// It was the id of another request.
    OtherRequest,
    /// It was answered, too long ago.
    Forgotten,
}

#[derive(Clone, Debug)]
struct Generation<A> {
    /// The id, the fingerprint of the request, and the answer, in the order of their numbers.
    entries: Vec<(Arc<str>, u64, A)>,
    places: HashMap<Arc<str>, usize>,
}

/// Ids without answers. Never looked through in order.
#[derive(Debug, Default)]
struct Gone {
    ids: Vec<Arc<str>>,
    places: HashMap<Arc<str>, ()>,
}

impl<A: Clone> FirstAnswers<A> {
    /// None yet; the answers to the last `most` requests will be there, at least 16.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let most = most.max(GENERATIONS);
        FirstAnswers { most, young: Generation::new(), old: VecDeque::new(), gone: VecDeque::new() }
    }

    /// What is known of this id. `request` tells requests apart that have the same id by mistake: a hash of what is
    /// asked, that is the same in every process.
    #[must_use]
    pub fn look(&self, id: &str, request: u64) -> Look<A> {
        let generations = std::iter::once(&self.young).chain(self.old.iter().rev().map(|old| &**old));
        for generation in generations {
            if let Some((_, of, answer)) = generation.find(id) {
                return if *of == request { Look::Answered(answer.clone()) } else { Look::OtherRequest };
            }
        }
        if self.gone.iter().any(|gone| gone.places.contains_key(id)) { Look::Forgotten } else { Look::New }
    }

    /// Keeps the answer to a request with an id that is [new](Look::New).
    pub fn keep(&mut self, id: &str, request: u64, answer: A) {
        self.young.push(id.into(), request, answer);
        if self.young.entries.len() < self.most.div_ceil(GENERATIONS) {
            return;
        }
        self.old.push_back(Arc::new(std::mem::replace(&mut self.young, Generation::new())));
        if self.old.len() > GENERATIONS
            && let Some(oldest) = self.old.pop_front()
        {
            let ids = oldest.entries.iter().map(|(id, _, _)| id.clone());
            self.gone.push_back(Arc::new(Gone::of(ids.collect())));
        }
        if self.gone.len() > GONE * GENERATIONS {
            self.gone.pop_front();
        }
    }

    /// How many answers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.young.entries.len() + self.old.iter().map(|old| old.entries.len()).sum::<usize>()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<A> Generation<A> {
    fn new() -> Self {
        Generation { entries: Vec::new(), places: HashMap::new() }
    }

    fn find(&self, id: &str) -> Option<&(Arc<str>, u64, A)> {
        self.places.get(id).and_then(|place| self.entries.get(*place))
    }

    /// A reference is written as what it refers to.
    fn written(&self) -> Vec<(String, u64, &A)> {
        self.entries.iter().map(|(id, request, answer)| (id.to_string(), *request, answer)).collect()
    }

    fn push(&mut self, id: Arc<str>, request: u64, answer: A) {
        self.places.insert(id.clone(), self.entries.len());
        self.entries.push((id, request, answer));
    }
}

impl Gone {
    fn of(ids: Vec<Arc<str>>) -> Self {
        let places = ids.iter().map(|id| (id.clone(), ())).collect();
        Gone { ids, places }
    }
}

/// As it is written: in the order of the numbers, so equal states have equal bytes.
#[derive(serde::Serialize, serde::Deserialize)]
struct Written<A> {
    most: u64,
    generations: Vec<Vec<(String, u64, A)>>,
    gone: Vec<Vec<String>>,
}

impl<A: Serialize> Serialize for FirstAnswers<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let generations = self.old.iter().map(|old| &**old).chain([&self.young]);
        let generations = generations.map(Generation::written).collect();
        let gone = self.gone.iter().map(|gone| gone.ids.iter().map(|id| id.to_string()).collect()).collect();
        Written { most: self.most as u64, generations, gone }.serialize(serializer)
    }
}

impl<'de, A: Deserialize<'de>> Deserialize<'de> for FirstAnswers<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { most, generations, gone } = Written::deserialize(deserializer)?;
        let mut generations: VecDeque<Generation<A>> = generations
            .into_iter()
            .map(|entries: Vec<(String, u64, A)>| {
                let mut generation = Generation::new();
                entries.into_iter().for_each(|(id, request, answer)| generation.push(id.into(), request, answer));
                generation
            })
            .collect();
        let young = generations.pop_back().unwrap_or_else(Generation::new);
        let gone = gone.into_iter().map(|ids: Vec<String>| ids.into_iter().map(Arc::from).collect());
        Ok(FirstAnswers {
            most: usize::try_from(most).unwrap_or(usize::MAX),
            young,
            old: generations.into_iter().map(Arc::new).collect(),
            gone: gone.map(|ids| Arc::new(Gone::of(ids))).collect(),
        })
    }
}

/// A hash of bytes that is the same in every process and version: FNV-1a. It tells requests apart that have the same id
/// by mistake; somebody who wants two of his own to have the same hash can find them.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::{FirstAnswers, Look};

    #[test]
    fn the_last_answers_are_there_then_the_ids_then_nothing() {
        let mut answers = FirstAnswers::new(160);
        for number in 0..3000_u64 {
            let id = number.to_string();
            assert_eq!(answers.look(&id, number), Look::New);
            answers.keep(&id, number, number * 2);
            let look = |back: u64| number.checked_sub(back).map(|old| (old, answers.look(&old.to_string(), old)));
            for back in [0, 1, 100, 159] {
                assert!(look(back).is_none_or(|(old, look)| look == Look::Answered(old * 2)), "{number} {back}");
            }
            // Behind the answers of a generation more.
            for back in [171, 500, 1280] {
                assert!(look(back).is_none_or(|(_, look)| look == Look::Forgotten), "{number} {back}");
            }
            assert!(look(1500).is_none_or(|(_, look)| look == Look::New), "{number}");
            assert!(answers.len() <= 170);
        }
        assert_eq!(answers.look("2999", 1), Look::OtherRequest);
    }

    #[test]
    fn what_is_written_is_read_and_equal_states_have_equal_bytes() {
        let mut answers = FirstAnswers::new(32);
        let mut bytes = Vec::new();
        for number in 0..200_u64 {
            answers.keep(&number.to_string(), number, vec![number]);
            bytes = postcard::to_allocvec(&answers).unwrap();
            let read: FirstAnswers<Vec<u64>> = postcard::from_bytes(&bytes).unwrap();
            assert_eq!(postcard::to_allocvec(&read).unwrap(), bytes);
            for id in 0..=number {
                let text = id.to_string();
                assert_eq!(read.look(&text, id), answers.look(&text, id));
            }
            answers = read;
        }
        assert!(bytes.len() < 4000, "{}", bytes.len());
    }
}
