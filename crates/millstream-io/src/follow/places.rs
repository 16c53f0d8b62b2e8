use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// In which files the bytes are that a [`Follow`](super::Follow) has read. Clones are of one reader.
///
/// ```
/// use millstream::io::Follow;
/// use std::io::Read;
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// std::fs::write("log", "one\ntwo\n")?;
/// let mut follow = Follow::new("log").from_offset(4);
/// let (places, stopper) = (follow.places(), follow.stopper());
/// stopper.stop();
/// let mut rest = String::new();
/// follow.read_to_string(&mut rest)?;
/// assert_eq!(rest, "two\n");
/// assert_eq!(places.of(2).map(|place| place.offset), Some(6));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct FollowPlaces(Arc<Mutex<VecDeque<(u64, FollowPlace)>>>);

/// A place in a file that was followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowPlace {
    /// The file's device.
    pub device: u64,
    /// The file's inode, which no other file of the device has while the file exists.
    pub inode: u64,
    /// Bytes from its beginning.
    pub offset: u64,
}

impl FollowPlaces {
    pub(super) fn add(&self, read: u64, (device, inode): (u64, u64), offset: u64) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.push_back((read, FollowPlace { device, inode, offset }));
    }

    /// The place of the byte after the first `read` ones: after the last byte of a file if the next file was not begun.
    /// None before the first file, and for bytes of files that were [forgotten](FollowPlaces::forget).
    #[must_use]
    pub fn of(&self, read: u64) -> Option<FollowPlace> {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (began, place) = places.iter().rev().find(|(began, _)| *began <= read)?;
        Some(FollowPlace { offset: place.offset + (read - began), ..*place })
    }

    /// Forgets the files that end before the first `read` bytes do. Memory: 40 bytes a file that is not forgotten.
    pub fn forget(&self, read: u64) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while places.get(1).is_some_and(|(began, _)| *began <= read) {
            places.pop_front();
        }
    }
}
