use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{self, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};

/// The first word of the panic message of a [`Sabotaged`] value.
pub const SABOTAGE: &str = "sabotaged";

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// A closure reads a value.
    Closure,
    /// A value is cloned.
    Clone,
    /// A value is dropped, but not by a panic that unwinds.
    Drop,
    /// Two values are compared for equality.
    Eq,
    /// Two values are compared for their order.
    Ord,
    /// A value is hashed.
    Hash,
    /// A value is printed.
    Debug,
}

impl Call {
    /// All kinds.
    pub const ALL: [Call; 7] = [Call::Closure, Call::Clone, Call::Drop, Call::Eq, Call::Ord, Call::Hash, Call::Debug];
}

/// Makes values of which one call, the k-th of its kind over all of them, has an additional action: it panics, or it
/// calls back into the run. It counts the values alive, and detects a value that is dropped twice.
///
/// ```
/// use millstream::testkit::{Call, Saboteur};
/// let saboteur = Saboteur::panics(Call::Clone, 2);
/// let value = saboteur.value(7);
/// let clone = value.clone();
/// assert!(std::panic::catch_unwind(|| value.clone()).is_err());
/// assert!(saboteur.acted());
/// drop((value, clone));
/// assert_eq!(saboteur.alive(), 0);
/// ```
#[derive(Clone)]
pub struct Saboteur(Arc<Inner>);

struct Inner {
    call: Call,
    at: u64,
    calls: AtomicU64,
    /// The action. It is taken out before it runs, so that it runs once, and may make any call itself.
    action: Mutex<Option<Action>>,
    /// How often the value of each number was dropped.
    drops: Mutex<Vec<u32>>,
}

type Action = Box<dyn FnOnce() + Send>;

/// A value of a [`Saboteur`].
pub struct Sabotaged {
    number: i64,
    id: usize,
    saboteur: Saboteur,
}

impl Saboteur {
    /// The k-th such call panics, with k from 1 on. With 0 none does.
    #[must_use]
    pub fn panics(call: Call, k: u64) -> Self {
        let saboteur = Self::new(call, k);
        saboteur.then(move || panic!("{SABOTAGE}: {call:?} {k}"));
        saboteur
    }

    /// The k-th such call runs the action that was last set by [`then`](Saboteur::then), with k from 1 on.
    #[must_use]
    pub fn new(call: Call, k: u64) -> Self {
        Saboteur(Arc::new(Inner {
            call,
            at: k,
            calls: AtomicU64::new(0),
            action: Mutex::default(),
            drops: Mutex::default(),
        }))
    }

    /// Sets the additional action of the k-th call. It runs once.
    pub fn then(&self, action: impl FnOnce() + Send + 'static) {
        let before = self.lock(&self.0.action).replace(Box::new(action));
        drop(before);
    }

    /// Removes the action.
    pub fn disarm(&self) {
        let action = self.lock(&self.0.action).take();
        drop(action);
    }

    /// A value.
    #[must_use]
    pub fn value(&self, number: i64) -> Sabotaged {
        let mut drops = self.lock(&self.0.drops);
        drops.push(0);
        Sabotaged { number, id: drops.len() - 1, saboteur: self.clone() }
    }

    /// The kind of calls that it counts.
    #[must_use]
    pub fn call(&self) -> Call {
        self.0.call
    }

    /// Whether the k-th call was made.
    #[must_use]
    pub fn acted(&self) -> bool {
        self.0.at != 0 && self.0.calls.load(atomic::Ordering::Relaxed) >= self.0.at
    }

    /// The number of such calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.0.calls.load(atomic::Ordering::Relaxed)
    }

    /// The number of values that are not dropped yet.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.lock(&self.0.drops).iter().filter(|drops| **drops == 0).count()
    }

    /// The number of values that were dropped more than once.
    #[must_use]
    pub fn dropped_twice(&self) -> usize {
        self.lock(&self.0.drops).iter().filter(|drops| **drops > 1).count()
    }

    fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> std::sync::MutexGuard<'a, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn called(&self, call: Call) {
        if call != self.0.call || self.0.calls.fetch_add(1, atomic::Ordering::Relaxed) + 1 != self.0.at {
            return;
        }
        let action = self.lock(&self.0.action).take();
        if let Some(action) = action {
            action();
        }
    }
}

impl Sabotaged {
    /// Its number.
    #[must_use]
    pub fn number(&self) -> i64 {
        self.saboteur.called(Call::Closure);
        self.number
    }

    /// Another value of the same saboteur.
    #[must_use]
    pub fn like(&self, number: i64) -> Self {
        self.saboteur.value(number)
    }
}

impl Clone for Sabotaged {
    fn clone(&self) -> Self {
        self.saboteur.called(Call::Clone);
        self.like(self.number)
    }
}

impl Drop for Sabotaged {
    fn drop(&mut self) {
        self.saboteur.lock(&self.saboteur.0.drops)[self.id] += 1;
        // A drop that panics while another panic unwinds aborts the process, as Rust says.
        if !std::thread::panicking() {
            self.saboteur.called(Call::Drop);
        }
    }
}

impl PartialEq for Sabotaged {
    fn eq(&self, other: &Self) -> bool {
        self.saboteur.called(Call::Eq);
        self.number == other.number
    }
}

impl Eq for Sabotaged {}

impl PartialOrd for Sabotaged {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Sabotaged {
    fn cmp(&self, other: &Self) -> Ordering {
        self.saboteur.called(Call::Ord);
        self.number.cmp(&other.number)
    }
}

impl Hash for Sabotaged {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.saboteur.called(Call::Hash);
        self.number.hash(state);
    }
}

impl fmt::Debug for Sabotaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.saboteur.called(Call::Debug);
        write!(f, "{}", self.number)
    }
}

impl fmt::Debug for Saboteur {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { call, at, .. } = &*self.0;
        f.debug_struct("Saboteur").field("call", call).field("at", at).finish_non_exhaustive()
    }
}
