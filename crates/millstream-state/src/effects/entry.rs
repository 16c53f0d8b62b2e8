//! The entries of an effect, as they are written.
//!
//! An entry is a value of a journal: one byte that says what it is (1 an intent, 2 an answer, 3 that the outcome is not
//! known), the number in 8 bytes with the least first, the length of the effect's name in 2, the name, and the answer.

use super::EffectKey;
use millstream_core::failure::fail;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The known outcome of an effect at a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The call was intended.
    Intent,
    Answer(Vec<u8>),
    /// An intent without an answer was found, and the policy is to report it.
    Unknown,
}

impl Known {
    pub(super) fn write(&self, effect: &str, number: u64) -> Vec<u8> {
        let (kind, answer): (u8, &[u8]) = match self {
            Known::Intent => (1, &[]),
            Known::Answer(answer) => (2, answer),
            Known::Unknown => (3, &[]),
        };
        let name = effect.as_bytes();
        // `Effects::recorded` takes no longer one.
        let length = u16::try_from(name.len()).unwrap_or_else(|_| fail("an effect's name has more than 65535 bytes"));
        [&[kind], &number.to_le_bytes()[..], &length.to_le_bytes(), name, answer].concat()
    }

    /// The effect, the number, and the known outcome.
    pub(super) fn read(bytes: &[u8]) -> Option<(&str, u64, Known)> {
        let (kind, rest) = bytes.split_first()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (name, answer) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        let known = match (kind, answer) {
            (1, []) => Known::Intent,
            (2, answer) => Known::Answer(answer.to_vec()),
            (3, []) => Known::Unknown,
            _ => return None,
        };
        Some((std::str::from_utf8(name).ok()?, u64::from_le_bytes(*number), known))
    }
}

/// An answer as it is recorded. A type that cannot be written ends the run.
pub(super) fn write_answer<B: Serialize>(key: &EffectKey, answer: &B) -> Vec<u8> {
    let unwritten = |error| fail(format!("the answer to {key} cannot be written: {error}"));
    postcard::to_allocvec(answer).unwrap_or_else(unwritten)
}

pub(super) fn read_answer<B: DeserializeOwned>(bytes: &[u8]) -> Result<B, String> {
    match postcard::take_from_bytes(bytes) {
        Ok((answer, [])) => Ok(answer),
        Ok((_, rest)) => Err(format!("{} bytes are left over: its type has changed", rest.len())),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::Known;

    #[test]
    fn an_entry_is_read_as_it_was_written_and_no_part_of_one_is_another() {
        for known in [Known::Intent, Known::Answer(vec![7, 8]), Known::Answer(Vec::new()), Known::Unknown] {
            let bytes = known.write("price", 1 << 40);
            assert_eq!(Known::read(&bytes), Some(("price", 1 << 40, known.clone())));
            let header = bytes.len() - if let Known::Answer(answer) = &known { answer.len() } else { 0 };
            assert!((0..header).all(|length| Known::read(&bytes[..length]).is_none()));
        }
        assert_eq!(Known::read(&[9; 30]), None);
    }
}
