use crate::master::Outbox;
use std::io::{self, Write};

/// The bytes to be sent to each worker.
#[derive(Debug, Default)]
pub(super) struct Outs {
    outs: Vec<Out>,
    /// Workers with bytes that no write has tried to send.
    fresh: Vec<usize>,
    /// The bytes sent until now.
    pub(super) written: u64,
}

/// The first capacity. Most messages are shorter.
const USUAL: usize = 16 << 10;

/// A longer buffer is freed once it is empty.
const LARGE: usize = 16 << 20;

#[derive(Debug)]
struct Out {
    bytes: Vec<u8>,
    sent: usize,
    fresh: bool,
    /// Whether the last write could not send everything.
    stalled: bool,
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// No byte is left to be sent.
    pub(super) all: bool,
    /// The worker took bytes after others had waited for it.
    pub(super) goes_on: bool,
}

impl Outbox for Outs {
    fn to(&mut self, worker: usize) -> &mut Vec<u8> {
        if worker >= self.outs.len() {
            self.outs.resize_with(worker + 1, Out::default);
            self.fresh.reserve(worker + 1);
        }
        let out = &mut self.outs[worker];
        if !out.fresh {
            out.fresh = true;
            self.fresh.push(worker);
        }
        &mut out.bytes
    }
}

impl Outs {
    pub(super) fn next_fresh(&mut self) -> Option<usize> {
        let worker = self.fresh.pop()?;
        self.outs[worker].fresh = false;
        Some(worker)
    }

    pub(super) fn is_empty(&self, worker: usize) -> bool {
        self.outs.get(worker).is_none_or(|out| out.bytes.is_empty())
    }

    /// Drops the bytes for the worker that had this number before.
    pub(super) fn forget(&mut self, worker: usize) {
        if let Some(out) = self.outs.get_mut(worker) {
            out.empty();
        }
    }

    /// Writes as many bytes as the socket takes.
    pub(super) fn write(&mut self, worker: usize, to: &mut impl Write) -> io::Result<Written> {
        let Some(out) = self.outs.get_mut(worker) else { return Ok(Written { all: true, goes_on: false }) };
        let (waited, before) = (out.stalled, out.sent);
        while out.sent < out.bytes.len() {
            match to.write(&out.bytes[out.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    out.sent += written;
                    self.written += written as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    out.stalled = true;
                    return Ok(Written { all: false, goes_on: waited && out.sent > before });
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
        out.empty();
        Ok(Written { all: true, goes_on: waited })
    }
}

impl Default for Out {
    fn default() -> Self {
        Out { bytes: Vec::with_capacity(USUAL), sent: 0, fresh: false, stalled: false }
    }
}

impl Out {
    fn empty(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > LARGE {
            self.bytes.shrink_to(USUAL);
        }
        (self.sent, self.stalled) = (0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes this many bytes in all.
    struct Takes(usize);

    impl Write for Takes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let some = bytes.len().min(self.0);
            self.0 -= some;
            if some > 0 { Ok(some) } else { Err(io::ErrorKind::WouldBlock.into()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A socket takes some bytes although no process reads them. Only later writes show that one does.
    #[test]
    fn a_worker_that_takes_waiting_bytes_goes_on() {
        let mut outs = Outs::default();
        outs.to(0).extend_from_slice(&[1; 100]);
        let mut write = |takes| {
            let written = outs.write(0, &mut Takes(takes)).unwrap();
            (written.all, written.goes_on)
        };
        let seen = [50, 0, 1, 0, 40, 100, 100].map(&mut write);
        let [stalled, goes_on] = [(false, false), (false, true)];
        assert_eq!(seen, [stalled, stalled, goes_on, stalled, goes_on, (true, true), (true, false)]);
    }
}
