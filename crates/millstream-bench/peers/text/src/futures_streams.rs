//! Streams of the futures crate in one task: a stream of lines, a `map`, a sink. Its reads and writes block. That costs
//! less than any runtime and delays no other task, since there is none.

use crate::buffers::{self, OF_BLOCKING};
use crate::header::header;
use futures::executor::block_on;
use futures::io::{AllowStdIo, AsyncBufReadExt, AsyncWriteExt, BufReader, BufWriter};
use futures::stream::{self, TryStreamExt};
use std::io;

pub(crate) fn run() -> io::Result<()> {
    block_on(pass())
}

async fn pass() -> io::Result<()> {
    let input = BufReader::with_capacity(OF_BLOCKING, AllowStdIo::new(buffers::input()?));
    let lines = stream::try_unfold(input, |mut input| async move {
        let mut line = Vec::new();
        let read = input.read_until(b'\n', &mut line).await?;
        line.pop_if(|end| *end == b'\n');
        io::Result::Ok((read > 0).then_some((line, input)))
    });
    let headed = lines.map_ok(|line| (header(&line), line));
    let output = BufWriter::with_capacity(OF_BLOCKING, AllowStdIo::new(buffers::output()?));
    let written = headed.try_fold(output, |mut output, (header, line)| async move {
        output.write_all(header).await?;
        output.write_all(&line).await?;
        output.write_all(b"\n").await?;
        Ok(output)
    });
    written.await?.flush().await
}
