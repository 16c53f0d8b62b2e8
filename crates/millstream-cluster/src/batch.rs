//! Batches: the contents of an edge's entry.

mod columns;

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any;
use twox_hash::XxHash3_64;

/// A batch begins with these bytes; the last one is the format's number.
const MAGIC: [u8; 4] = *b"MSB\x04";
/// The bytes of a header: magic, end, first, next, fingerprint, generation, count, hash.
const HEADER: usize = 4 + 1 + 8 + 8 + 8 + 8 + 4 + 8;

/// The values of the numbers from `first` to below `next`. A number without a value is an empty slot.
///
/// ```
/// use millstream::cluster::{Batch, fingerprint};
/// let batch = Batch { first: 10, next: 13, end: false, generation: 1, values: vec![(10, 'a'), (12, 'b')] };
/// let bytes = batch.to_bytes()?;
/// assert_eq!(Batch::from_bytes(&bytes)?, batch);
/// assert!(Batch::<String>::from_bytes(&bytes).is_err(), "{}", fingerprint::<char>());
/// # Ok::<(), millstream::cluster::BatchError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch<T> {
    /// The number of its first slot.
    pub first: u64,
    /// The number after its last slot: the first one of the next batch.
    pub next: u64,
    /// Whether it is the last batch. END's value, if there is one, is in it with the number `next`.
    pub end: bool,
    /// The generation of the plan that made it.
    pub generation: u64,
    /// The values with their numbers, in order.
    pub values: Vec<(u64, T)>,
}

/// The fingerprint of the type of an edge's values: a hash of its name as this compiler prints it.
#[must_use]
pub fn fingerprint<T>() -> u64 {
    hash(&[any::type_name::<T>().as_bytes()])
}

/// XXH3 of each part, seeded with the hash of the parts before it: the same on every machine. It is here for its speed:
/// a batch is hashed by its writer and by each of its readers.
pub(crate) fn hash(parts: &[&[u8]]) -> u64 {
    parts.iter().fold(0, |seed, part| XxHash3_64::oneshot_with_seed(seed, part))
}

impl<T> Batch<T> {
    /// The header without the count and the hash, at the beginning of bytes that have room for plain values.
    fn header(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + 1 + self.values.len() * size_of::<T>());
        bytes.extend(MAGIC);
        bytes.push(u8::from(self.end));
        for field in [self.first, self.next, fingerprint::<T>(), self.generation] {
            bytes.extend(field.to_le_bytes());
        }
        bytes
    }
}

impl<T: Serialize + 'static> Batch<T> {
    /// This batch as bytes, which are the same wherever it is made.
    ///
    /// # Errors
    ///
    /// If a value cannot be written, or there are more than a batch can count.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BatchError> {
        let unwritable = |why: String| BatchError::Unwritable { first: self.first, why };
        let count = u32::try_from(self.values.len()).map_err(|_| unwritable("too many values".to_owned()))?;
        let mut bytes = self.header();
        bytes.extend(count.to_le_bytes());
        let fields = bytes.len();
        bytes.resize(HEADER, 0);
        let mut bytes =
            columns::write(self.first, &self.values, bytes).map_err(|error| unwritable(error.to_string()))?;
        let sum = hash(&[&bytes[..fields], &bytes[HEADER..]]);
        bytes[fields..HEADER].copy_from_slice(&sum.to_le_bytes());
        Ok(bytes)
    }
}

impl<T: DeserializeOwned + 'static> Batch<T> {
    /// The batch that [`to_bytes`](Batch::to_bytes) wrote.
    ///
    /// # Errors
    ///
    /// If the bytes are not a batch, are damaged, or have values of another type.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BatchError> {
        let (header, payload) = bytes.split_at_checked(HEADER).ok_or(BatchError::Other)?;
        let (fields, sum) = header.split_last_chunk::<8>().ok_or(BatchError::Other)?;
        if !fields.starts_with(&MAGIC) {
            return Err(BatchError::Other);
        }
        if hash(&[fields, payload]) != u64::from_le_bytes(*sum) {
            return Err(BatchError::Damaged);
        }
        let field = |place: usize| {
            let at = MAGIC.len() + 1 + place * 8;
            fields.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
        };
        let (first, next, of, generation) = (field(0), field(1), field(2), field(3));
        if of != fingerprint::<T>() {
            return Err(BatchError::Type { expected: any::type_name::<T>() });
        }
        let (_, count) = fields.split_last_chunk::<4>().ok_or(BatchError::Other)?;
        let count = u32::from_le_bytes(*count);
        let values = columns::read(first, count, payload).map_err(BatchError::Unreadable)?;
        Ok(Batch { first, next, end: fields[MAGIC.len()] == 1, generation, values })
    }
}

/// Why bytes cannot be read as a batch, or a batch cannot be written as bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The bytes do not begin as a batch.
    #[error("these bytes are not a batch of this format")]
    Other,
    /// The hash of the bytes differs.
    #[error("the batch is damaged: its hash does not match")]
    Damaged,
    /// It holds values of another type.
    #[error("the batch holds values of another type than {expected}")]
    Type {
        /// The type that was asked for.
        expected: &'static str,
    },
    /// The hash is right, but the values cannot be read.
    #[error("the values of the batch cannot be read: {0}")]
    Unreadable(String),
    /// A value cannot be written.
    #[error("the batch from number {first} on cannot be written: {why}")]
    Unwritable {
        /// The batch's first number.
        first: u64,
        /// The codec's error.
        why: String,
    },
}
