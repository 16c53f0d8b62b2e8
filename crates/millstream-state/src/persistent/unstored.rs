//! Why a snapshot is not stored.

/// Why no snapshot is stored behind a value that is not whole.
const NOT_WHOLE: &str = "the last value is not whole, as a line without its end, so it is read again after a restart: \
                         a snapshot can be stored behind the next value";

/// Why a snapshot is not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unstored {
    /// The last value is not whole. Nothing has failed: a start goes on at the newest snapshot, which has this number,
    /// and reads the value again.
    NotWhole(u64),
    Failed(String),
}

impl From<String> for Unstored {
    fn from(why: String) -> Self {
        Unstored::Failed(why)
    }
}

impl From<&str> for Unstored {
    fn from(why: &str) -> Self {
        Unstored::Failed(why.to_owned())
    }
}

impl From<Unstored> for String {
    fn from(unstored: Unstored) -> String {
        match unstored {
            Unstored::NotWhole(_) => NOT_WHOLE.to_owned(),
            Unstored::Failed(why) => why,
        }
    }
}
