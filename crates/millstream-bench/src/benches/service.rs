//! Requests and answers: four clients, each with some open requests, and one order book. The rival does without a
//! library: one thread owns the book and reads a `sync_channel`, and each client has a channel for its answers. Beside
//! them is a book behind a `Mutex`, whose clients take their orders to it themselves: there is no message. Case `wait`
//! is the time of one request when it is the only one. Case `journal` is the same book with its requests in a journal.

mod durable;

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::latency::{Quantile, Waiter, compare};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::core::SplitMix64;
use millstream::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};
use std::time::Instant;

const CLIENTS: u64 = 4;
/// Slots of the rival's channels. More or fewer make it slower.
const SLOTS: usize = 4096;
const WAITS: [Quantile; 2] = [Quantile { case: "wait-p50", of: 0.5 }, Quantile { case: "wait-p99", of: 0.99 }];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(800_000, 200_000) / CLIENTS * CLIENTS;
    let windows = [("window64", 64), ("window4096", 4096)];
    let speeds = windows.into_iter().map(|(case, window)| {
        let contestants = vec![
            Contestant::new("ours", ids(n), || ours(&setting.rings, n, window)),
            Contestant::new("channel", ids(n), || channel(n, window)),
            Contestant::new("mutex", ids(n), || mutex(n)),
        ];
        let work = Work { case, unit: Unit::ItemsPerSecond, size: n, goes: 3 };
        let speeds = take_turns(setting, work, contestants)?;
        let ratios = [speeds.ratio("channel", Some(1.0)), speeds.ratio("mutex", None)];
        Ok(speeds.results(ratios))
    });
    let speeds = speeds.collect::<Result<Vec<_>, Failure>>()?;
    let n = setting.items(20_000, 5_000);
    let waiters = vec![
        Waiter::new("ours", || our_waits(&setting.rings, n)),
        Waiter::new("channel", || channel_waits(n)),
        Waiter::new("mutex", || mutex_waits(n)),
    ];
    let mut waits = compare(setting, &WAITS, waiters)?;
    for ratio in waits.ratios.iter_mut().filter(|ratio| ratio.case == "wait-p50" && ratio.who == "channel") {
        ratio.bound = Some(1.0);
    }
    Ok(Results::joined(speeds.into_iter().chain([waits, durable::run(setting)?])))
}

/// A quantity, at this price or a better one.
#[derive(Clone, Copy, serde::Deserialize, serde::Serialize)]
struct Order {
    id: u64,
    buys: bool,
    price: u32,
    quantity: u32,
}

/// How much of an order was filled at once.
#[derive(Clone, Copy)]
struct Filled {
    id: u64,
    quantity: u32,
}

/// The quantities that wait at each price, the oldest first.
#[derive(Clone, Default, serde::Deserialize, serde::Serialize)]
struct Book {
    buys: BTreeMap<u32, VecDeque<u32>>,
    sells: BTreeMap<u32, VecDeque<u32>>,
}

impl Book {
    fn take(&mut self, order: &Order) -> Filled {
        let mut left = order.quantity;
        while left > 0 {
            let best = if order.buys {
                self.sells.first_entry().filter(|best| *best.key() <= order.price)
            } else {
                self.buys.last_entry().filter(|best| *best.key() >= order.price)
            };
            let Some(mut best) = best else { break };
            if let Some(rest) = best.get_mut().front_mut() {
                let quantity = left.min(*rest);
                (left, *rest) = (left - quantity, *rest - quantity);
                if *rest == 0 {
                    best.get_mut().pop_front();
                }
            }
            if best.get().is_empty() {
                best.remove();
            }
        }
        if left > 0 {
            let waiting = if order.buys { &mut self.buys } else { &mut self.sells };
            waiting.entry(order.price).or_default().push_back(left);
        }
        Filled { id: order.id, quantity: order.quantity - left }
    }
}

fn order(id: u64) -> Order {
    let drawn = SplitMix64::new(id).draw();
    let price = 990 + (drawn >> 8) as u32 % 21;
    Order { id, buys: drawn & 1 == 0, price, quantity: 1 + (drawn >> 40) as u32 % 100 }
}

/// The checksum. It is right only if every order is answered once, and by at most the quantity that it asks for.
fn ids(n: u64) -> u64 {
    (0..n).fold(0, u64::wrapping_add)
}

fn checked(sum: u64, answer: Filled) -> u64 {
    if answer.quantity > order(answer.id).quantity { u64::MAX } else { sum.wrapping_add(answer.id) }
}

/// The ids of one client's orders.
fn of_client(client: u64, n: u64) -> impl Iterator<Item = u64> {
    (0..n / CLIENTS).map(move |i| i * CLIENTS + client)
}

fn summed(clients: Vec<JoinHandle<Result<u64, Failure>>>) -> Result<u64, Failure> {
    clients
        .into_iter()
        .try_fold(0, |sum, client| Ok(u64::wrapping_add(sum, client.join().expect("it does not panic")?)))
}

fn ended<E>(_: E) -> Failure {
    Failure::Answer("service", 0)
}

fn exchange() -> Service<Order, Filled> {
    service(requests::<Order>().scan(Book::default(), Book::take))
}

fn ours(rings: &Rings, n: u64, window: usize) -> Result<u64, Failure> {
    let (client, run) = exchange().start_on(rings)?;
    let sum = asked(client, n, window)?;
    run.wait()?;
    Ok(sum)
}

/// All clients, each with this many open requests, until they have their answers.
fn asked(client: Client<Order, Filled>, n: u64, window: usize) -> Result<u64, Failure> {
    let clients = (0..CLIENTS).map(|of| {
        let client = client.clone();
        spawn(move || {
            let (mut sum, mut under_way) = (0, VecDeque::<Answer<Filled>>::with_capacity(window));
            for id in of_client(of, n) {
                if under_way.len() == window
                    && let Some(answer) = under_way.pop_front()
                {
                    sum = checked(sum, answer.wait().map_err(ended)?);
                }
                under_way.push_back(client.send(order(id)).map_err(ended)?);
            }
            under_way.into_iter().try_fold(sum, |sum, answer| Ok(checked(sum, answer.wait().map_err(ended)?)))
        })
    });
    let clients = clients.collect();
    drop(client);
    summed(clients)
}

/// One thread that owns the book, and channels.
fn channel(n: u64, window: usize) -> Result<u64, Failure> {
    let (requests, orders) = sync_channel::<(usize, Order)>(SLOTS);
    let (replies, answers): (Vec<_>, Vec<_>) = (0..CLIENTS).map(|_| sync_channel::<Filled>(SLOTS)).unzip();
    let book = spawn(move || {
        let mut book = Book::default();
        for (client, order) in orders {
            if replies[client].send(book.take(&order)).is_err() {
                break;
            }
        }
    });
    let clients = answers.into_iter().enumerate().map(|(of, answers)| {
        let requests = requests.clone();
        spawn(move || {
            let (mut sum, mut under_way) = (0, 0);
            for id in of_client(of as u64, n) {
                if under_way == window {
                    sum = checked(sum, answers.recv().map_err(ended)?);
                    under_way -= 1;
                }
                requests.send((of, order(id))).map_err(ended)?;
                under_way += 1;
            }
            (0..under_way).try_fold(sum, |sum, _| Ok(checked(sum, answers.recv().map_err(ended)?)))
        })
    });
    let clients = clients.collect();
    drop(requests);
    let sum = summed(clients)?;
    book.join().map_err(ended)?;
    Ok(sum)
}

/// A book that each client locks for each of its orders.
fn mutex(n: u64) -> Result<u64, Failure> {
    let book = Arc::new(Mutex::new(Book::default()));
    let clients = (0..CLIENTS).map(|of| {
        let book = book.clone();
        spawn(move || {
            of_client(of, n).try_fold(0, |sum, id| Ok(checked(sum, book.lock().map_err(ended)?.take(&order(id)))))
        })
    });
    summed(clients.collect())
}

/// The time of each call, one after the other.
fn timed(n: u64, mut call: impl FnMut(Order) -> Result<Filled, Failure>) -> Result<Vec<u64>, Failure> {
    let timed = |id| {
        let asked = Instant::now();
        let answer = call(order(id))?;
        let wait = asked.elapsed().as_nanos() as u64;
        if answer.id == id { Ok(wait) } else { Err(Failure::Answer("service", 1)) }
    };
    (0..n).map(timed).collect()
}

fn our_waits(rings: &Rings, n: u64) -> Result<Vec<u64>, Failure> {
    let (client, run) = exchange().start_on(rings)?;
    let waits = timed(n, |order| client.call_blocking(order).map_err(ended))?;
    drop(client);
    run.wait()?;
    Ok(waits)
}

fn mutex_waits(n: u64) -> Result<Vec<u64>, Failure> {
    let book = Mutex::new(Book::default());
    timed(n, |order| Ok(book.lock().map_err(ended)?.take(&order)))
}

fn channel_waits(n: u64) -> Result<Vec<u64>, Failure> {
    let (requests, orders) = sync_channel::<Order>(SLOTS);
    let (replies, answers) = sync_channel(SLOTS);
    let book = spawn(move || {
        let mut book = Book::default();
        orders.into_iter().all(|order| replies.send(book.take(&order)).is_ok())
    });
    let waits = timed(n, |order| {
        requests.send(order).map_err(ended)?;
        answers.recv().map_err(ended)
    })?;
    drop(requests);
    book.join().map_err(ended)?;
    Ok(waits)
}
