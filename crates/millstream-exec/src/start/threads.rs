/// The threads that call the tasklets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// The workers.
    Workers,
    /// The calling thread, in pipeline order.
    Inline,
    /// The calling thread, in an order that the seed chooses.
    Stepped(u64),
}
