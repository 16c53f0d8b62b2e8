//! An order book: several gateways send orders, one book matches them in one order, and that order can be replayed.
//!
//! Gateways are producers with a ring each, so none of them waits for another. In which order their orders meet the
//! book is decided on arrival; the record of those decisions, two bytes for a run of orders, replays every trade
//! exactly.
//!
//! `cargo run --release -p millstream --example order_book [ORDERS]` is a load test with this many orders from three
//! gateways.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use millstream::core::SplitMix64;
use millstream::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

const GATEWAYS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Buy,
    Sell,
}

/// A quantity, at this price or a better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Order {
    side: Side,
    price: u32,
    quantity: u32,
}

/// An agreement of an order and one that waited for it. An order's id is its number in the merged stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trade {
    waited: u64,
    came: u64,
    price: u32,
    quantity: u32,
}

/// Orders that wait: at each price, the oldest first.
#[derive(Clone, Debug, Default)]
struct Book {
    next: u64,
    buys: BTreeMap<u32, VecDeque<(u64, u32)>>,
    sells: BTreeMap<u32, VecDeque<(u64, u32)>>,
}

impl Book {
    /// Matches an order with those that wait, best price first; its remaining quantity waits.
    fn take(&mut self, order: &Order) -> Vec<Trade> {
        let (came, mut left, mut trades) = (self.next, order.quantity, Vec::new());
        self.next += 1;
        while left > 0 {
            let best = match order.side {
                Side::Buy => self.sells.first_entry().filter(|best| *best.key() <= order.price),
                Side::Sell => self.buys.last_entry().filter(|best| *best.key() >= order.price),
            };
            let Some(mut best) = best else { break };
            let price = *best.key();
            if let Some((waited, rest)) = best.get_mut().front_mut() {
                let quantity = left.min(*rest);
                (left, *rest) = (left - quantity, *rest - quantity);
                trades.push(Trade { waited: *waited, came, price, quantity });
                if *rest == 0 {
                    best.get_mut().pop_front();
                }
            }
            if best.get().is_empty() {
                best.remove();
            }
        }
        if left > 0 {
            let waiting = if order.side == Side::Buy { &mut self.buys } else { &mut self.sells };
            waiting.entry(order.price).or_default().push_back((came, left));
        }
        trades
    }
}

fn exchange() -> impl Pipeline<Order, Trade> {
    pipeline::<Order>().scan(Book::default(), Book::take).named("book").flatten().named("trades")
}

/// A gateway's orders, around a price of 1000, from a seed.
fn orders(gateway: u32, count: u64) -> impl Iterator<Item = Order> + Send {
    let mut random = SplitMix64::new(u64::from(gateway));
    (0..count).map(move |_| {
        let drawn = random.draw();
        let side = if drawn & 1 == 0 { Side::Buy } else { Side::Sell };
        Order { side, price: 990 + (drawn >> 8) as u32 % 21, quantity: 1 + (drawn >> 40) as u32 % 100 }
    })
}

/// Runs all gateways. Returns the trades in order, and the choices of arrival.
fn run(rings: &Rings, fan_in: FanIn<Order>, count: u64) -> Result<(Vec<Trade>, MergeLog), RunError> {
    let choices = Arc::new(Mutex::new(MergeLog::default()));
    let kept = choices.clone();
    let fan_in = fan_in.record(move |gateway, orders| lock(&kept).push(gateway, orders));
    let (senders, poller) = fan_in.open(rings)?;
    let run = rings.start(exchange().from(poller).to_fold(Vec::new(), |trades, _, trade| trades.push(*trade)))?;
    for (gateway, sender) in (0..).zip(senders) {
        std::thread::spawn(move || sender.send_all(orders(gateway, count)));
    }
    let (trades, _) = run.wait()?;
    let choices = lock(&choices).clone();
    Ok((trades, choices))
}

fn lock(choices: &Mutex<MergeLog>) -> MutexGuard<'_, MergeLog> {
    choices.lock().unwrap_or_else(PoisonError::into_inner)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: u64 = std::env::args().nth(1).map_or(Ok(3_000_000), |orders| orders.parse())?;
    let started = Instant::now();
    let (trades, choices) = run(&Rings::new(), fan_in(GATEWAYS as usize), count / u64::from(GATEWAYS))?;
    let (seconds, orders) = (started.elapsed().as_secs_f64(), choices.values());
    let bytes = choices.to_bytes().len();
    println!("{orders} orders, {} trades, {:.0} orders/s", trades.len(), orders as f64 / seconds);
    println!("the record of arrival: {bytes} bytes, {:.4} an order", bytes as f64 / orders as f64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u64 = 2000;

    /// The trades of the orders in their recorded order, from lists: no threads, no rings.
    fn from_lists(choices: &MergeLog) -> Vec<Trade> {
        let mut gateways: Vec<_> = (0..GATEWAYS).map(|gateway| orders(gateway, COUNT)).collect();
        let mut book = Book::default();
        let taken = choices.iter().flat_map(|(gateway, orders)| std::iter::repeat_n(gateway as usize, orders as usize));
        taken.filter_map(|gateway| gateways[gateway].next()).flat_map(|order| book.take(&order)).collect()
    }

    #[test]
    fn a_replay_makes_the_same_trades() {
        let (trades, choices) = run(&Rings::new(), fan_in(3).turn(64), COUNT).unwrap();
        assert_eq!(choices.values(), 3 * COUNT);
        assert_eq!(trades, from_lists(&choices));
        for slots in [16, 64, 4096] {
            let again = run(&Rings::new().ring(slots).batch(3), fan_in(3).replay(choices.clone()), COUNT).unwrap();
            assert_eq!(again, (trades.clone(), choices.clone()));
        }
    }

    #[test]
    fn a_better_price_goes_first_and_then_the_older_order() {
        let order = |side, price, quantity| Order { side, price, quantity };
        let mut book = Book::default();
        for price in [11, 10, 10] {
            assert_eq!(book.take(&order(Side::Sell, price, 5)), []);
        }
        let trade = |waited, price, quantity| Trade { waited, came: 3, price, quantity };
        assert_eq!(book.take(&order(Side::Buy, 11, 12)), [trade(1, 10, 5), trade(2, 10, 5), trade(0, 11, 2)]);
        assert_eq!((book.sells[&11].len(), book.buys.len()), (1, 0));
    }
}
