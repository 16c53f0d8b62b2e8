//! The first answers to requests with ids, which make a repeated request harmless.

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A generation holds the bound's number of answers divided by this. Older generations never change, so a clone for a
/// snapshot copies at most one generation.
const GENERATIONS: usize = 16;

/// How many times the bound of ids stay known after their answers were forgotten.
const GONE: usize = 8;

/// The answers to the last requests with ids, as a part of a stage's state.
///
/// A client that got no answer repeats its request with the same id. The stage that carries out requests
/// [looks](FirstAnswers::look) whether the id is new, and if so [keeps](FirstAnswers::keep) the answer. The state is in
/// snapshots, and later requests in the journal, so this works across crashes.
///
/// It is bounded: it keeps the answers to all of the last `most` requests with ids. It knows the ids of eight times as
/// many earlier requests, without their answers: [`Forgotten`](Look::Forgotten). An older id counts as new, so a client
/// should not repeat a request after that many later ones.
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

/// What is known about an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look<A> {
    /// The id is new.
    New,
    /// The first answer.
    Answered(A),
    /// The id belongs to another request.
    OtherRequest,
    /// The request was answered, too long ago.
    Forgotten,
}

#[derive(Clone, Debug)]
struct Generation<A> {
    /// The id, the fingerprint of the request, and the answer, in the order of their numbers.
    entries: Vec<(Arc<str>, u64, A)>,
    places: HashMap<Arc<str>, usize>,
}

/// Ids without answers. Their order is never used.
#[derive(Debug, Default)]
struct Gone {
    ids: Vec<Arc<str>>,
    places: HashMap<Arc<str>, ()>,
}

impl<A: Clone> FirstAnswers<A> {
    /// No answers yet. Will keep those to the last `most` requests, at least 16.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let most = most.max(GENERATIONS);
        FirstAnswers { most, young: Generation::new(), old: VecDeque::new(), gone: VecDeque::new() }
    }

    /// What is known about this id. `request` distinguishes requests that have the same id by mistake: a hash of the
    /// request, the same in every process.
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

    /// The number of answers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.young.entries.len() + self.old.iter().map(|old| old.entries.len()).sum::<usize>()
    }

    /// Whether there are no answers.
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

    /// Serializes an `Arc` as its value.
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

/// The serialized form, in the order of the numbers, so equal states have equal bytes.
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

/// A hash of bytes that is the same in every process and version: FNV-1a. It distinguishes requests that have the same
/// id by mistake. It does not resist an attacker, who can find two requests with the same hash.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::{FirstAnswers, Look};

    #[test]
    fn old_answers_are_forgotten_first_and_their_ids_later() {
        let mut answers = FirstAnswers::new(160);
        for number in 0..3000_u64 {
            let id = number.to_string();
            assert_eq!(answers.look(&id, number), Look::New);
            answers.keep(&id, number, number * 2);
            let look = |back: u64| number.checked_sub(back).map(|old| (old, answers.look(&old.to_string(), old)));
            for back in [0, 1, 100, 159] {
                assert!(look(back).is_none_or(|(old, look)| look == Look::Answered(old * 2)), "{number} {back}");
            }
            // There may be the answers of one generation more.
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
