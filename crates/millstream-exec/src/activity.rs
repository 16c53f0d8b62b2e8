/// What a worker does at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Activity {
    /// Its last round moved something, or it was woken and is in its first round.
    #[default]
    Busy,
    /// Its last round moved nothing; it looks again.
    Idle,
    /// It sleeps until it is woken.
    Parked,
}

impl Activity {
    pub(crate) const ALL: [Activity; 3] = [Activity::Busy, Activity::Idle, Activity::Parked];
}
