//! The token at the beginning of a connection.

use std::time::Duration;

/// The time limit for a token.
pub(super) const WITHIN: Duration = Duration::from_secs(10);

/// Whether it is this token. The time of the comparison does not depend on how much of the token is right.
pub(super) fn is(given: &[u8], token: &str) -> bool {
    let token = token.as_bytes();
    let differ = given.iter().zip(token).fold(0, |differ, (a, b)| differ | (a ^ b));
    given.len() == token.len() && std::hint::black_box(differ) == 0
}

#[cfg(test)]
mod tests {
    use super::is;

    #[test]
    fn a_token_is_itself() {
        assert!(is(b"secret", "secret"));
        assert!(!is(b"secre", "secret") && !is(b"secrets", "secret") && !is(b"Secret", "secret"));
    }
}
