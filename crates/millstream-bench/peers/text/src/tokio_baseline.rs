//! tokio, one task that reads, transforms and writes.

use crate::header::header;
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, BufWriter, stdin, stdout};
use tokio::runtime::Builder;

pub(crate) fn run() -> io::Result<()> {
    Builder::new_multi_thread().build()?.block_on(copy())
}

async fn copy() -> io::Result<()> {
    let mut input = BufReader::new(stdin());
    let mut output = BufWriter::new(stdout());
    loop {
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line).await? == 0 {
            break;
        }
        line.pop_if(|end| *end == b'\n');
        output.write_all(header(&line)).await?;
        output.write_all(&line).await?;
        output.write_all(b"\n").await?;
    }
    output.flush().await
}
