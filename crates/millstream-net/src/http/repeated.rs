//! Bodies that come again, with the same `Idempotency-Key`.

use axum::http::HeaderName;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use tokio::sync::Mutex;

pub(super) const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The longest key, in bytes.
pub(super) const LONGEST_KEY: usize = 256;

/// The lines of a body that were sent on. Its lock is held while they are, so a repeat waits for them.
pub(super) type Body = Arc<Mutex<Passed>>;

/// The keys that came last, and what is known of their bodies.
pub(super) struct Keys {
    most: usize,
    known: Lock<Known>,
}

#[derive(Default)]
struct Known {
    bodies: HashMap<Box<[u8]>, Body>,
    /// The oldest first.
    order: VecDeque<Box<[u8]>>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Keys {
    pub(super) fn last(most: usize) -> Self {
        Keys { most, known: Lock::default() }
    }

    /// What is known of the body with this key.
    pub(super) fn body(&self, key: &[u8]) -> Body {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(body) = known.bodies.get(key) {
            return body.clone();
        }
        for _ in 0..known.order.len() {
            if known.order.len() < self.most {
                break;
            }
            let Some(oldest) = known.order.pop_front() else { break };
            // A body under way stays known: its sender may give up and repeat it at any time.
            match known.bodies.get(&oldest).is_some_and(|body| Arc::strong_count(body) > 1) {
                true => known.order.push_back(oldest),
                false => _ = known.bodies.remove(&oldest),
            }
        }
        let body = Arc::new(Mutex::new(Passed { has_key: true, ..Passed::default() }));
        known.order.push_back(key.into());
        known.bodies.insert(key.into(), body.clone());
        body
    }
}

/// The lines of a body that were sent on, by their numbers in the whole body.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    /// Whether the body has a key.
    has_key: bool,
    /// The lines before this one were taken by another process.
    from: u64,
    to: u64,
    /// The hash of the lines between the two.
    hash: Fnv,
}

impl Passed {
    /// The lines that were sent on, if the first line that comes has this number.
    pub(super) fn at(&mut self, first: u64) -> u64 {
        if first > self.to {
            *self = Passed { from: first, to: first, hash: Fnv::default(), ..*self };
        }
        self.to
    }

    /// These whole lines are sent on, too.
    pub(super) fn with(mut self, lines: u64, bytes: &[u8]) -> Self {
        if self.has_key {
            self.hash.add(bytes);
        }
        self.to += lines;
        self
    }

    /// Recognizes the lines again if the first one that comes has this number.
    pub(super) fn again(self, first: u64) -> Again {
        Again { passed: self, first, at: first, hash: Fnv::default(), within: false }
    }
}

/// Leaves out the lines that were sent on before.
pub(super) struct Again {
    passed: Passed,
    first: u64,
    /// The number of the line that comes next.
    at: u64,
    hash: Fnv,
    /// Whether that line has begun.
    within: bool,
}

impl Again {
    pub(super) fn is_over(&self) -> bool {
        self.at >= self.passed.to
    }

    /// Leaves out the beginning of these bytes. Returns the length of what it leaves out.
    pub(super) fn leave_out(&mut self, bytes: &[u8]) -> usize {
        let mut left_out = 0;
        while !self.is_over() && left_out < bytes.len() {
            let rest = &bytes[left_out..];
            let end = memchr::memchr(b'\n', rest);
            let line = &rest[..end.map_or(rest.len(), |end| end + 1)];
            if self.at >= self.passed.from {
                self.hash.add(line);
            }
            self.at += u64::from(end.is_some());
            self.within = end.is_none();
            left_out += line.len();
        }
        left_out
    }

    /// The body has ended. A last line without an end gets one.
    pub(super) fn end(&mut self) {
        if self.within {
            self.leave_out(b"\n");
        }
    }

    /// Whether these were the same lines.
    pub(super) fn are_same(&self) -> bool {
        // If it has not seen the first of them, it cannot know.
        self.is_over() && (self.first > self.passed.from || self.hash == self.passed.hash)
    }
}

/// The hash function FNV-1a, whose result does not depend on how the bytes are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    }
}

#[cfg(test)]
mod tests {
    use super::{Keys, Passed};

    #[test]
    fn the_lines_of_before_are_left_out_however_the_body_is_cut() {
        let body = b"one\ntwo\n\nthree\nfour";
        let of_key = Passed { has_key: true, ..Passed::default() };
        let mut passed = of_key;
        assert_eq!(passed.at(0), 0);
        let passed = passed.with(2, b"one\ntwo\n").with(1, b"\n");
        for cut in 0..=body.len() {
            let mut again = passed.again(0);
            let (first, second) = body.split_at(cut);
            let left_out = again.leave_out(first) + again.leave_out(second);
            assert_eq!((&body[left_out..], again.are_same()), (&b"three\nfour"[..], true), "{cut}");
        }
        let mut other = passed.again(0);
        assert_eq!(other.leave_out(b"one\ntwo\nx\nfour\n"), 10);
        assert!(!other.are_same());
        let mut fewer = passed.again(0);
        fewer.leave_out(b"one\ntwo");
        fewer.end();
        assert!(!fewer.are_same());
        // A process that took the rest of a body alone recognizes the rest in the whole body.
        let mut rest = of_key;
        assert_eq!(rest.at(1), 1);
        let mut again = rest.with(1, b"two\n").again(0);
        assert_eq!((again.leave_out(body), again.are_same()), (8, true));
    }

    #[test]
    fn the_oldest_keys_are_forgotten_but_not_those_of_bodies_under_way() {
        let keys = Keys::last(2);
        let to = |key: &[u8]| keys.body(key).try_lock().expect("no other request").to;
        let under_way = keys.body(b"a");
        under_way.try_lock().expect("no other request").to = 1;
        for key in [b"b", b"c", b"d"] {
            keys.body(key).try_lock().expect("no other request").to = 2;
        }
        assert_eq!((to(b"a"), to(b"d"), to(b"b")), (1, 2, 0));
        assert_eq!(keys.known.lock().expect("a lock").bodies.len(), 2);
    }
}
