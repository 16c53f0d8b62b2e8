/// What an outer join of two sources gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Joined<A, B> {
    /// Two that belong together.
    Both(A, B),
    /// One of the first source that has found nothing.
    First(A),
    /// One of the second source that has found nothing.
    Second(B),
}
