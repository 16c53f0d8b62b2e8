//! The files with which the reading of a followed file begins.

use super::FollowedFile;
use super::rotated::{Rotated, rotated_after, rotated_since};
use super::stored::{Stored, absent_since};
use millstream_io::Follow;
use serde_json::Value;
use std::fs::{self, File};
use std::io;
use std::mem;
use std::time::SystemTime;

impl FollowedFile {
    /// A reader from this place on: of the last file that is there and the ones that get the name, with the rotated
    /// files that must be read before it. What was checked is read, whatever name it gets until then.
    pub(super) fn found(&self, follow: Follow, stored: &Stored) -> io::Result<(Follow, Vec<Rotated>)> {
        let (there, file) = self.checked(stored)?;
        let (mut rest, mut last) = (Vec::new(), Rotated::of(file, stored.offset)?);
        if there != self.path {
            for later in rotated_after(&self.path, &there)? {
                rest.push(mem::replace(&mut last, later));
            }
        }
        // A program may still write to it, until another file has the name.
        Ok((last.before(follow)?, rest))
    }

    /// The file that has the name, if one does.
    fn present(&self) -> Option<File> {
        // A pipe is not opened, which would wait for a writer: the reader refuses it.
        let is_file = fs::metadata(&self.path).is_ok_and(|there| there.is_file());
        is_file.then(|| File::open(&self.path)).and_then(Result::ok)
    }

    /// A reader of all files that have got the name since a time at which none had it, and the ones of them that must
    /// be read before it. Without a time, those that have lost the name are not known.
    pub(super) fn since(&self, follow: Follow, since: Option<SystemTime>) -> io::Result<(Follow, Vec<Rotated>)> {
        let (now, present) = (SystemTime::now(), self.present());
        let is = present.as_ref().map(File::metadata).transpose()?;
        let rest = since.map(|since| rotated_since(&self.path, since, is.as_ref())).transpose()?;
        let mut rest = rest.unwrap_or_default();
        let last = present.map(|file| Rotated::of(file, 0)).transpose()?;
        match last.or_else(|| rest.pop()) {
            Some(last) => Ok((last.before(follow)?, rest)),
            None => Ok((follow.absent_since(now), rest)),
        }
    }

    /// A reader for a first start, and its position: the beginning of the file that has the name, if one does.
    pub(super) fn first(&self, follow: Follow) -> io::Result<(Follow, Value)> {
        let now = SystemTime::now();
        let Some(mut file) = self.present() else { return Ok((follow.absent_since(now), absent_since(now))) };
        let stored = Stored::of(self.path.clone(), &mut file, 0)?;
        Ok((follow.from_file(file, 0)?, serde_json::to_value(stored)?))
    }
}
