/// An item of an outer join of two sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Joined<A, B> {
    /// Two values that belong together.
    Both(A, B),
    /// A value of the first source without a partner.
    First(A),
    /// A value of the second source without a partner.
    Second(B),
}
