use std::fmt;

/// The choices of an arrival merge: runs of values, each from one producer.
///
/// As bytes, a run is its producer and its length, seven bits a byte, the low ones first (LEB128): two bytes for up to
/// 127 values of one of the first 128 producers.
///
/// ```
/// use millstream::prelude::*;
/// let choices: MergeLog = [(0, 64), (2, 60), (2, 4), (1, 300)].into_iter().collect();
/// assert_eq!(choices.iter().collect::<Vec<_>>(), [(0, 64), (2, 64), (1, 300)]);
/// assert_eq!((choices.values(), choices.to_bytes().len()), (428, 7));
/// assert_eq!(MergeLog::from_bytes(&choices.to_bytes())?, choices);
/// # Ok::<(), millstream::exec::CorruptMergeLog>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeLog {
    /// All runs but the last.
    bytes: Vec<u8>,
    /// The last run, which may still grow.
    last: Option<(u32, u64)>,
    values: u64,
}

impl MergeLog {
    /// Appends `count` values of this producer.
    pub fn push(&mut self, producer: u32, count: u64) {
        self.values += count;
        match &mut self.last {
            _ if count == 0 => (),
            Some((last, before)) if *last == producer => *before += count,
            last => {
                if let Some((last, before)) = last.replace((producer, count)) {
                    put(&mut self.bytes, last.into());
                    put(&mut self.bytes, before);
                }
            }
        }
    }

    /// The runs: a producer, and how many of its values come next.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let mut rest = self.bytes.as_slice();
        let runs = std::iter::from_fn(move || Some((get(&mut rest)? as u32, get(&mut rest)?)));
        runs.chain(self.last)
    }

    /// The number of values in all runs.
    #[must_use]
    pub fn values(&self) -> u64 {
        self.values
    }

    /// The encoded bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        if let Some((producer, count)) = self.last {
            put(&mut bytes, producer.into());
            put(&mut bytes, count);
        }
        bytes
    }

    /// Decodes bytes.
    ///
    /// # Errors
    ///
    /// If they are truncated, or are not a valid record.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, CorruptMergeLog> {
        let (mut choices, len) = (MergeLog::default(), bytes.len());
        while !bytes.is_empty() {
            let at = len - bytes.len();
            let run = get(&mut bytes).and_then(|producer| Some((u32::try_from(producer).ok()?, get(&mut bytes)?)));
            match run {
                Some((producer, count)) if count > 0 && choices.values.checked_add(count).is_some() => {
                    choices.push(producer, count);
                }
                _ => return Err(CorruptMergeLog { at }),
            }
        }
        Ok(choices)
    }

    /// The runs, one after another.
    pub(super) fn into_runs(self) -> impl Iterator<Item = (u32, u64)> + Send {
        let (bytes, mut at) = (self.bytes, 0);
        let runs = std::iter::from_fn(move || {
            let mut rest = &bytes[at..];
            let run = (get(&mut rest)? as u32, get(&mut rest)?);
            at = bytes.len() - rest.len();
            Some(run)
        });
        runs.chain(self.last)
    }
}

impl FromIterator<(u32, u64)> for MergeLog {
    fn from_iter<I: IntoIterator<Item = (u32, u64)>>(runs: I) -> Self {
        let mut choices = MergeLog::default();
        runs.into_iter().for_each(|(producer, count)| choices.push(producer, count));
        choices
    }
}

fn put(bytes: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
}

fn get(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7F);
        if part << shift >> shift != part {
            return None;
        }
        n |= part << shift;
        if byte & 0x80 == 0 {
            return Some(n);
        }
    }
    None
}

/// Bytes that are not a valid record of choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorruptMergeLog {
    /// The offset of the first invalid run.
    pub at: usize,
}

impl fmt::Display for CorruptMergeLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the record of a fan-in is truncated or damaged: nothing can be read at byte {}", self.at)
    }
}

impl std::error::Error for CorruptMergeLog {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_bytes_are_refused() {
        for (bytes, at) in [(&[0][..], 0), (&[0, 1, 5, 0x80], 2), (&[0, 0], 0), (&[0xFF; 12], 0), (&[1, 3, 1], 2)] {
            assert_eq!(MergeLog::from_bytes(bytes), Err(CorruptMergeLog { at }), "{bytes:?}");
        }
        let longest: MergeLog = [(u32::MAX, u64::MAX)].into_iter().collect();
        assert_eq!(MergeLog::from_bytes(&longest.to_bytes()), Ok(longest));
        assert_eq!(MergeLog::from_bytes(&[]), Ok(MergeLog::default()));
    }

    #[test]
    fn runs_of_64_take_less_than_a_tenth_of_a_byte_a_value() {
        let choices: MergeLog = (0..3000_u32).map(|n| (n % 3, 32 + u64::from(n % 64))).collect();
        assert!((choices.to_bytes().len() as f64) < 0.1 * choices.values() as f64);
        assert_eq!(choices.clone().into_runs().collect::<Vec<_>>(), choices.iter().collect::<Vec<_>>());
    }
}
