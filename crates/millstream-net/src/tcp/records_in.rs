//! Connections that send values, as a source.

use super::counters::Opened;
use super::{Listener, ListenerCounters, Options, token};
use crate::lingering::{Lingering, Watch};
use crate::listening::{Accepted, Accepting, Bound, Closing, asked_for};
use crate::taking::{NotTaken, Taking};
use crate::{OpenError, WholeLines, WholeRecords};
use memchr::memchr;
use millstream_core::Item;
use millstream_core::text::Block;
use millstream_exec::Client;
use std::future::Future;
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The size of a read.
const PIECE: usize = 64 << 10;

/// Listens for connections that send lines, and sends their whole lines to the client, as blocks. The lines of one
/// connection keep their order.
///
/// ```
/// use millstream::{exec::Reception, io::Block, net::{arrivals, tcp}, prelude::*};
/// use std::io::{BufRead, BufReader, Write};
///
/// let (reception, arriving) = Reception::<Block, ()>::open(&Rings::new(), Some(16))?;
/// let words = |text: &[u8]| text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
/// let words = pipeline::<Block>().map(move |block| words(block));
/// let run = Rings::new().start(words.from(arrivals::taken(arriving)).to_fold(0, |sum, _, n| *sum += n))?;
/// let options = tcp::Options::default().acknowledge();
/// let listener = tcp::take_lines("127.0.0.1:0", reception.client(&run), options)?;
///
/// let mut sender = std::net::TcpStream::connect(listener.address())?;
/// sender.write_all(b"to be\nor not\nto b")?; // the last line is not whole
/// let mut taken = String::new();
/// BufReader::new(&sender).read_line(&mut taken)?;
/// assert_eq!(taken, "2\n");
/// drop(sender);
///
/// drop(listener); // and the client with it, so the source ends
/// assert_eq!(run.wait()?.0, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If other machines could connect and no token is set; if the address cannot be used, or no thread can be started.
pub fn take_lines(
    address: impl ToSocketAddrs,
    client: Client<Block, ()>,
    options: Options,
) -> Result<Listener, OpenError> {
    let longest = options.longest;
    take(address, client, options, move || Lines { whole: WholeLines::new(longest), within: false })
}

/// Listens for connections that send records, each after its length as in [`WholeRecords`], and sends each record to
/// the client. The records of one connection keep their order.
///
/// # Errors
///
/// As [`take_lines`].
pub fn take_records(
    address: impl ToSocketAddrs,
    client: Client<Vec<u8>, ()>,
    options: Options,
) -> Result<Listener, OpenError> {
    let longest = options.longest;
    take(address, client, options, move || WholeRecords::new(longest))
}

/// Cuts the bytes of a connection into values.
trait Cutter: Send + Sync + 'static {
    type Item: Item;

    /// The values that these bytes complete, each with its number of lines or records.
    fn cut(&mut self, bytes: &[u8]) -> Result<Vec<(Self::Item, u64)>, String>;

    /// Takes the token from the first bytes of a connection. Returns it with the bytes after it; `None` if it is
    /// incomplete.
    fn token<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], &'b [u8])>;

    /// Whether a line or record is incomplete.
    fn is_within(&self) -> bool;
}

struct Lines {
    whole: WholeLines,
    within: bool,
}

impl Cutter for Lines {
    type Item = Block;

    fn cut(&mut self, bytes: &[u8]) -> Result<Vec<(Block, u64)>, String> {
        self.within = bytes.last().map_or(self.within, |last| *last != b'\n');
        let mut block = Vec::new();
        let lines = self.whole.push_onto(bytes, &mut block).map_err(|error| error.to_string())?;
        Ok((lines > 0).then(|| (block.into(), lines)).into_iter().collect())
    }

    fn token<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], &'b [u8])> {
        let end = memchr(b'\n', bytes)?;
        let line = &bytes[..end];
        Some((line.strip_suffix(b"\r").unwrap_or(line), &bytes[end + 1..]))
    }

    fn is_within(&self) -> bool {
        self.within
    }
}

impl Cutter for WholeRecords {
    type Item = Vec<u8>;

    fn cut(&mut self, bytes: &[u8]) -> Result<Vec<(Vec<u8>, u64)>, String> {
        let records = self.push(bytes).map_err(|error| error.to_string())?;
        Ok(records.into_iter().map(|record| (record, 1)).collect())
    }

    fn token<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], &'b [u8])> {
        let (length, rest) = bytes.split_first_chunk()?;
        rest.split_at_checked(u32::from_be_bytes(*length) as usize)
    }

    fn is_within(&self) -> bool {
        WholeRecords::is_within(self)
    }
}

fn take<C: Cutter>(
    address: impl ToSocketAddrs,
    client: Client<C::Item, ()>,
    options: Options,
    cutter: impl Fn() -> C + Send + Sync + 'static,
) -> Result<Listener, OpenError> {
    let bound = Bound::to(address, options.token.as_deref())?;
    let counters = Arc::<ListenerCounters>::default();
    let (counted, connections) = (counters.clone(), options.connections);
    let listening = bound.serve("millstream-tcp", connections, Accepting::Yes, move |accepted| {
        let (client, options, counters) = (client.clone(), options.clone(), counted.clone());
        connected(accepted, client, options, counters, cutter())
    })?;
    Ok(Listener { listening, counters })
}

/// Serves one connection. Its end does not affect others.
async fn connected<C: Cutter>(
    accepted: Accepted,
    client: Client<C::Item, ()>,
    options: Options,
    counters: Arc<ListenerCounters>,
    mut cutter: C,
) {
    let _open = Opened::on(&counters);
    let Accepted { stream, closing, place, .. } = accepted;
    let mut connection = Connection { stream, options, closing };
    let mut taking = Taking::into(&client, 0);
    let ended = read(&mut connection, &mut cutter, &mut taking, &counters.taken).await;
    // These lines or records are taken, even if the rest failed.
    let before = taking.taken;
    let all = taking.all().await;
    counters.taken.fetch_add(taking.taken - before, Ordering::Relaxed);
    if cutter.is_within() {
        counters.broken_off.fetch_add(1, Ordering::Relaxed);
    }
    let said = match ended.and(all.map_err(not_taken)) {
        Ok(()) => format!("{}\n", taking.taken),
        Err(Ended::Wrong(why)) => {
            counters.refused.fetch_add(1, Ordering::Relaxed);
            format!("{}\nerror: {why}\n", taking.taken)
        }
        Err(Ended::NotTaken) => format!("{}\nerror: the service takes no more\n", taking.taken),
        Err(Ended::Unread) => return,
    };
    if connection.options.acknowledge && connection.say(&said).await.is_ok() {
        // Bytes that come after the last answer must not destroy it.
        drop(Lingering::new(connection.stream, place, Watch::default()));
    }
}

/// Why reading ends.
enum Ended {
    Wrong(String),
    NotTaken,
    /// An answer was not written in time. A part of it may be, and the next one after that would be another number.
    Unread,
}

/// The run takes no more. Strangers must not see why: that is for the log.
fn not_taken(_: NotTaken) -> Ended {
    Ended::NotTaken
}

struct Connection {
    stream: TcpStream,
    options: Options,
    closing: Closing,
}

impl Connection {
    /// The next bytes within this time; no bytes once the connection has ended or failed, or the server is closed.
    async fn piece(&mut self, within: Option<Duration>) -> Option<Vec<u8>> {
        let Connection { stream, closing, .. } = self;
        let read = async {
            loop {
                // A connection that waits has no buffer.
                stream.readable().await.ok()?;
                let mut piece = Vec::with_capacity(PIECE);
                match stream.try_read_buf(&mut piece) {
                    Ok(0) => return None,
                    Ok(_) => return Some(piece),
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(_) => return None,
                }
            }
        };
        tokio::select! {
            piece = at_most(within, read) => piece.flatten(),
            () = closing.wait() => None,
        }
    }

    /// Sends an answer, if answers are on. Does not wait long for a sender that does not read.
    async fn say(&mut self, said: &str) -> Result<(), Ended> {
        if !self.options.acknowledge {
            return Ok(());
        }
        let written = timeout(self.options.write_within, self.stream.write_all(said.as_bytes())).await;
        // An error means that the sender has gone. The bytes that it has sent are taken all the same.
        written.map(drop).map_err(|_| Ended::Unread)
    }
}

async fn at_most<F: Future>(time: Option<Duration>, future: F) -> Option<F::Output> {
    match time {
        Some(time) => timeout(time, future).await.ok(),
        None => Some(future.await),
    }
}

async fn read<C: Cutter>(
    connection: &mut Connection,
    cutter: &mut C,
    taking: &mut Taking<'_, C::Item>,
    taken: &AtomicU64,
) -> Result<(), Ended> {
    let mut first = with_token(connection, cutter).await?;
    loop {
        let piece = match std::mem::take(&mut first) {
            Some(piece) => Some(piece),
            None => next_piece(connection, taking, taken).await.map_err(not_taken)?,
        };
        let Some(piece) = piece else { return Ok(()) };
        let before = taking.taken;
        let sent = send(cutter.cut(&piece).map_err(Ended::Wrong)?, taking, connection.options.acknowledge).await;
        taken.fetch_add(taking.taken - before, Ordering::Relaxed);
        sent.map_err(not_taken)?;
        if taking.taken > before {
            connection.say(&format!("{}\n", taking.taken)).await?;
        }
    }
}

/// The next bytes. Takes acknowledgements of earlier values while it waits.
async fn next_piece<T: Item>(
    connection: &mut Connection,
    taking: &mut Taking<'_, T>,
    taken: &AtomicU64,
) -> Result<Option<Vec<u8>>, NotTaken> {
    loop {
        let before = taking.taken;
        tokio::select! {
            biased;
            piece = connection.piece(connection.options.idle) => return Ok(piece),
            done = taking.next(), if taking.waits() => done?,
        }
        taken.fetch_add(taking.taken - before, Ordering::Relaxed);
    }
}

/// Sends these values, and waits until they are taken if answers are on.
async fn send<T: Item>(values: Vec<(T, u64)>, taking: &mut Taking<'_, T>, wait: bool) -> Result<(), NotTaken> {
    for (value, counts) in values {
        taking.send(value, counts, false).await?;
    }
    if wait { taking.all().await } else { Ok(()) }
}

/// Reads the token, if one is set. Returns the bytes after it.
async fn with_token<C: Cutter>(connection: &mut Connection, cutter: &C) -> Result<Option<Vec<u8>>, Ended> {
    let Some(token) = asked_for(connection.options.token.as_deref()).map(str::to_owned) else { return Ok(None) };
    let mut begun = Vec::new();
    // The line or record is read only up to a length that the token can have.
    while begun.len() <= token.len() + 8 {
        if let Some((given, rest)) = cutter.token(&begun) {
            return if token::is(given, &token) { Ok(Some(rest.to_vec())) } else { break_off() };
        }
        match connection.piece(Some(token::WITHIN)).await {
            Some(piece) => begun.extend(piece),
            None => return break_off(),
        }
    }
    match cutter.token(&begun) {
        Some((given, rest)) if token::is(given, &token) => Ok(Some(rest.to_vec())),
        _ => break_off(),
    }
}

fn break_off<T>() -> Result<T, Ended> {
    Err(Ended::Wrong("the token is missing or wrong".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::watch;

    /// The next answer would follow a part of this one, and together they would be a larger number.
    #[test]
    fn a_sender_that_does_not_read_an_answer_gets_no_further_one() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let _sender = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let (_open, closed) = watch::channel(false);
            let options = Options::default().acknowledge().write_within(Duration::from_millis(20));
            let mut connection = Connection { stream, options, closing: Closing::of(closed) };
            assert!(connection.say("100\n").await.is_ok());
            // More than buffers keep.
            assert!(matches!(connection.say(&"1".repeat(64 << 20)).await, Err(Ended::Unread)));
        });
    }
}
