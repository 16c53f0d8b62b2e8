//! Following a file that grows, moves and shrinks. At each wait of the reader the next step of a script runs, so every
//! test runs in a fixed order without real waits.

use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobRefExt, Rings, Runner};
use millstream_io::time::{Clock, VirtualClock};
use millstream_io::{Block, Blocks, Follow, NextFile, WholeBlocks};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use tempfile::{TempDir, tempdir};

type Step = Box<dyn FnOnce(&Path)>;

/// A clock whose sleep runs the next step of a script.
struct Script {
    log: PathBuf,
    steps: RefCell<VecDeque<Step>>,
    slept: Rc<RefCell<Vec<Duration>>>,
}

impl Clock for Script {
    fn now(&self) -> Duration {
        self.slept.borrow().iter().sum()
    }

    fn sleep(&self, time: Duration) {
        self.slept.borrow_mut().push(time);
        let step = self.steps.borrow_mut().pop_front().expect("it waits although it was stopped");
        step(&self.log);
    }
}

struct Stage {
    _directory: TempDir,
    log: PathBuf,
    slept: Rc<RefCell<Vec<Duration>>>,
}

impl Stage {
    fn set() -> Self {
        let directory = tempdir().unwrap();
        Stage { log: directory.path().join("log"), _directory: directory, slept: Rc::default() }
    }

    /// A follower. At its nth wait the nth step runs; the last step stops it too.
    fn follow(&self, steps: Vec<Step>) -> Follow<Script> {
        let stopper = Rc::new(RefCell::new(None::<millstream_io::FollowStopper>));
        let stop = stopper.clone();
        let mut steps: VecDeque<Step> = steps.into();
        let last = steps.pop_back().expect("a last step");
        steps.push_back(Box::new(move |log: &Path| {
            last(log);
            stop.borrow().as_ref().unwrap().stop();
        }));
        let script = Script { log: self.log.clone(), steps: RefCell::new(steps), slept: self.slept.clone() };
        let follow = Follow::by(script, &self.log);
        *stopper.borrow_mut() = Some(follow.stopper());
        follow
    }
}

/// All bytes, with a bar after each read.
fn all<C: Clock>(follow: Follow<C>) -> String {
    let all: Vec<String> = Blocks::new(follow).map(|block| String::from_utf8(block.to_vec()).unwrap()).collect();
    all.join("|")
}

fn step(step: impl FnOnce(&Path) + 'static) -> Step {
    Box::new(step)
}

fn append(text: &'static str) -> Step {
    step(move |log| add(log, text))
}

fn add(log: &Path, text: &str) {
    OpenOptions::new().append(true).create(true).open(log).unwrap().write_all(text.as_bytes()).unwrap();
}

fn rotate(log: &Path) {
    fs::rename(log, log.with_extension("1")).unwrap();
}

fn truncate(log: &Path) {
    OpenOptions::new().write(true).truncate(true).open(log).unwrap();
}

fn nothing() -> Step {
    step(|_| ())
}

#[test]
fn appended_bytes_are_read() {
    let stage = Stage::set();
    fs::write(&stage.log, "one\n").unwrap();
    let follow = stage.follow(vec![append("two\n"), nothing(), append("three\n")]);
    assert_eq!(all(follow.interval(Duration::from_secs(7))), "one\n|two\n|three\n");
    assert_eq!(*stage.slept.borrow(), [Duration::from_secs(7); 3]);
}

#[test]
fn a_file_that_is_not_there_yet_is_waited_for() {
    let stage = Stage::set();
    let follow = stage.follow(vec![nothing(), append("one\n"), append("two\n")]);
    assert_eq!(all(follow.from_end()), "one\n|two\n");
}

#[test]
fn from_the_end_leaves_out_what_is_there() {
    let stage = Stage::set();
    fs::write(&stage.log, "old\n").unwrap();
    let replace = step(|log| {
        rotate(log);
        add(log, "three\n");
    });
    let follow = stage.follow(vec![append("two\n"), replace, nothing()]);
    assert_eq!(all(follow.from_end()), "two\n|three\n", "and nothing of a later file");
}

#[test]
fn a_renamed_file_is_read_to_its_end_and_then_its_successor() {
    let stage = Stage::set();
    fs::write(&stage.log, "one\n").unwrap();
    let replace = step(|log| {
        add(log, "two\n");
        rotate(log);
        add(&log.with_extension("1"), "late\n");
        add(log, "three\n");
    });
    assert_eq!(all(stage.follow(vec![replace, append("four\n")])), "one\n|two\nlate\n|three\n|four\n");
}

#[test]
fn between_two_names_the_old_file_is_followed() {
    let stage = Stage::set();
    fs::write(&stage.log, "one\n").unwrap();
    let late = step(|log| add(&log.with_extension("1"), "late\n"));
    let follow = stage.follow(vec![step(rotate), late, append("two\n"), nothing()]);
    assert_eq!(all(follow), "one\n|late\n|two\n");
}

#[test]
fn a_truncated_file_is_read_from_its_beginning() {
    let stage = Stage::set();
    fs::write(&stage.log, "a long first line\n").unwrap();
    let again = step(|log| {
        truncate(log);
        add(log, "two\n");
    });
    assert_eq!(
        all(stage.follow(vec![again, append("three\n"), step(truncate), append("4\n")])),
        "a long first line\n|two\n|three\n|4\n"
    );
}

#[test]
fn bytes_that_are_there_at_the_stop_are_read() {
    let stage = Stage::set();
    fs::write(&stage.log, "one\n").unwrap();
    let all_at_once = step(|log| {
        add(log, "two\n");
        rotate(log);
        add(log, "three\n");
    });
    assert_eq!(all(stage.follow(vec![all_at_once])), "one\n|two\n|three\n");

    let truncated = step(|log| {
        truncate(log);
        add(log, "x");
    });
    assert_eq!(all(stage.follow(vec![truncated])), "three\n|x");
}

#[test]
fn a_writer_that_never_rests_does_not_hold_up_the_end() {
    let stage = Stage::set();
    fs::write(&stage.log, "12345678").unwrap();
    let mut follow = Follow::by(VirtualClock::default(), &stage.log);
    follow.stopper().stop();
    let (mut all, mut buffer) = (Vec::new(), [0; 3]);
    loop {
        let read = follow.read(&mut buffer).unwrap();
        all.extend_from_slice(&buffer[..read]);
        add(&stage.log, "more");
        if read == 0 {
            break;
        }
    }
    assert_eq!(all, b"12345678");
}

#[test]
fn only_regular_files_are_followed() {
    let directory = tempdir().unwrap();
    let mut blocks = Blocks::new(Follow::new(directory.path()));
    let failure = blocks.failure();
    assert!(blocks.next().is_none());
    let error = failure.take().unwrap().to_string();
    let expected = format!("{}: cannot open: only a regular file can be followed", directory.path().display());
    assert_eq!(error, expected);
}

#[test]
fn a_followed_file_is_a_source() {
    let directory = tempdir().unwrap();
    let log = directory.path().join("log");
    let follow = Follow::new(&log).interval(Duration::from_millis(1));
    let stopper = follow.stopper();
    let p = pipeline::<Block>().map(|block| block.to_vec());
    let sink = |all: &mut Vec<u8>, _, bytes: &Vec<u8>| all.extend(bytes);
    let run = Rings::new().start((&p).from(Blocks::new(follow)).to_fold(Vec::new(), sink)).unwrap();
    let mut expected = String::new();
    for n in 0..100 {
        let line = format!("line {n}\n");
        add(&log, &line);
        expected.push_str(&line);
    }
    stopper.stop();
    let (all, _) = run.wait().unwrap();
    assert_eq!(String::from_utf8(all).unwrap(), expected);
}

/// The file grows after its last read, and loses its name. The growth is unknown when the name is checked.
#[test]
fn bytes_between_the_last_read_and_a_rotation_are_read() {
    let stage = Stage::set();
    fs::write(&stage.log, "one\n").unwrap();
    let mut follow = Follow::new(&stage.log);
    let stopper = follow.stopper();
    let mut read = || {
        let mut buffer = [0; 64];
        let mut read = follow.read(&mut buffer);
        if read.as_ref().is_err_and(NextFile::is) {
            read = follow.read(&mut buffer);
        }
        String::from_utf8(buffer[..read.unwrap()].to_vec()).unwrap()
    };
    assert_eq!(read(), "one\n");
    add(&stage.log, "two\n");
    stopper.stop();
    // It is read up to its length at the stop. Later bytes are not read.
    assert_eq!(read(), "two\n");
    add(&stage.log, "three\n");
    rotate(&stage.log);
    fs::write(&stage.log, "new\n").unwrap();
    assert_eq!([read(), read(), read()], ["three\n", "new\n", ""]);
}

/// A writer was killed in the middle of a line, or the file was emptied there.
#[test]
fn a_line_ends_with_its_file_also_without_a_line_end() {
    let lines = |steps: Vec<Step>, even: bool| {
        let stage = Stage::set();
        fs::write(&stage.log, "one\ntw").unwrap();
        let blocks = WholeBlocks::lines(stage.follow(steps));
        let blocks: Vec<Block> = if even { blocks.even().collect() } else { blocks.collect() };
        let lines = blocks.iter().flat_map(|block| block.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec));
        lines.map(|line| String::from_utf8(line).unwrap()).collect::<Vec<_>>().join("|")
    };
    for even in [false, true] {
        let late = step(|log| {
            add(log, "o");
            rotate(log);
            add(log, "three\nfou");
        });
        assert_eq!(lines(vec![late, append("r\n")], even), "one\n|two|three\n|four\n");
        let emptied = step(|log| {
            truncate(log);
            add(log, "2\n3");
        });
        assert_eq!(lines(vec![emptied, nothing()], even), "one\n|tw|2\n|3");
        // Its rest comes while no file has the name.
        let rest = step(|log| add(&log.with_extension("1"), "o\n"));
        assert_eq!(lines(vec![step(rotate), rest, append("3\n"), nothing()], even), "one\n|two\n|3\n");
    }
}

/// As while the reader is stopped, or waits for a slow sink.
#[test]
fn files_that_had_the_name_only_between_two_looks_are_read() {
    let stage = Stage::set();
    fs::write(&stage.log, "one\n").unwrap();
    let thrice = |texts: [&'static str; 3]| {
        step(move |log| {
            // A copy of what was read is none of them, and neither are other names.
            fs::copy(log, log.with_extension("9")).unwrap();
            fs::copy(log, log.with_extension("bak")).unwrap();
            add(log, texts[0]);
            for text in &texts[1..] {
                for n in (1..8).rev() {
                    let _ = fs::rename(log.with_extension(n.to_string()), log.with_extension((n + 1).to_string()));
                }
                rotate(log);
                add(log, text);
            }
        })
    };
    let again = thrice(["five\n", "six\n", "seven\n"]);
    let follow = stage.follow(vec![thrice(["two\n", "three\n", "four\n"]), again, nothing()]);
    let places = follow.places();
    assert_eq!(all(follow), "one\n|two\n|three\n|four\n|five\n|six\n|seven\n");
    let offsets: Vec<u64> = [8, 9, 14, 24].map(|read| places.of(read).unwrap().offset).into();
    assert_eq!(offsets, [0, 1, 0, 0]);
}

#[test]
fn files_that_came_and_went_while_none_had_the_name_are_read() {
    let stage = Stage::set();
    let came = step(|log| {
        add(log, "one\n");
        rotate(log);
        add(log, "two\n");
    });
    assert_eq!(all(stage.follow(vec![nothing(), came, append("three\n")])), "one\n|two\n|three\n");
}

#[test]
fn files_that_had_the_name_before_a_stop_are_read() {
    let stage = Stage::set();
    fs::write(&stage.log, "one\n").unwrap();
    let twice = step(|log| {
        rotate(log);
        add(log, "two\n");
        fs::rename(log, log.with_extension("2")).unwrap();
        add(log, "three\n");
    });
    assert_eq!(all(stage.follow(vec![twice])), "one\n|two\n|three\n");
}
