//! Groups of run writers under loom: their readers, their input and END.
//!
//! Loom remembers only the last access to an atomic. A thread that reads an atomic and then writes it hides an earlier
//! read by another thread, and the order of these two is not tried. A writer accesses `taken` in this way. The writers
//! therefore come first here, on the main thread and then on others, and the thread that observes them is spawned last.

use super::{Alive, Value, boxed, end, look, passes_what_it_has_copied, plain, publish, read, try_publish};
use loom::thread::spawn;
use millstream_core::{Dense, Sparse, Val};
use millstream_ring::{RunWriter, ring, run_writers};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Fills the published numbers, and claims END if none is left.
fn work<T: Send + Sync + 'static, S: Send + Sync + 'static>(
    writer: &mut RunWriter<Val<T>, S>,
    times: usize,
    make: impl Fn(&T) -> S,
) {
    for _ in 0..times {
        if writer.fill(1, |value| make(value.unwrap())) == 0 {
            writer.end(|_| None);
        }
    }
}

#[test]
fn a_group_of_two_and_its_reader() {
    loom::model(|| {
        let (mut producer, input) = ring::<u64, Dense>(2).unwrap();
        let (mut writers, mut output) = run_writers::<_, u64, Dense>(input, 2, 2).unwrap();
        (0..2).for_each(|_| publish(&mut producer, |n| n));
        let (mut b, mut a) = (writers.pop().unwrap(), writers.pop().unwrap());
        let one = spawn(move || work(&mut a, 1, |n| *n));
        let reading = spawn(move || {
            look(&mut output, 1, plain);
            output
        });
        work(&mut b, 1, |n| *n);
        one.join().unwrap();
        read(&mut reading.join().unwrap(), 2, plain);
    });
}

#[test]
fn a_group_claims_end_once() {
    loom::model(|| {
        let (mut producer, input) = ring::<u64, Dense>(1).unwrap();
        let (mut writers, mut output) = run_writers::<_, u64, Sparse>(input, 2, 2).unwrap();
        end(&mut producer);
        let (mut b, mut a) = (writers.pop().unwrap(), writers.pop().unwrap());
        let one = spawn(move || a.end(|_| Some(Some(7))));
        let reading = spawn(move || {
            if let Some(end) = output.end() {
                assert_eq!(end.value(), Some(&7));
                end.keep();
            }
            output
        });
        assert!(b.end(|_| Some(Some(7))));
        assert!(one.join().unwrap());
        assert_eq!(reading.join().unwrap().end().unwrap().value(), Some(&7));
    });
}

#[test]
fn a_group_of_two_releases_its_input() {
    loom::model(|| {
        let alive = Alive::new();
        let more = alive.clone();
        let (mut producer, input) = ring::<Value, Dense>(2).unwrap();
        let (mut writers, mut output) = run_writers::<_, u64, Dense>(input, 2, 4).unwrap();
        (0..2).for_each(|_| publish(&mut producer, |n| alive.value(n)));
        let (mut b, mut a) = (writers.pop().unwrap(), writers.pop().unwrap());
        let one = spawn(move || work(&mut a, 1, boxed));
        let publishing = spawn(move || {
            try_publish(&mut producer, |n| more.value(n));
            producer
        });
        work(&mut b, 1, boxed);
        one.join().unwrap();
        let mut producer = publishing.join().unwrap();
        assert!(producer.free() > 0);
        read(&mut output, 2, plain);
        drop((producer, output, b));
        alive.none();
    });
}

#[test]
fn a_group_may_seem_to_step_back() {
    loom::model(|| {
        let (mut producer, input) = ring::<u64, Dense>(2).unwrap();
        let (mut writers, mut output) = run_writers::<_, u64, Dense>(input, 2, 2).unwrap();
        (0..2).for_each(|_| publish(&mut producer, |n| n));
        let (mut b, mut a) = (writers.pop().unwrap(), writers.pop().unwrap());
        let one = spawn(move || work(&mut a, 1, |n| *n));
        let gating = spawn(move || (producer.free(), producer.free()));
        work(&mut b, 1, |n| *n);
        let (before, after) = gating.join().unwrap();
        assert!(before <= after);
        one.join().unwrap();
        read(&mut output, 2, plain);
    });
}

#[test]
fn a_groups_output_of_one_slot() {
    loom::model(|| {
        let (mut producer, input) = ring::<u64, Dense>(2).unwrap();
        let (mut writers, mut output) = run_writers::<_, u64, Dense>(input, 2, 1).unwrap();
        (0..2).for_each(|_| publish(&mut producer, |n| n));
        let (mut b, mut a) = (writers.pop().unwrap(), writers.pop().unwrap());
        let one = spawn(move || {
            work(&mut a, 1, |n| *n);
            a
        });
        let reading = spawn(move || {
            look(&mut output, 1, plain);
            output
        });
        work(&mut b, 1, |n| *n);
        let (mut a, mut output) = (one.join().unwrap(), reading.join().unwrap());
        while output.position().0 < 2 {
            look(&mut output, 1, plain);
            work(&mut a, 1, |n| *n);
        }
    });
}

#[test]
fn a_groups_values_are_dropped_once() {
    loom::model(|| {
        let alive = Alive::new();
        let made = alive.clone();
        let (mut producer, input) = ring::<u64, Dense>(2).unwrap();
        let (mut writers, mut output) = run_writers::<_, Value, Dense>(input, 2, 1).unwrap();
        (0..2).for_each(|_| publish(&mut producer, |n| n));
        let (mut b, mut a) = (writers.pop().unwrap(), writers.pop().unwrap());
        work(&mut b, 1, |n| alive.value(*n));
        let one = spawn(move || work(&mut a, 1, |n| made.value(*n)));
        let reading = spawn(move || look(&mut output, 1, boxed));
        b.sweep();
        b.sweep();
        one.join().unwrap();
        reading.join().unwrap();
        drop(b);
        alive.none();
    });
}

#[test]
fn a_run_writer_continues_with_its_next_run() {
    loom::model(|| {
        let (mut producer, input) = ring::<u64, Dense>(2).unwrap();
        let (mut writers, mut output) = run_writers::<_, u64, Dense>(input, 1, 2).unwrap();
        (0..2).for_each(|_| publish(&mut producer, |n| n));
        let mut writer = writers.pop().unwrap();
        let reading = spawn(move || look(&mut output, 2, plain));
        work(&mut writer, 2, |n| *n);
        reading.join().unwrap();
    });
}

#[test]
fn dropped_run_writers_have_finished_reading() {
    loom::model(|| {
        let (mut producer, input) = ring::<u64, Dense>(1).unwrap();
        let (mut writers, output) = run_writers::<_, u64, Dense>(input, 1, 1).unwrap();
        publish(&mut producer, |n| n);
        let mut writer = writers.pop().unwrap();
        let working = spawn(move || {
            let broken = catch_unwind(AssertUnwindSafe(|| writer.fill(1, |n| resume_unwind(Box::new(*n.unwrap())))));
            assert!(broken.is_err());
        });
        try_publish(&mut producer, |n| n);
        try_publish(&mut producer, |n| n);
        working.join().unwrap();
        drop(output);
    });
}

#[test]
fn a_panic_after_a_claim_leaves_a_gap() {
    loom::model(|| {
        let (mut producer, input) = ring::<u64, Dense>(2).unwrap();
        let (mut writers, mut output) = run_writers::<_, Box<u64>, Dense>(input, 2, 2).unwrap();
        (0..2).for_each(|_| publish(&mut producer, |n| n));
        let (mut b, mut a) = (writers.pop().unwrap(), writers.pop().unwrap());
        /// Fills number 0 or 1; the panic of a writer that was overtaken breaks it.
        fn fill(writer: &mut RunWriter<Val<u64>, Box<u64>>) {
            let overtaken = || resume_unwind(Box::new(()));
            let filled =
                catch_unwind(AssertUnwindSafe(|| writer.fill_or_tell(1, overtaken, |value| Box::new(*value.unwrap()))));
            assert_eq!(filled.is_err(), writer.abandoned_at().is_some());
        }
        let one = spawn(move || {
            fill(&mut a);
            a
        });
        fill(&mut b);
        let a = one.join().unwrap();
        let gap = [&a, &b].into_iter().filter_map(|writer| writer.abandoned_at()).min();
        let shown = gap.map_or(2, |n| n.0);
        read(&mut output, shown, |value| **value);
        assert!(output.batch(1).is_none());
    });
}

#[test]
fn a_mark_that_a_writer_of_runs_passes_is_on_its_output() {
    loom::model(|| {
        let (producer, reader) = ring::<u64, Dense>(2).unwrap();
        let (mut writers, mut output) = run_writers::<_, u64, Dense>(reader, 1, 2).unwrap();
        passes_what_it_has_copied(producer, || writers[0].pass_mark(), &mut output);
    });
}
