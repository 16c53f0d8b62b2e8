//! Rings that are filled only at END.

use super::none_left;
use crate::support::{Counted, Tally};
use millstream_core::keys::KeySlot;
use millstream_core::{AtEnd, Density, Sparse};
use millstream_ring::{Last, keyed_writers, ring, run_writers};

#[test]
fn an_edge_that_is_filled_at_end_alone_stores_no_slot() {
    // More slots than fit in memory: none of them is stored.
    let (mut producer, input) = ring::<Counted, AtEnd>(1 << 60).unwrap();
    let tally = Tally::default();
    let empty = || Last::of::<Counted, AtEnd>(None);
    let (mut key_slots, keys) = ring::<KeySlot, Sparse>(64).unwrap();
    let mut reader = input.fork();
    let (mut claiming, mut grouped) = run_writers::<_, Counted, AtEnd>(input.fork(), 2, 1 << 60).unwrap();
    let (mut keyed, mut of_keyed) = keyed_writers::<_, Counted, AtEnd>(input, keys, 2, 64).unwrap();
    let pack = |value: Option<&Counted>| <AtEnd as Density>::pack::<Counted>(value.map(|_| unreachable!()));
    assert_eq!(producer.fill(40, |_| pack(None)), Ok(40));
    assert_eq!(key_slots.fill(40, |n| Some(KeySlot { place: 0, lane: n as u16 % 2, fresh: false })), Ok(40));
    assert!(reader.batch(99).unwrap().iter().all(|slot| slot.is_none()));
    assert_eq!(claiming.iter_mut().map(|writer| writer.fill(99, pack)).sum::<usize>(), 30);
    while claiming[0].fill(99, pack) > 0 {}
    assert!(keyed.iter_mut().all(|writer| writer.fill(99, |_, value, _| pack(value)) == 40));

    // END's value is lent to all readers, and dropped with the ring.
    let last = |number| Some(Last::of::<Counted, AtEnd>(Some(tally.value(number))));
    assert!(producer.try_end_with(last(7)).is_ok());
    assert!(key_slots.try_end(Some(None)).is_ok());
    assert_eq!(reader.end().unwrap().value().map(|value| value.number), Some(7));
    let times = |n| move |value: &Counted| value.number * n;
    assert!(claiming[1].end_with(|value| last(value.map(times(2)).unwrap())));
    assert!(keyed.iter_mut().all(|writer| writer.end_with(|_, value, _| last(value.map(times(3)).unwrap()))));
    drop((producer, reader, claiming, keyed));
    for (output, number) in [(&mut grouped, 14), (&mut of_keyed, 21)] {
        while let Some(batch) = output.batch(99) {
            assert!(batch.iter().all(|slot| slot.is_none()));
        }
        let end = output.end().unwrap();
        assert_eq!((end.number().0, end.value().map(|value| value.number)), (40, Some(number)));
    }
    drop((grouped, of_keyed));
    none_left(&tally);

    // An END that holds nothing, and one that is a slot like the others.
    for last in [None, Some(empty()), Some(pack(None).into())] {
        let (mut producer, mut reader) = ring::<Counted, AtEnd>(1).unwrap();
        assert!(producer.try_end_with(last).is_ok());
        assert!(reader.end().unwrap().value().is_none());
    }
}
