//! tokio, a task each that reads, transforms and writes, and bounded queues of batches of lines between them. One task a
//! step and queues that keep their order: so the output has the order of the input, and is whole once the last task has
//! ended and has flushed.

use crate::header::header;
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, BufWriter, stdin, stdout};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Batches in a queue.
const QUEUE: usize = 128;

/// Lines in a batch.
const BATCH: usize = 4096;

/// A batch also ends behind so many bytes, so that long lines do not fill the memory.
const BATCH_BYTES: usize = 256 * 1024;

type Line = Vec<u8>;
type Headed = (&'static [u8], Line);

pub(crate) fn run() -> io::Result<()> {
    Builder::new_multi_thread().build()?.block_on(pass())
}

async fn pass() -> io::Result<()> {
    let (to_transform, lines) = channel(QUEUE);
    let (to_writer, headed) = channel(QUEUE);
    let reader = tokio::spawn(read(to_transform));
    let transform = tokio::spawn(transform(lines, to_writer));
    // Who fails ends the other two, whose queues then are closed.
    let written = tokio::spawn(write(headed)).await?;
    let read = reader.await?;
    transform.await?;
    written.and(read)
}

async fn read(to: Sender<Vec<Line>>) -> io::Result<()> {
    let mut input = BufReader::new(stdin());
    loop {
        let (mut batch, mut bytes, mut more) = (Vec::with_capacity(BATCH), 0, true);
        while more && batch.len() < BATCH && bytes < BATCH_BYTES {
            let mut line = Vec::new();
            more = input.read_until(b'\n', &mut line).await? > 0;
            if more {
                line.pop_if(|end| *end == b'\n');
                bytes += line.len();
                batch.push(line);
            }
        }
        if to.send(batch).await.is_err() || !more {
            return Ok(());
        }
    }
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
    let mut output = BufWriter::new(stdout());
    while let Some(batch) = from.recv().await {
        for (header, line) in batch {
            output.write_all(header).await?;
            output.write_all(&line).await?;
            output.write_all(b"\n").await?;
        }
    }
    output.flush().await
}
