//! A comparison of deployments.

/// Compares with the model, on rings of few slots and on queues, for streams of few lengths.
macro_rules! as_the_model {
    ($p:expr $(,)?) => {{
        let p = $p;
        for length in [0, 1, 2, 50] {
            let model = p.model_slots(0..length);
            for slots in [1, 2, 64] {
                let rings = Rings::new().ring(slots).workers(2);
                assert_eq!(rings.collect_slots((&p).from(source::ready(0..length))).unwrap(), model, "{slots} slots");
            }
            assert_eq!(Queues::new().collect_slots((&p).from(source::ready(0..length))).unwrap(), model, "queues");
        }
    }};
}

pub(crate) use as_the_model;
