//! Closes connections without a reset, and notices clients that leave.

use crate::listening::Place;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::runtime::Handle;
use tokio::time::timeout;

/// The time limit for the other end to close its half.
const LINGERS: Duration = Duration::from_secs(1);

/// The most bytes that a client may send while it is only watched: one that sends more is not served further.
const AHEAD: usize = 8 << 10;

/// Whether connections that share this are watched: HTTP reads nothing while a response is under way, and would not
/// notice that the reader of an endless one has left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch(Arc<AtomicBool>);

impl Watch {
    /// Watches the connection while the result exists.
    #[cfg(feature = "http")]
    pub(crate) fn begin(&self) -> Watched {
        self.0.store(true, Ordering::Relaxed);
        Watched(self.clone())
    }

    fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection is watched while this exists: it fails when the client closes it, or its half of it.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct Watched(Watch);

#[cfg(feature = "http")]
impl Drop for Watched {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Relaxed);
    }
}

/// A connection that is read for a while after its own end. A system resets a connection if it gets bytes for a closed
/// socket, or closes one with unread bytes. The other end then loses bytes that were sent to it before, such as the
/// last response.
#[derive(Debug)]
pub(crate) struct Lingering<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> {
    inner: Option<S>,
    /// Its place among the allowed connections, until it is closed.
    place: Option<Place>,
    /// The other end sends no more, or cannot be reached.
    ended: bool,
    watch: Watch,
    /// Bytes that came while it was watched, for the next reads.
    ahead: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Lingering<S> {
    pub(crate) fn new(inner: S, place: Place, watch: Watch) -> Self {
        Lingering { inner: Some(inner), place: Some(place), ended: false, watch, ahead: Vec::new() }
    }

    /// Reads on, to notice the end of the other half. An error means that the client has left.
    fn look(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> io::Result<()> {
        let mut bytes = [0; 512];
        while self.ahead.len() <= AHEAD {
            let mut piece = ReadBuf::new(&mut bytes);
            match self.as_mut().with(|inner| inner.poll_read(cx, &mut piece)) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Ready(Ok(())) if piece.filled().is_empty() => {
                    self.ended = true;
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Poll::Ready(Ok(())) => self.ahead.extend_from_slice(piece.filled()),
            }
        }
        Err(io::Error::other("the client sends, and does not wait for its response"))
    }

    /// Runs a function on the connection. An error means its end.
    fn with<T>(self: Pin<&mut Self>, f: impl FnOnce(Pin<&mut S>) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        let this = self.get_mut();
        let Some(inner) = &mut this.inner else { return Poll::Ready(Err(io::ErrorKind::NotConnected.into())) };
        let done = f(Pin::new(inner));
        this.ended |= matches!(done, Poll::Ready(Err(_)));
        done
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> AsyncRead for Lingering<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let taken = self.ahead.len().min(buffer.remaining());
            buffer.put_slice(&self.ahead[..taken]);
            self.ahead.drain(..taken);
            return Poll::Ready(Ok(()));
        }
        let (before, room) = (buffer.filled().len(), buffer.remaining());
        let done = self.as_mut().with(|inner| inner.poll_read(cx, buffer));
        self.ended |= done.is_ready() && room > 0 && buffer.filled().len() == before;
        done
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> AsyncWrite for Lingering<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.with(|inner| inner.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.with(|inner| inner.poll_write_vectored(cx, bytes))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.as_mut().with(|inner| inner.poll_flush(cx));
        // HTTP flushes whenever it has nothing else to do.
        if self.watch.is_on()
            && let Err(gone) = self.look(cx)
        {
            return Poll::Ready(Err(gone));
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|inner| inner.poll_shutdown(cx))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Drop for Lingering<S> {
    fn drop(&mut self) {
        let (Some(mut stream), false, Ok(runtime)) = (self.inner.take(), self.ended, Handle::try_current()) else {
            return;
        };
        let place = self.place.take();
        drop(runtime.spawn(async move {
            let rest = async {
                stream.shutdown().await?;
                let mut rest = [0; 4096];
                while stream.read(&mut rest).await? > 0 {}
                io::Result::Ok(())
            };
            // The connection is closed after that in any case.
            let _ = timeout(LINGERS, rest).await;
            drop((stream, place));
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::Semaphore;

    #[test]
    fn a_client_that_still_sends_reads_the_answer_before_the_end() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let places = Arc::new(Semaphore::new(1));
            let place = Arc::new(places.clone().try_acquire_owned().unwrap());
            let mut stream = Lingering::new(stream, place, Watch::default());
            client.write_all(b"unread").await.unwrap();
            stream.write_all(b"answer").await.unwrap();
            drop(stream);
            // A reset would have come by now.
            tokio::time::sleep(Duration::from_millis(50)).await;
            client.write_all(b"more").await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
            let mut said = String::new();
            client.read_to_string(&mut said).await.unwrap();
            assert_eq!((said.as_str(), places.available_permits()), ("answer", 0));
            drop(client);
            let closed = timeout(Duration::from_secs(30), places.acquire()).await;
            assert!(closed.is_ok(), "its place is free when both have closed it");
        });
    }
}
