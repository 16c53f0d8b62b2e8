//! The values of a batch as two columns: their numbers, unless these follow each other, and the values.
//!
//! Plain numbers are their bytes, little end first. Everything else is written by serde, one value after the other.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;

/// The numbers follow each other from the first slot on.
const DENSE: u8 = 0;
/// Each number has its distance from the first slot.
const SPARSE: u8 = 1;

/// How many plain numbers are written at once.
const BLOCK: usize = 64;

/// Calls a macro with each plain type.
macro_rules! for_plain {
    ($what:ident) => {
        $what!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64)
    };
}

/// Writes them behind these bytes.
pub(super) fn write<T: Serialize + 'static>(
    first: u64,
    values: &Vec<(u64, T)>,
    mut bytes: Vec<u8>,
) -> Result<Vec<u8>, postcard::Error> {
    let dense = (first..).zip(values).all(|(expected, (number, _))| expected == *number);
    bytes.push(if dense { DENSE } else { SPARSE });
    if !dense {
        for (number, _) in values {
            bytes = postcard::to_extend(&number.wrapping_sub(first), bytes)?;
        }
    }
    if write_plain(values, &mut bytes) {
        return Ok(bytes);
    }
    for (_, value) in values {
        bytes = postcard::to_extend(value, bytes)?;
    }
    Ok(bytes)
}

/// Whether the values are plain, and are written then.
#[expect(clippy::ptr_arg, reason = "a slice is not `Any`")]
fn write_plain<T: 'static>(values: &Vec<(u64, T)>, bytes: &mut Vec<u8>) -> bool {
    let values: &dyn Any = values;
    macro_rules! written {
        ($($plain:ty)*) => {$(
            if let Some(values) = values.downcast_ref::<Vec<(u64, $plain)>>() {
                bytes.reserve(values.len() * size_of::<$plain>());
                for values in values.chunks(BLOCK) {
                    let mut block = [[0; size_of::<$plain>()]; BLOCK];
                    block.iter_mut().zip(values).for_each(|(place, (_, value))| *place = value.to_le_bytes());
                    bytes.extend_from_slice(block[..values.len()].as_flattened());
                }
                return true;
            }
        )*};
    }
    for_plain!(written);
    false
}

pub(super) fn read<T: DeserializeOwned + 'static>(
    first: u64,
    count: u32,
    bytes: &[u8],
) -> Result<Vec<(u64, T)>, String> {
    let (kind, mut rest) = bytes.split_first().ok_or("there are no values")?;
    let numbers = match *kind {
        DENSE => None,
        SPARSE => Some(numbers(first, count, &mut rest)?),
        other => return Err(format!("its numbers have the unknown encoding {other}")),
    };
    // A value takes a byte at least, unless it has no contents.
    let mut values = Vec::with_capacity(rest.len().min(count as usize));
    if !read_plain(first, count, rest, &mut values)? {
        for place in 0..count {
            let (value, behind) = postcard::take_from_bytes(rest).map_err(|error| error.to_string())?;
            values.push((first.wrapping_add(u64::from(place)), value));
            rest = behind;
        }
        if !rest.is_empty() {
            return Err(format!("{} bytes follow its values", rest.len()));
        }
    }
    if let Some(numbers) = numbers {
        values.iter_mut().zip(numbers).for_each(|(value, number)| value.0 = number);
    }
    Ok(values)
}

fn numbers(first: u64, count: u32, rest: &mut &[u8]) -> Result<Vec<u64>, String> {
    let mut numbers = Vec::new();
    for _ in 0..count {
        let (offset, behind) = postcard::take_from_bytes::<u64>(rest).map_err(|error| error.to_string())?;
        numbers.push(first.wrapping_add(offset));
        *rest = behind;
    }
    Ok(numbers)
}

/// Whether the values are plain, and are read then.
#[expect(clippy::ptr_arg, reason = "a slice is not `Any`")]
fn read_plain<T: 'static>(first: u64, count: u32, bytes: &[u8], values: &mut Vec<(u64, T)>) -> Result<bool, String> {
    let values: &mut dyn Any = values;
    macro_rules! are_read {
        ($($plain:ty)*) => {$(
            if let Some(values) = values.downcast_mut::<Vec<(u64, $plain)>>() {
                if bytes.len() != count as usize * size_of::<$plain>() {
                    return Err(format!("{} bytes are not those of {count} values", bytes.len()));
                }
                let whole = bytes.as_chunks::<{ size_of::<$plain>() }>().0;
                values.extend((first..).zip(whole.iter().map(|value| <$plain>::from_le_bytes(*value))));
                return Ok(true);
            }
        )*};
    }
    for_plain!(are_read);
    Ok(false)
}
