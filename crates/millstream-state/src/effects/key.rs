use std::fmt;
use std::sync::Arc;

/// A key that is the same each time an effect is performed for a number: pass it on as an idempotency key. It does not
/// depend on the version of the program or on the attempt. Its text is `JOB/EFFECT/NUMBER`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EffectKey {
    pub(super) job: Arc<str>,
    pub(super) effect: Arc<str>,
    pub(super) number: u64,
}

impl EffectKey {
    /// The program of the state directory.
    #[must_use]
    pub fn job(&self) -> &str {
        &self.job
    }

    /// The effect's name.
    #[must_use]
    pub fn effect(&self) -> &str {
        &self.effect
    }

    /// The number of the value.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}

impl fmt::Display for EffectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.job, self.effect, self.number)
    }
}

/// A call was intended, the process ended, and it is not known whether the call had an effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not known whether {key} had an effect: the process ended between the intent and the answer")]
pub struct OutcomeUnknown {
    /// The key of the call.
    pub key: EffectKey,
}

/// The policy for a call whose answer was lost in a crash.
pub struct Unknown<B>(Policy<B>);

type Asks<B> = Arc<dyn Fn(&EffectKey) -> Option<B> + Send + Sync>;

enum Policy<B> {
    Retry,
    Ask(Asks<B>),
    Fail,
}

impl<B> Unknown<B> {
    /// Calls again, with the same key: at least once. For effects that are idempotent, by themselves or by the key. No
    /// intent is written.
    #[must_use]
    pub fn retry() -> Self {
        Unknown(Policy::Retry)
    }

    /// Asks the other side by the key. `f` returns the answer that the other side gave, or `None` if the call did not
    /// arrive there; then it is made.
    #[must_use]
    pub fn ask(f: impl Fn(&EffectKey) -> Option<B> + Send + Sync + 'static) -> Self {
        Unknown(Policy::Ask(Arc::new(f)))
    }

    /// Returns [`OutcomeUnknown`], now and whenever the number comes again: at most once, or reported.
    #[must_use]
    pub fn fail() -> Self {
        Unknown(Policy::Fail)
    }

    pub(super) fn has_intent(&self) -> bool {
        !matches!(self.0, Policy::Retry)
    }

    /// For an intent without an answer: `Some(Some(answer))` if the answer is known, `Some(None)` if the call must be
    /// made, and `None` if neither is known.
    pub(super) fn settle(&self, key: &EffectKey) -> Option<Option<B>> {
        match &self.0 {
            Policy::Retry => Some(None),
            Policy::Ask(ask) => Some(ask(key)),
            Policy::Fail => None,
        }
    }
}

impl<B> Clone for Unknown<B> {
    fn clone(&self) -> Self {
        Unknown(match &self.0 {
            Policy::Retry => Policy::Retry,
            Policy::Ask(ask) => Policy::Ask(ask.clone()),
            Policy::Fail => Policy::Fail,
        })
    }
}

impl<B> fmt::Debug for Unknown<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Policy::Retry => "retry",
            Policy::Ask(_) => "ask",
            Policy::Fail => "fail",
        })
    }
}
