//! The socket in a state directory by which a new process finds the one that has the directory, and their messages.
//!
//! A job and a service have the same messages until the state is free. The later messages of two services are in
//! `millstream_net`.

mod words;

pub use words::{
    ASK, BUSY, FORWARDED, FREE, GO, NO, SETTLED, SOCKETS, UP, VERSION, hear, hear_number, is_silence, process, reason,
    say, say_free, say_no,
};

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The name of the socket.
const NAME: &str = "take-over";

/// The name has the form of unfinished files: the next process that opens the directory removes it.
const UNFINISHED: &str = "take-over.unfinished";

/// The address of a socket has 108 bytes on Linux, and 104 elsewhere.
const LONGEST: usize = 100;

/// Where the socket of a directory is.
#[derive(Debug)]
pub struct Door {
    path: PathBuf,
    /// The directory, if its name is too long for an address.
    _dir: Option<File>,
}

impl Door {
    /// That of this directory.
    ///
    /// # Errors
    ///
    /// If its name is too long, or it cannot be opened.
    pub fn of(dir: &Path) -> io::Result<Self> {
        let path = std::path::absolute(dir)?;
        if path.as_os_str().len() + 1 + UNFINISHED.len() <= LONGEST {
            return Ok(Door { path, _dir: None });
        }
        if !cfg!(target_os = "linux") {
            let why = format!("{} is too long a name for a directory with a socket: shorten it", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidFilename, why));
        }
        // Linux has a short name for an open directory.
        let dir = File::open(&path)?;
        Ok(Door { path: format!("/proc/self/fd/{}", dir.as_raw_fd()).into(), _dir: Some(dir) })
    }

    /// The address of the socket, as long as this lives.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.path.join(NAME)
    }

    /// Connects to the process that listens at this door; `None` if no process does.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn knock(&self) -> io::Result<Option<UnixStream>> {
        match UnixStream::connect(self.path()) {
            Ok(stream) => Ok(Some(stream)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Listens in place of the last process that did, for this user alone.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn listen(&self) -> io::Result<UnixListener> {
        let unfinished = self.path.join(UNFINISHED);
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&unfinished)?;
        // The socket gets its name only once it has its permissions.
        fs::set_permissions(&unfinished, Permissions::from_mode(0o600))?;
        fs::rename(&unfinished, self.path())?;
        Ok(listener)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    fn is_open(door: &Door) {
        assert!(door.knock().unwrap().is_none());
        for _ in 0..2 {
            let listener = door.listen().unwrap();
            assert_eq!(fs::metadata(door.path()).unwrap().permissions().mode() & 0o777, 0o600);
            let mut stream = door.knock().unwrap().unwrap();
            stream.write_all(b"!").unwrap();
            let mut said = [0];
            listener.accept().unwrap().0.read_exact(&mut said).unwrap();
        }
        assert!(door.knock().unwrap().is_none(), "the file is there, and no one behind it");
    }

    #[test]
    fn a_knock_reaches_the_process_that_listened_last() {
        let home = tempfile::tempdir().unwrap();
        is_open(&Door::of(home.path()).unwrap());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_directory_with_a_long_name_has_a_door() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("d".repeat(200));
        fs::create_dir(&dir).unwrap();
        is_open(&Door::of(&dir).unwrap());
    }
}
