use millstream_core::SequenceNumber;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A planned change of a run at a number. The options of a run carry it without knowing its type.
#[derive(Clone)]
pub(crate) struct Planned {
    pub(crate) at: SequenceNumber,
    pub(crate) what: Arc<dyn Any + Send + Sync>,
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at && Arc::ptr_eq(&self.what, &other.what)
    }
}

impl Eq for Planned {}

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned").field("at", &self.at).finish_non_exhaustive()
    }
}
