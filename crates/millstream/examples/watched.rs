//! Pipelines to look at. Five have something that is to be found on their pages, and one is a shop under generated
//! traffic.
//!
//! `cargo run --release -p millstream --features page --example watched -- SCENE [ADDRESS [NUMBERS_A_SECOND]]` runs one
//! until it is killed, and shows it at `http://ADDRESS/`. The scenes are `slow`, `stuck`, `lost`, `sink`, `core` and
//! `shop`.

#![allow(clippy::print_stdout, reason = "an example prints its address")]

use millstream::exec::{Rings, Runner, source};
use millstream::io::Traffic;
use millstream::observe::{Page, Watch};
use millstream::prelude::*;
use std::error::Error;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// An order of the shop.
#[derive(Clone, Debug)]
struct Order {
    customer: u64,
    cents: u64,
}

/// An order that looks random, and is the same in every run.
fn order(number: &u64) -> Order {
    let hash =
        number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    Order { customer: hash >> 40, cents: hash % 100_000 }
}

fn nap(us: u64) {
    sleep(Duration::from_micros(us));
}

/// Takes some microseconds of a core.
fn work(rounds: u64, x: u64) -> u64 {
    (0..rounds).fold(x, |x, round| (x ^ round).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31))
}

fn is_known(order: &Order) -> Result<Order, &'static str> {
    if order.customer.is_multiple_of(20) { Err("this customer is unknown") } else { Ok(order.clone()) }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let scene = args.next().unwrap_or_else(|| "shop".to_owned());
    let address = args.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let rate = args.next().map(|rate| rate.parse()).transpose()?;
    let rings = Rings::new().workers(1).ring(256).batch(16);
    let prices = pipeline::<u64>().map(order).named("parse").map(|order| order.cents).named("price");
    match &*scene {
        // A service that is called for every order, one after the other.
        "slow" => {
            let p = prices
                .map_blocking(|cents| {
                    nap(3000);
                    *cents
                })
                .named("tax-service")
                .map(|cents| cents / 100);
            show(&p.named("rounded"), &rings, &address, 0, rate.unwrap_or(2000))
        }
        // A service that stops answering.
        "stuck" => {
            let lookup = |cents: &u64| {
                while *cents == order(&1000).cents {
                    sleep(Duration::from_secs(1));
                }
                *cents
            };
            let p = prices.map_blocking(lookup).named("lookup").map(|cents| cents / 100).named("rounded");
            show(&p, &rings, &address, 0, rate.unwrap_or(500))
        }
        // Orders that fail a check, and orders that a filter leaves out.
        "lost" => {
            let p = pipeline::<u64>().map(order).named("parse").try_map_or_dead_letter("check", is_known, |_| ());
            let p = p.map(|order| order.cents).named("price").filter(|cents| *cents > 50_000).named("large");
            show(&p, &rings, &address, 0, rate.unwrap_or(5000))
        }
        // A disk that is slower than the pipeline.
        "sink" => show(&prices.map(|cents| cents / 100).named("rounded"), &rings, &address, 2000, rate.unwrap_or(2000)),
        // More work than one core can do in time.
        "core" => {
            let p = prices.map(|cents| work(60_000, *cents)).named("sign").map(|x| work(40_000, *x)).named("encrypt");
            show(&p, &rings, &address, 0, rate.unwrap_or(100_000))
        }
        "shop" => {
            let p = pipeline::<u64>().map(order).named("parse").try_map_or_dead_letter("check", is_known, |_| ());
            let journal = |order: &Order| {
                nap(200);
                order.customer
            };
            let price = |order: &Order| work(20_000, order.cents);
            let p =
                p.fanout(|p| p.map_blocking(journal).named("journal"), |p| p.shard(3, |p| p.map(price).named("price")));
            let p = p.map(|(a, b)| a ^ b).named("receipt");
            show(&p, &Rings::new().ring(1024).batch(16), &address, 0, rate.unwrap_or(2000))
        }
        _ => Err(format!("there is no scene `{scene}`: there are slow, stuck, lost, sink, core and shop").into()),
    }
}

/// Runs a pipeline, and shows it. Its sink takes `sink_us` microseconds a number, and `rate` numbers a second arrive.
fn show<P>(p: &P, rings: &Rings, address: &str, sink_us: u64, rate: u64) -> Result<(), Box<dyn Error>>
where
    P: RunsOn<Rings, Item = u64> + Arrow<In = Val<u64>>,
{
    let sink = move |(): &mut (), _, _: <P::Out as Shape>::Ref<'_>| {
        if sink_us > 0 {
            nap(sink_us)
        }
    };
    let (sender, receiver) = source::channel(1024);
    let run = rings.start(p.from(receiver).to_fold((), sink))?;
    let page = Page::open(address)?;
    page.show(Arc::new(Watch::attach(run.observer())?));
    println!("http://{}/", page.address());
    traffic(&sender, rate);
    run.wait()?;
    Ok(())
}

/// Sends `rate` numbers a second, those that are due fifty times a second. A slower pipeline holds it back.
fn traffic(sender: &Sender<u64>, rate: u64) {
    for event in Traffic::new(0).rate(rate).burst((rate / 50).max(1)).arrivals() {
        if sender.send(event.number).is_err() {
            return;
        }
    }
}
