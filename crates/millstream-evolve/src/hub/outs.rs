use crate::master::Outbox;
use std::io::{self, Write};

/// What is to be sent to each worker.
#[derive(Debug, Default)]
pub(super) struct Outs {
    outs: Vec<Out>,
    /// Who has something that nobody has tried to send.
    fresh: Vec<usize>,
    /// Bytes until now.
    pub(super) written: u64,
}

/// Most messages are shorter.
const USUAL: usize = 16 << 10;

#[derive(Debug)]
struct Out {
    bytes: Vec<u8>,
    sent: usize,
    fresh: bool,
}

impl Outbox for Outs {
    fn to(&mut self, worker: usize) -> &mut Vec<u8> {
        if worker >= self.outs.len() {
            self.outs.resize_with(worker + 1, || Out { bytes: Vec::with_capacity(USUAL), sent: 0, fresh: false });
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

    /// What was for the one who sat here before is for nobody.
    pub(super) fn forget(&mut self, worker: usize) {
        if let Some(out) = self.outs.get_mut(worker) {
            out.bytes.clear();
            out.sent = 0;
        }
    }

    /// Writes as much as can be; whether that was everything.
    pub(super) fn write(&mut self, worker: usize, to: &mut impl Write) -> io::Result<bool> {
        let Some(out) = self.outs.get_mut(worker) else { return Ok(true) };
        while out.sent < out.bytes.len() {
            match to.write(&out.bytes[out.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    out.sent += written;
                    self.written += written as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
        out.bytes.clear();
        out.sent = 0;
        Ok(true)
    }

    /// How many bytes wait for this worker.
    pub(super) fn waiting(&self, worker: usize) -> usize {
        self.outs.get(worker).map_or(0, |out| out.bytes.len() - out.sent)
    }
}
