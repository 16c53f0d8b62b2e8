//! The connections that bring requests: from clients, and from a process that forwards them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A connection of either kind. One type, so that HTTP is compiled once.
#[derive(Debug)]
pub(super) enum Wire {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

/// Runs the same code for both kinds.
macro_rules! of_both {
    ($wire:expr, $stream:ident => $does:expr) => {
        match $wire.get_mut() {
            Wire::Tcp(stream) => {
                let $stream = Pin::new(stream);
                $does
            }
            #[cfg(unix)]
            Wire::Unix(stream) => {
                let $stream = Pin::new(stream);
                $does
            }
        }
    };
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        of_both!(self, stream => stream.poll_read(cx, buffer))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        of_both!(self, stream => stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        of_both!(self, stream => stream.poll_write_vectored(cx, bytes))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_both!(self, stream => stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_both!(self, stream => stream.poll_shutdown(cx))
    }
}
