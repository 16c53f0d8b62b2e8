//! Random operations against simple oracles; every value is dropped once, and neither sooner nor later than it should
//! be.

use crate::support::{composite, groups, keyed, lanes, moving, one_ring};
use millstream_core::{Dense, Sparse};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};

proptest! {
    #[test]
    fn one_ring_is_a_queue_that_every_reader_sees(
        log in 0_u32..7, readers in 0_usize..5, ops in vec(any::<[u8; 3]>(), 0..300), last in any::<u8>(),
    ) {
        one_ring::run::<Dense>(1 << log, readers, &ops, last);
        one_ring::run::<Sparse>(1 << log, readers, &ops, last);
    }

    #[test]
    fn composite_readers_join_by_number(
        shape in 0_u8..5, logs in [0_u32..7, 0..7, 0..7], length in 0_u64..90, ops in vec(any::<[u8; 3]>(), 0..300),
    ) {
        composite::run(shape, logs.map(|log| 1 << log), length, &ops);
    }

    #[test]
    fn a_group_fills_the_numbers_it_reads(
        k in 1_usize..6, logs in [0_u32..7, 0..7], start in 0_u64..5,
        ops in vec(any::<[u8; 3]>(), 0..300), last in any::<u8>(),
    ) {
        groups::run(k, logs.map(|log| 1 << log), start, &ops, last);
    }

    #[test]
    fn keyed_writers_fill_the_numbers_of_their_lanes(
        k in 1_usize..6, logs in [0_u32..7, 0..7], start in 0_u64..5,
        ops in vec(any::<[u8; 3]>(), 0..300), last in any::<u8>(),
    ) {
        keyed::run(k, logs.map(|log| 1 << log), start, &ops, last);
    }

    #[test]
    fn two_lanes_fill_one_ring(
        logs in [0_u32..7, 0..7], start in 0_u64..5, ops in vec(any::<[u8; 3]>(), 0..300), last in any::<u8>(),
    ) {
        lanes::run(logs.map(|log| 1 << log), start, &ops, last);
    }

    #[test]
    fn sent_values_are_taken_once_and_in_order(
        log in 0_u32..6, ops in vec(any::<[u8; 3]>(), 0..300), receiver_first in any::<bool>(),
    ) {
        moving::run(1 << log, &ops, receiver_first);
    }

    #[test]
    fn values_of_several_senders_are_taken_once_and_in_order(
        log in 0_u32..6, senders in 1_usize..5, ops in vec(any::<[u8; 3]>(), 0..300),
    ) {
        moving::run_shared(1 << log, senders, &ops);
    }
}
