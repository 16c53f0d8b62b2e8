//! Values as bytes in a journal.

use millstream_core::Item;
use millstream_core::text::Block;
use millstream_exec::source::Elapsed;
use std::time::Duration;

/// A value that a journal can hold. [`recorded!`](crate::recorded) makes one of a type with `serde`.
///
/// The next version of the program reads the journal too, so it must be able to read the bytes of earlier versions: a
/// field that is added later needs an implementation by hand, or a format that allows it.
pub trait Recorded: Item + Sized {
    /// Appends its bytes.
    fn write(&self, bytes: &mut Vec<u8>);

    /// The value of these bytes.
    ///
    /// # Errors
    ///
    /// Why the bytes are not a value.
    fn read(bytes: Vec<u8>) -> Result<Self, String>;
}

/// Implements [`Recorded`](crate::Recorded) for types with `serde::Serialize` and `serde::Deserialize`, in postcard's
/// format: fields in their order, without their names.
///
/// ```
/// use millstream::state::{Recorded, recorded};
///
/// #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
/// struct Order { user: String, count: u64 }
/// recorded!(Order);
///
/// let (order, mut bytes) = (Order { user: "ann".to_owned(), count: 3 }, Vec::new());
/// Recorded::write(&order, &mut bytes);
/// assert_eq!(Order::read(bytes), Ok(order));
/// assert!(Order::read(vec![7]).is_err());
/// ```
#[macro_export]
macro_rules! recorded {
    ($($value:ty),+ $(,)?) => {$(
        impl $crate::Recorded for $value {
            fn write(&self, bytes: &mut Vec<u8>) {
                $crate::resumable::as_postcard(self, bytes);
            }

            fn read(bytes: Vec<u8>) -> Result<Self, String> {
                $crate::resumable::of_postcard(&bytes)
            }
        }
    )+};
}

/// Writes a value as [`recorded!`](crate::recorded) does.
///
/// # Panics
///
/// If the value's own `Serialize` fails.
#[doc(hidden)]
pub fn as_postcard<T: serde::Serialize>(value: &T, bytes: &mut Vec<u8>) {
    let written = postcard::to_extend(value, std::mem::take(bytes));
    *bytes = written.unwrap_or_else(|error| panic!("a value cannot be written to the journal: {error}"));
}

/// Reads a value as [`recorded!`](crate::recorded) does.
#[doc(hidden)]
pub fn of_postcard<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(format!("{} bytes follow the value: its type has changed", rest.len())),
        Err(error) => Err(error.to_string()),
    }
}

impl Recorded for Block {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self);
    }

    fn read(bytes: Vec<u8>) -> Result<Self, String> {
        Ok(bytes.into())
    }
}

impl Recorded for String {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.as_bytes());
    }

    fn read(bytes: Vec<u8>) -> Result<Self, String> {
        String::from_utf8(bytes).map_err(|error| error.to_string())
    }
}

impl Recorded for Vec<u8> {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self);
    }

    fn read(bytes: Vec<u8>) -> Result<Self, String> {
        Ok(bytes)
    }
}

/// What [`source::timeout`](millstream_exec::source::timeout) yields: a byte that is 1 before a value, and 0 before the
/// time within which none came.
impl<T: Recorded> Recorded for Result<T, Elapsed> {
    fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Ok(value) => {
                bytes.push(1);
                value.write(bytes);
            }
            Err(Elapsed { within }) => {
                bytes.push(0);
                bytes.extend(within.as_secs().to_le_bytes());
                bytes.extend(within.subsec_nanos().to_le_bytes());
            }
        }
    }

    fn read(mut bytes: Vec<u8>) -> Result<Self, String> {
        match *bytes {
            [1, ..] => {
                bytes.remove(0);
                T::read(bytes).map(Ok)
            }
            [0, a, b, c, d, e, f, g, h, i, j, k, l] => {
                let (seconds, nanos) = (u64::from_le_bytes([a, b, c, d, e, f, g, h]), u32::from_le_bytes([i, j, k, l]));
                // More would be carried over to the seconds.
                let within = (nanos < 1_000_000_000).then(|| Duration::new(seconds, nanos));
                within.map(|within| Err(Elapsed { within })).ok_or_else(|| format!("{nanos} nanoseconds in a second"))
            }
            _ => Err(format!("{} bytes that are neither a value nor a time", bytes.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_timeout_yields_is_read_as_it_was_written() {
        let within = Duration::new(u64::MAX, 999_999_999);
        for item in [Ok("a line".to_owned()), Ok(String::new()), Err(Elapsed { within })] {
            let mut bytes = Vec::new();
            item.write(&mut bytes);
            assert_eq!(Recorded::read(bytes), Ok(item));
        }
        for bytes in [vec![], vec![2], vec![0; 12], vec![1, 0xff], [vec![0; 9], vec![0xff; 4]].concat()] {
            assert!(Result::<String, Elapsed>::read(bytes.clone()).is_err(), "{bytes:?}");
        }
    }
}
