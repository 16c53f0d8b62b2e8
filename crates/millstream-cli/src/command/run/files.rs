//! The files that a run writes, by the numbers in its values.
//!
//! A value carries the numbers of its sinks. All texts of a run share one numbering, so a value of an earlier text
//! still finds its files. The files of the first text are emptied when the run has begun, and those that a new text
//! adds when it replaces the old one; or at the first value for them. If the run or the text is refused, they are
//! unchanged.

#[cfg(feature = "sqlite")]
use super::sink_file::SharedDatabase;
use super::sink_file::{SinkFile, file_of, is_url, table_of};
use crate::message::{cause, quoted};
use millstream_mill::Program;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The files of a run, which the sink writes and a change adds to.
#[derive(Clone, Default)]
pub(super) struct Files(Arc<Mutex<All>>);

/// All files, open or closed.
#[derive(Default)]
pub(super) struct All {
    /// Files by the number of a sink; `None` is standard output.
    sinks: Vec<Option<Arc<SinkFile>>>,
    /// Files by the number of dead letters; `None` is a message.
    dead: Vec<Option<Arc<SinkFile>>>,
    /// For each number of dead letters, the number that they go to now.
    dead_to: Vec<usize>,
    /// How many dead letters there were, by number.
    counts: Vec<u64>,
    /// Whether the next rows may take long to arrive.
    #[cfg(feature = "sqlite")]
    live: bool,
}

/// Files that are open for a text that has not begun.
#[derive(Default)]
pub(super) struct Opened {
    sinks: Vec<(usize, Option<Arc<SinkFile>>)>,
    dead: Vec<Option<Arc<SinkFile>>>,
    /// The files that did not exist before.
    made: Vec<String>,
    #[cfg(feature = "sqlite")]
    live: bool,
}

impl Files {
    pub(super) fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// If the next rows may take long to arrive, commits each block to a database at once.
    #[cfg(feature = "sqlite")]
    pub(super) fn are_live(&self, live: bool) {
        self.lock().live = live;
    }

    /// Opens the files of the first text. Each is emptied before its first row, or when the text [goes
    /// on](Files::go_on).
    ///
    /// # Errors
    ///
    /// Which file cannot be opened.
    pub(super) fn begin(&self, program: &Program) -> Result<(), String> {
        self.open(program).map(|opened| drop(self.add(opened)))
    }

    /// Opens the files that a text adds. Writes nothing yet. Holds no lock, since opening may take long.
    ///
    /// # Errors
    ///
    /// Which file cannot be opened. Nothing has changed then.
    pub(super) fn open(&self, next: &Program) -> Result<Opened, String> {
        let wanted = self.lock().wanted(next);
        let mut opened = Opened::default();
        #[cfg(feature = "sqlite")]
        {
            opened.live = self.lock().live;
        }
        for (number, name, known) in wanted.sinks {
            let sink = name.map(|name| opened.open(name, known)).transpose();
            opened.sinks.push((number, sink.map_err(|why| opened.undone(why))?));
        }
        for (name, known) in wanted.dead {
            let sink = name.map(|name| opened.open(name, known)).transpose();
            let sink = sink.map_err(|why| opened.undone(why))?;
            opened.dead.push(sink);
        }
        Ok(opened)
    }

    /// Adds files. No value has their numbers yet.
    pub(super) fn add(&self, opened: Opened) -> Added {
        let mut all = self.lock();
        let before = (all.sinks.len(), all.dead.len());
        let mut again = Vec::new();
        for (number, sink) in opened.sinks {
            match all.sinks.get_mut(number) {
                Some(closed) => {
                    again.extend(sink.clone());
                    *closed = sink;
                }
                None => all.sinks.push(sink),
            }
        }
        for sink in opened.dead {
            let number = all.dead.len();
            all.dead_to.push(number);
            all.counts.push(0);
            all.dead.push(sink);
        }
        Added { before, again, made: opened.made }
    }

    /// Removes the files that were added for a text that does not begin.
    pub(super) fn take_out(&self, Added { before: (sinks, dead), again, made }: Added) {
        let mut all = self.lock();
        all.sinks.truncate(sinks);
        all.dead_to.truncate(dead);
        all.counts.truncate(dead);
        all.dead.truncate(dead);
        drop(all);
        again.iter().for_each(|sink| sink.close());
        remove(&made);
    }

    /// The next text has replaced the one `before`: closes the files that the next one does not write.
    pub(super) fn go_on(&self, before: &Program, next: &Program) {
        let [[_, old], [sinks, dead]] = [before.writes(), next.writes()];
        let mut all = self.lock();
        for (was, is) in old.iter().zip(dead) {
            all.dead_to.iter_mut().filter(|to| **to == *was).for_each(|to| *to = *is);
        }
        let files = |numbers: &[usize], files: &[Option<Arc<SinkFile>>]| {
            let files = files.iter().enumerate();
            files.filter_map(|(n, file)| Some((numbers.contains(&n), file.clone()?))).collect::<Vec<_>>()
        };
        let files = [files(sinks, &all.sinks), files(dead, &all.dead)];
        // A write may be in progress, and its thread needs this lock afterwards.
        drop(all);
        for (is_written, file) in files.iter().flatten() {
            if *is_written { file.begin() } else { file.close() }
        }
    }
}

/// The outputs of a text that are not open: a file's name, and what the run knows about it.
struct Wanted {
    sinks: Vec<(usize, Option<String>, Known)>,
    dead: Vec<(Option<String>, Known)>,
}

/// The run's record of a file.
enum Known {
    No,
    /// The run has written the file before.
    Closed,
    Open(Arc<SinkFile>),
}

impl All {
    fn known(&self, name: Option<&String>) -> Known {
        let is_it = |sink: &&Arc<SinkFile>| name.is_some_and(|name| is_one_file(sink.name(), name));
        let of_name = || self.sinks.iter().chain(&self.dead).flatten().filter(is_it);
        match of_name().find(|sink| sink.is_open()) {
            Some(sink) => Known::Open(sink.clone()),
            None if of_name().next().is_some() => Known::Closed,
            None => Known::No,
        }
    }

    fn wanted(&self, next: &Program) -> Wanted {
        let [sinks, _] = next.writes();
        let is_open = |number: usize| match self.sinks.get(number) {
            Some(Some(sink)) => sink.is_open(),
            Some(None) => true,
            None => false,
        };
        let sinks = sinks.iter().copied().filter(|number| !is_open(*number)).map(|number| {
            let name = next.sinks[number].file.clone();
            let known = self.known(name.as_ref());
            (number, name, known)
        });
        let dead = next.dead[self.dead.len()..].iter().map(|name| (name.clone(), self.known(name.as_ref())));
        Wanted { sinks: sinks.collect(), dead: dead.collect() }
    }

    /// The file of a sink; `None` for standard output.
    pub(super) fn sink(&self, number: usize) -> Option<Arc<SinkFile>> {
        self.sinks[number].clone()
    }

    /// Counts a dead letter. Returns its file, and the count.
    pub(super) fn dead(&mut self, number: usize) -> (Option<Arc<SinkFile>>, u64) {
        let number = self.dead_to[number];
        self.counts[number] += 1;
        (self.dead[number].clone(), self.counts[number])
    }

    /// All files of sinks and of dead letters, also those that are closed.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<SinkFile>> {
        self.sinks.iter().chain(&self.dead).flatten()
    }

    /// Whether a sink can still be written, with standard output or without.
    pub(super) fn any_works(&self, with_output: bool) -> bool {
        self.sinks.iter().any(|sink| sink.as_ref().map_or(with_output, |sink| sink.is_open() && !sink.has_failed()))
    }

    /// Whether sinks write files.
    pub(super) fn has_files(&self) -> bool {
        self.sinks.iter().flatten().any(|sink| sink.is_open())
    }

    /// All sinks that are open.
    #[cfg(feature = "sqlite")]
    pub(super) fn open_sinks(&self) -> Vec<Arc<SinkFile>> {
        self.sinks.iter().flatten().cloned().collect()
    }

    /// How many dead letters went to each file, or to messages.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u64, Option<&str>)> {
        self.counts.iter().copied().zip(self.dead.iter().map(|sink| sink.as_ref().map(|sink| sink.name())))
    }

    /// The names of the sinks and of the files for dead letters that are open.
    #[cfg(feature = "page")]
    pub(super) fn names(&self) -> Vec<String> {
        let open = self.sinks.iter().chain(&self.dead).flatten().filter(|sink| sink.is_open());
        open.map(|sink| file_of(sink.name()).to_owned()).collect()
    }
}

/// The files that were added for a text.
pub(super) struct Added {
    /// The numbers of sinks and of files for dead letters before.
    before: (usize, usize),
    /// The files of sinks that were closed before.
    again: Vec<Arc<SinkFile>>,
    made: Vec<String>,
}

impl Opened {
    fn open(&mut self, name: String, known: Known) -> Result<Arc<SinkFile>, String> {
        if is_url(&name) {
            return SinkFile::posting(name);
        }
        #[cfg(feature = "sqlite")]
        if let Some((file, _)) = table_of(&name) {
            let there = match &known {
                Known::Open(sink) => sink.database(),
                _ => self.of_name(&name).and_then(|sink| sink.database()),
            };
            let database = match there {
                Some(there) => there,
                None => self.database(file)?,
            };
            return Ok(SinkFile::table(name, database, self.live));
        }
        // Sources that share a file take turns, and each appends.
        let shared = match &known {
            Known::Open(sink) => sink.try_clone(),
            _ => self.of_name(&name).and_then(|sink| sink.try_clone()),
        };
        let (file, is_old) = match (known, shared) {
            (_, Some(file)) => (file, false),
            (Known::Open(_) | Known::Closed, None) => (File::options().append(true).create(true).open(&name), false),
            (Known::No, None) => match File::options().write(true).create_new(true).open(&name) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    (File::options().write(true).create(true).truncate(false).open(&name), true)
                }
                file => {
                    self.made.extend(file.is_ok().then(|| name.clone()));
                    (file, false)
                }
            },
        };
        let file = file.map_err(|error| format!("{}: {}", quoted(name.as_ref()), cause(&error)))?;
        Ok(SinkFile::new(name, file, is_old))
    }

    /// Opens a database that is not open.
    #[cfg(feature = "sqlite")]
    fn database(&mut self, file: &str) -> Result<SharedDatabase, String> {
        let is_new = fs::symlink_metadata(file).is_err();
        let database = super::sqlite::Database::open(file);
        let database = database.map_err(|error| format!("{}: {}", quoted(file.as_ref()), cause(&error)))?;
        self.made.extend(is_new.then(|| file.to_owned()));
        Ok(Arc::new(Mutex::new(database)))
    }

    fn of_name(&self, name: &str) -> Option<&SinkFile> {
        let all = self.sinks.iter().map(|(_, sink)| sink).chain(&self.dead);
        all.flatten().find(|sink| is_one_file(sink.name(), name)).map(|sink| &**sink)
    }

    /// Removes the new files after one could not be opened.
    fn undone(&self, why: String) -> String {
        remove(&self.made);
        why
    }
}

/// Whether two sinks write the same file.
fn is_one_file(one: &str, other: &str) -> bool {
    one == other || table_of(one).is_some() && table_of(other).is_some() && file_of(one) == file_of(other)
}

/// Removes files that were made for a text that does not begin.
fn remove(made: &[String]) {
    for name in made {
        // The file may be gone already.
        let _ = fs::remove_file(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A text with `@` replaced by the directory.
    fn text(text: &str, dir: &Path) -> String {
        text.replace("@", &format!("{}/", dir.display()))
    }

    fn read(dir: &Path, name: &str) -> String {
        fs::read_to_string(dir.join(name)).unwrap_or_else(|_| "none".to_owned())
    }

    fn write(files: &Files, sink: usize, bytes: &str) {
        put(files.lock().sink(sink), bytes);
    }

    fn put(file: Option<Arc<SinkFile>>, bytes: &str) {
        assert!(file.expect("a file").write(bytes.as_bytes(), None).is_ok());
    }

    #[test]
    fn a_change_that_is_not_made_leaves_all_files_as_they_are() {
        let dir = tempfile::tempdir().expect("a directory");
        let dir = dir.path();
        for name in ["old", "there"] {
            fs::write(dir.join(name), "of before\n").expect("a file");
        }
        let program = Program::load(&text("jsonl | jsonl(\"@old\")", dir), 1, false).expect("a program");
        let files = Files::default();
        files.begin(&program).expect("they can be opened");
        write(&files, 0, "1\n");
        let next = text("let a = jsonl(dead: \"@dead\"); a | jsonl(\"@there\"); a | jsonl(\"@new\")", dir);
        let next = program.next(&next).expect("a program");
        for _ in 0..2 {
            let added = files.open(&next).expect("they can be opened");
            let added = files.add(added);
            assert_eq!(
                (read(dir, "new"), read(dir, "there"), read(dir, "dead")),
                ("".into(), "of before\n".into(), "".into())
            );
            files.take_out(added);
            assert_eq!((read(dir, "new"), read(dir, "there")), ("none".into(), "of before\n".into()));
        }
        write(&files, 0, "2\n");
        let wrong = text("let a = jsonl; a | jsonl(\"@new\"); a | csv(\"@no/such\")", dir);
        let why = files.open(&program.next(&wrong).expect("a program")).map(drop).unwrap_err();
        assert!(why.ends_with("such: No such file or directory"), "{why}");
        assert_eq!((read(dir, "old"), read(dir, "new")), ("1\n2\n".to_owned(), "none".to_owned()));
    }

    #[test]
    fn a_file_is_emptied_once_in_a_run() {
        let dir = tempfile::tempdir().expect("a directory");
        let dir = dir.path();
        fs::write(dir.join("b"), "of before\n").expect("a file");
        let program = Program::load(&text("jsonl(dead: \"@d\") | jsonl(\"@a\")", dir), 1, false).expect("a program");
        let files = Files::default();
        files.begin(&program).expect("they can be opened");
        let goes_on = |before: &Program, next: &str| {
            let next = before.next(&text(next, dir)).expect("a program");
            let opened = files.open(&next).expect("they can be opened");
            let _ = files.add(opened);
            (files.go_on(before, &next), next).1
        };
        write(&files, 0, "1\n");
        let second = goes_on(&program, "jsonl(dead: \"@e\") | jsonl(\"@b\")");
        assert_eq!((read(dir, "b"), read(dir, "e")), (String::new(), String::new()));
        write(&files, 1, "2\n");
        // A state may have a number of the previous text; a closed file is not written.
        put(files.lock().dead(0).0, "late\n");
        write(&files, 0, "lost\n");
        let third = goes_on(&second, "jsonl(dead: \"@d\") | jsonl(\"@a\")");
        write(&files, 0, "3\n");
        put(files.lock().dead(1).0, "later\n");
        put(files.lock().dead(third.writes()[1][0]).0, "last\n");
        assert_eq!(["a", "b", "d", "e"].map(|name| read(dir, name)), ["1\n3\n", "2\n", "later\nlast\n", "late\n"]);
        let counts: Vec<u64> = files.lock().counts().map(|(count, _)| count).collect();
        assert_eq!(counts, [0, 1, 2]);
    }
}
