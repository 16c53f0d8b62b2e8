//! tokio, with a task each that reads, transforms and writes, and bounded queues of batches of lines between them. Each
//! step has one task and the queues keep their order, so the output has the order of the input. It is complete once the
//! last task has ended and flushed.
//!
//! `run` is the experiment's: three tasks, tokio's own standard input and output, queues of 128 batches.
//! `run_on_threads` is the best version that was found: only the transform is a task, and the ends are threads that
//! read and write without tokio, as its documentation recommends for a loop that blocks. For the processor time of 286
//! MB in long lines, let 512 be the time of `run`. With the ends on threads, queues of 128 batches take 360, of 16 250,
//! of 8 250, of 4 260, and of 2 300 (fewer batches under way stay in the cache). Batches of 64 KiB take 264 and of 1
//! MiB 360; several threads for the runtime take as much as one. With short lines, batches of 1,024 and of 16,384 are
//! no better than of 4,096.

use crate::buffers::{self, OF_TOKIO};
use crate::header::header;
use std::io::{self, BufRead, Write};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, BufWriter, stdin, stdout};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{spawn, spawn_blocking};

/// The batches in a queue of the experiment.
const QUEUE: usize = 128;

/// The batches in a queue if the ends are threads.
const SHORT_QUEUE: usize = 8;

/// The lines in a batch.
const BATCH: usize = 4096;

/// A batch also ends after this many bytes, so that long lines do not fill the memory.
const BATCH_BYTES: usize = 256 * 1024;

type Line = Vec<u8>;
type Headed = (&'static [u8], Line);

/// Three tasks.
pub(crate) fn run() -> io::Result<()> {
    Builder::new_multi_thread().build()?.block_on(async {
        let (to_transform, lines) = channel(QUEUE);
        let (to_writer, headed) = channel(QUEUE);
        let reader = spawn(read(to_transform));
        let transform = spawn(transform(lines, to_writer));
        // A task that fails closes its queues, which ends the other two.
        let written = spawn(write(headed)).await?;
        let read = reader.await?;
        transform.await?;
        written.and(read)
    })
}

/// A task between two threads.
pub(crate) fn run_on_threads() -> io::Result<()> {
    Builder::new_current_thread().build()?.block_on(async {
        let (to_transform, lines) = channel(SHORT_QUEUE);
        let (to_writer, headed) = channel(SHORT_QUEUE);
        let reader = spawn_blocking(move || read_blocking(&to_transform));
        let transform = spawn(transform(lines, to_writer));
        let written = spawn_blocking(move || write_blocking(headed)).await?;
        let read = reader.await?;
        transform.await?;
        written.and(read)
    })
}

/// Lines that are sent together.
#[derive(Default)]
struct Batch {
    lines: Vec<Line>,
    bytes: usize,
}

impl Batch {
    /// Adds a line with its end.
    fn push(&mut self, mut line: Line) {
        line.pop_if(|end| *end == b'\n');
        self.bytes += line.len();
        self.lines.push(line);
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= BATCH || self.bytes >= BATCH_BYTES
    }
}

async fn read(to: Sender<Vec<Line>>) -> io::Result<()> {
    let mut input = BufReader::with_capacity(OF_TOKIO, stdin());
    let mut more = true;
    while more {
        let mut batch = Batch::default();
        while more && !batch.is_full() {
            let mut line = Vec::new();
            more = input.read_until(b'\n', &mut line).await? > 0;
            if more {
                batch.push(line);
            }
        }
        if to.send(batch.lines).await.is_err() {
            break;
        }
    }
    Ok(())
}

fn read_blocking(to: &Sender<Vec<Line>>) -> io::Result<()> {
    let mut input = io::BufReader::with_capacity(OF_TOKIO, buffers::input()?);
    let mut more = true;
    while more {
        let mut batch = Batch::default();
        while more && !batch.is_full() {
            let mut line = Vec::new();
            more = input.read_until(b'\n', &mut line)? > 0;
            if more {
                batch.push(line);
            }
        }
        if to.blocking_send(batch.lines).is_err() {
            break;
        }
    }
    Ok(())
}

async fn transform(mut from: Receiver<Vec<Line>>, to: Sender<Vec<Headed>>) {
    while let Some(batch) = from.recv().await {
        let batch = batch.into_iter().map(|line| (header(&line), line)).collect();
        if to.send(batch).await.is_err() {
            break;
        }
    }
}

async fn write(mut from: Receiver<Vec<Headed>>) -> io::Result<()> {
    let mut output = BufWriter::with_capacity(OF_TOKIO, stdout());
    while let Some(batch) = from.recv().await {
        for (header, line) in batch {
            output.write_all(header).await?;
            output.write_all(&line).await?;
            output.write_all(b"\n").await?;
        }
    }
    output.flush().await
}

fn write_blocking(mut from: Receiver<Vec<Headed>>) -> io::Result<()> {
    let mut output = io::BufWriter::with_capacity(OF_TOKIO, buffers::output()?);
    while let Some(batch) = from.blocking_recv() {
        for (header, line) in batch {
            output.write_all(header)?;
            output.write_all(&line)?;
            output.write_all(b"\n")?;
        }
    }
    output.flush()
}
