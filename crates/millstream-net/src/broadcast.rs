//! Values to many readers, which never stop the pipeline.

use bytes::Bytes;
use millstream_core::SequenceNumber;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::broadcast::{Receiver, Sender, WeakSender, channel};

/// The two ends of a broadcast: a pipeline's sink publishes values, and any number of readers get the values that are
/// published after they join.
///
/// The broadcast keeps the last `slots` values (rounded up to a power of two), once for all readers. A reader that lags
/// further behind misses values, and [`WhenSlow`] decides what happens to it. Publishing never waits.
///
/// ```
/// use millstream::{net::{Broadcast, WhenSlow, broadcast, tcp}, prelude::*};
/// use std::io::{BufRead, BufReader};
///
/// let (publisher, values) = broadcast(1024);
/// let server = tcp::send_lines("127.0.0.1:0", values.clone(), WhenSlow::Skip, Default::default())?;
/// let mut reader = BufReader::new(std::net::TcpStream::connect(server.address())?).lines();
/// while values.readers() == 0 { std::thread::yield_now(); }
///
/// let squares = pipeline::<u64>().map(|x| x * x);
/// squares.from(0..3).to_each(move |number, x| publisher.publish(number, format!("{x}\n"))).run()?;
///
/// // The publisher is gone, so the readers get the rest, and their connections end.
/// let lines: Vec<String> = reader.collect::<Result<_, _>>()?;
/// assert_eq!(lines, ["0", "1", "4"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn broadcast(slots: usize) -> (Publisher, Broadcast) {
    let (sender, _) = channel(slots.max(1));
    let counts = Arc::<Counts>::default();
    let broadcast = Broadcast { sender: sender.downgrade(), counts };
    (Publisher { sender }, broadcast)
}

#[derive(Debug, Default)]
struct Counts {
    skipped: AtomicU64,
    disconnected: AtomicU64,
    readers: AtomicU64,
}

/// A value as readers get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) number: u64,
    pub(crate) bytes: Bytes,
}

/// Publishes values. When it is dropped, readers get the remaining values, and their streams end.
pub struct Publisher {
    sender: Sender<Published>,
}

impl Publisher {
    /// Publishes a value with its number. Without readers, the value is dropped.
    pub fn publish(&self, number: SequenceNumber, value: impl Into<Bytes>) {
        if self.sender.receiver_count() > 0 {
            // An error means that the last reader has just left.
            let _ = self.sender.send(Published { number: number.0, bytes: value.into() });
        }
    }
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("readers", &self.sender.receiver_count()).finish_non_exhaustive()
    }
}

/// What happens to a reader that lags behind all kept values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenSlow {
    /// It gets the values that are still kept. The others are [counted](Broadcast::skipped).
    #[default]
    Skip,
    /// Its connection is closed, and [counted](Broadcast::disconnected). HTTP and WebSockets tell this end from that
    /// of the values: the body breaks off, and the code is 1008.
    Disconnect,
}

/// Makes readers. Clones belong to the same broadcast.
#[derive(Clone)]
pub struct Broadcast {
    sender: WeakSender<Published>,
    counts: Arc<Counts>,
}

impl Broadcast {
    /// The number of readers now.
    #[must_use]
    pub fn readers(&self) -> u64 {
        self.counts.readers.load(Ordering::Relaxed)
    }

    /// The number of values that readers have missed, over all readers.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.counts.skipped.load(Ordering::Relaxed)
    }

    /// The number of readers that were disconnected because they were too slow.
    #[must_use]
    pub fn disconnected(&self) -> u64 {
        self.counts.disconnected.load(Ordering::Relaxed)
    }

    /// A reader of the values that are published from now on; `None` if the publisher is gone.
    pub(crate) fn reader(&self, when_slow: WhenSlow) -> Reader {
        let receiver = self.sender.upgrade().map(|sender| sender.subscribe());
        self.counts.readers.fetch_add(1, Ordering::Relaxed);
        Reader { receiver, cut: false, when_slow, counts: self.counts.clone() }
    }
}

impl fmt::Debug for Broadcast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broadcast").field("readers", &self.readers()).finish_non_exhaustive()
    }
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Value(Published),
    /// The reader has missed this many values.
    Skipped(u64),
    /// The reader was too slow, and gets no more.
    Cut,
    /// There are no more values.
    End,
}

pub(crate) struct Reader {
    /// `None` if the publisher was gone before, or the reader was cut.
    receiver: Option<Receiver<Published>>,
    cut: bool,
    when_slow: WhenSlow,
    counts: Arc<Counts>,
}

impl Reader {
    /// Waits for the next value. A future that is dropped loses none.
    pub(crate) async fn next(&mut self) -> Next {
        let Some(receiver) = &mut self.receiver else { return if self.cut { Next::Cut } else { Next::End } };
        match receiver.recv().await {
            Ok(value) => Next::Value(value),
            Err(RecvError::Closed) => Next::End,
            Err(RecvError::Lagged(missed)) => self.missed(missed),
        }
    }

    /// The next value, if there is one already.
    pub(crate) fn try_next(&mut self) -> Option<Next> {
        match self.receiver.as_mut()?.try_recv() {
            Ok(value) => Some(Next::Value(value)),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
            Err(TryRecvError::Lagged(missed)) => Some(self.missed(missed)),
        }
    }

    fn missed(&mut self, missed: u64) -> Next {
        match self.when_slow {
            WhenSlow::Skip => {
                self.counts.skipped.fetch_add(missed, Ordering::Relaxed);
                Next::Skipped(missed)
            }
            WhenSlow::Disconnect => {
                self.counts.disconnected.fetch_add(1, Ordering::Relaxed);
                (self.receiver, self.cut) = (None, true);
                Next::Cut
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.counts.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(publisher: &Publisher, numbers: std::ops::Range<u64>) {
        numbers.for_each(|number| publisher.publish(SequenceNumber(number), number.to_string()));
    }

    fn rest(reader: &mut Reader) -> Vec<Next> {
        std::iter::from_fn(|| reader.try_next()).collect()
    }

    fn value(number: u64) -> Next {
        Next::Value(Published { number, bytes: number.to_string().into() })
    }

    #[test]
    fn a_slow_reader_skips_or_is_disconnected_and_the_others_miss_nothing() {
        let (publisher, values) = broadcast(4);
        publish(&publisher, 0..3);
        let (mut fast, mut slow, mut gone) =
            (values.reader(WhenSlow::Skip), values.reader(WhenSlow::Skip), values.reader(WhenSlow::Disconnect));
        publish(&publisher, 3..5);
        assert_eq!(rest(&mut fast), [value(3), value(4)]);
        publish(&publisher, 5..9);
        assert_eq!(rest(&mut fast), [value(5), value(6), value(7), value(8)]);
        assert_eq!(rest(&mut slow), [Next::Skipped(2), value(5), value(6), value(7), value(8)]);
        assert_eq!(rest(&mut gone), [Next::Cut]);
        assert_eq!((values.skipped(), values.disconnected(), values.readers()), (2, 1, 3));
        drop((fast, slow, gone));
        assert_eq!(values.readers(), 0);
    }

    #[test]
    fn published_values_come_before_the_end() {
        let (publisher, values) = broadcast(4);
        let mut reader = values.reader(WhenSlow::Skip);
        publish(&publisher, 0..2);
        drop(publisher);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let next = |reader: &mut Reader| runtime.block_on(reader.next());
        assert_eq!([next(&mut reader), next(&mut reader), next(&mut reader)], [value(0), value(1), Next::End]);
        assert_eq!(next(&mut values.reader(WhenSlow::Skip)), Next::End);
    }
}
