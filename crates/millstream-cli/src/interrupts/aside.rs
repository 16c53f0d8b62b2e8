use super::{Interrupts, Watched};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The bytes of an input that is no file, which a thread of its own reads: that one may wait for ever.
pub(crate) struct Aside {
    bytes: Watched,
    /// Why the input has ended early.
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl Interrupts {
    /// As [`watch`](Interrupts::watch), for any input.
    pub(crate) fn watch_aside(&self, mut input: impl Read + Send + 'static) -> io::Result<Aside> {
        let (bytes, mut into) = io::pipe()?;
        let failure = Arc::<Mutex<Option<io::Error>>>::default();
        let failed = failure.clone();
        let reads = move || {
            if let Err(error) = io::copy(&mut input, &mut into) {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
            // The end comes after its reason.
            drop(into);
        };
        thread::Builder::new().name("reading".to_owned()).spawn(reads)?;
        Ok(Aside { bytes: self.watch(OwnedFd::from(bytes).into())?, failure })
    }
}

impl Read for Aside {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        if read == 0
            && !buffer.is_empty()
            && let Some(error) = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            return Err(error);
        }
        Ok(read)
    }
}
