use crate::external_source::StopSource;
use std::sync::OnceLock;
use std::thread::{ThreadId, current};

/// The thread of a source that may also run the stages.
#[derive(Default)]
pub(crate) struct SourceThread {
    id: OnceLock<ThreadId>,
    /// The source, if the thread may gather values.
    gathers: OnceLock<StopSource>,
}

impl SourceThread {
    /// This thread is it.
    pub(crate) fn is_here(&self) {
        // There is one.
        let _ = self.id.set(current().id());
    }

    /// Whether this thread is it.
    pub(crate) fn is_this(&self) -> bool {
        self.id.get() == Some(&current().id())
    }

    pub(crate) fn gathers(&self, source: StopSource) {
        // There is one source.
        let _ = self.gathers.set(source);
    }

    /// Publishes the values that the thread has gathered. The caller has ended its turns.
    pub(crate) fn publish_gathered(&self) {
        self.gathers.get().into_iter().for_each(|source| source.lay_mark());
    }
}
