//! The common part of databases as sinks: the row with the number that a job puts next, and with the job's owner.

use super::OpenError;
use millstream_core::{RunOutcome, SequenceNumber};
use serde_json::{Value, json};
use std::io;

/// Makes the table of the jobs' rows.
pub(super) const TABLE: &str = "CREATE TABLE IF NOT EXISTS millstream_progress \
                                (job TEXT PRIMARY KEY, next BIGINT NOT NULL, epoch BIGINT NOT NULL)";

/// Makes this process the owner of the job `$1`, and returns the job's row.
pub(super) const TAKE_OVER: &str = "INSERT INTO millstream_progress VALUES ($1, 0, 1) \
                                    ON CONFLICT (job) DO UPDATE SET epoch = millstream_progress.epoch + 1 \
                                    RETURNING next, epoch";

/// The row of the job `$1`.
pub(super) const LOOK: &str = "SELECT next, epoch FROM millstream_progress WHERE job = $1";

/// Sets the next number of a job, if its row is as this process has left it.
const ADVANCE: &str = "UPDATE millstream_progress SET next = $1 WHERE job = $2 AND next = $3 AND epoch = $4";

/// The most values of a transaction.
const MOST: u64 = 10_000;

/// The row of a job in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JobRow {
    /// The number that the job puts next; negative if the last one that it has put is END's.
    pub(super) next: i64,
    /// How often it was opened.
    pub(super) epoch: i64,
}

/// A connection to the database that has a job's rows.
pub(super) trait Database {
    /// Its name in messages.
    fn name(&self) -> String;

    fn begin(&mut self) -> io::Result<()>;

    /// Executes a statement with these parameters, in this order. Returns how many rows it has changed, which it locks
    /// until the transaction ends.
    fn advance(&mut self, statement: &str, next: i64, job: &str, row: JobRow) -> io::Result<u64>;

    /// An error leaves open whether the transaction is committed.
    fn commit(&mut self) -> io::Result<()>;

    fn roll_back(&mut self);

    /// Makes sure that the transaction whose COMMIT has failed is over, by another connection if that is needed, and
    /// returns the job's row.
    fn recover(&mut self, job: &str) -> io::Result<Option<JobRow>>;
}

/// A database as a sink: values are put in transactions that also set the job's next number.
#[derive(Debug)]
pub(super) struct Progress<D> {
    database: D,
    job: String,
    /// The number up to which the database holds everything.
    held: u64,
    /// END's number, if an earlier run has ended there and the database has what it yielded.
    ended: Option<u64>,
    /// Whether this run has ended: what follows is END's value, which is committed when it is known that the job does
    /// not go on.
    at_end: bool,
    /// The next number to put, and the values since the last commit.
    next: u64,
    values: u64,
    epoch: i64,
    /// A value could not be written, so a later one must not be.
    failed: bool,
}

impl<D: Database> Progress<D> {
    /// The sink at a claim, in a database where this process has just become the job's owner.
    pub(super) fn open(
        database: D,
        job: &str,
        row: JobRow,
        claim: Option<(SequenceNumber, &Value)>,
    ) -> Result<Self, OpenError> {
        let held = row.next.unsigned_abs();
        if let Some((next, _)) = claim
            && held < next.0
        {
            let why = format!(
                "it has the numbers below {held} of the job {job:?}, and had those below {next}: \
                 it is another database, or was restored from an older backup"
            );
            return Err(OpenError::HoldsLess(format!("{}: {why}", database.name())));
        }
        let job = job.to_owned();
        let ended = (row.next < 0).then(|| held - 1);
        let (next, epoch) = (held, row.epoch);
        Ok(Progress { database, job, held, ended, at_end: false, next, values: 0, epoch, failed: false })
    }

    /// Writes the rows of a number, unless the database has them.
    pub(super) fn put(
        &mut self,
        number: SequenceNumber,
        write: impl FnOnce(&mut D) -> io::Result<()>,
    ) -> io::Result<()> {
        self.is_before_the_end(number.0)?;
        if number.0 < self.held {
            return Ok(());
        }
        self.not_failed()?;
        if self.values == 0 {
            self.database.begin()?;
        }
        if let Err(error) = write(&mut self.database) {
            // It may have written a part of the number's rows.
            self.database.roll_back();
            self.failed = true;
            return Err(error);
        }
        (self.next, self.values) = (number.0 + 1, self.values + 1);
        if self.values >= MOST { self.pause() } else { Ok(()) }
    }

    pub(super) fn pause(&mut self) -> io::Result<()> {
        if self.at_end { Ok(()) } else { self.commit() }
    }

    /// The run ends at this number.
    pub(super) fn end(&mut self, number: SequenceNumber) -> io::Result<()> {
        self.mark(number)?;
        self.commit()?;
        self.at_end = true;
        Ok(())
    }

    /// What an earlier run yielded at its end would be between the values, if the job went on there.
    fn is_before_the_end(&self, number: u64) -> io::Result<()> {
        match self.ended {
            Some(end) if number > end || (number == end && !self.at_end) => Err(self.error(&format!(
                "the job {:?} has ended at number {end}, and its rows have what it yielded at its end, so it cannot go on \
                 with further input; to do that, delete the rows of that number, and then \
                 UPDATE millstream_progress SET next = {end} WHERE job = '{}'",
                self.job, self.job
            ))),
            _ => Ok(()),
        }
    }

    /// Commits the rows of the numbers that were put.
    pub(super) fn commit(&mut self) -> io::Result<()> {
        self.not_failed()?;
        if self.next == self.held {
            return Ok(());
        }
        if self.values == 0 {
            self.database.begin()?;
        }
        // Cleared once the commit has succeeded.
        self.failed = true;
        let [held, next] = [self.held, self.next].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let next = if self.at_end { -next } else { next };
        let row = JobRow { next: held, epoch: self.epoch };
        if self.database.advance(ADVANCE, next, &self.job, row)? != 1 {
            self.database.roll_back();
            return Err(self.taken_over());
        }
        if let Err(error) = self.database.commit() {
            self.look_after(&error, JobRow { next, epoch: self.epoch })?;
        }
        (self.held, self.values, self.failed) = (self.next, 0, false);
        Ok(())
    }

    /// Decides by the job's row whether a COMMIT without a good answer was done.
    fn look_after(&mut self, error: &io::Error, done: JobRow) -> io::Result<()> {
        let (held, next) = (self.held, self.next);
        match self.database.recover(&self.job) {
            Ok(Some(row)) if row == done => Ok(()),
            Ok(Some(row)) if row.epoch != done.epoch => Err(self.taken_over()),
            Ok(_) => Err(self.error(&format!("the numbers from {held} to {} are not stored: {error}", next - 1))),
            Err(lost) => Err(self.error(&format!(
                "it is not known whether the numbers from {held} to {} are stored; start the job again to find out: \
                 {error}; {lost}",
                next - 1
            ))),
        }
    }

    fn not_failed(&self) -> io::Result<()> {
        if self.failed { Err(self.error("an earlier number could not be stored")) } else { Ok(()) }
    }

    fn taken_over(&self) -> io::Error {
        self.error(&format!("another process has taken over the job {:?}", self.job))
    }

    fn error(&self, why: &str) -> io::Error {
        io::Error::other(format!("{}: {why}", self.database.name()))
    }

    /// The number below which it has the values of all numbers.
    pub(super) fn holds(&self) -> SequenceNumber {
        SequenceNumber(self.ended.unwrap_or(self.held))
    }

    pub(super) fn claim(&mut self) -> io::Result<Value> {
        self.commit()?;
        Ok(json!({ "next": self.held }))
    }

    /// Numbers without a value are held as well.
    pub(super) fn mark(&mut self, next: SequenceNumber) -> io::Result<()> {
        if let Some(last) = next.0.checked_sub(1) {
            self.is_before_the_end(last)?;
        }
        self.next = self.next.max(next.0);
        Ok(())
    }

    pub(super) fn finish(mut self, outcome: RunOutcome) -> io::Result<SequenceNumber> {
        // A drained job goes on later, and ends then.
        if outcome == RunOutcome::End || (outcome.is_complete() && !self.at_end) {
            self.commit()?;
        } else if self.values > 0 && !self.failed {
            self.database.roll_back();
        }
        Ok(SequenceNumber(self.held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// What a server does with the next COMMIT.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    enum Next {
        #[default]
        Commits,
        /// Commits, and its answer is lost.
        Answers,
        /// Does not get it.
        Loses,
        /// Commits, its answer is lost, and nothing reaches it from then on.
        Vanishes,
    }

    /// The committed rows, and the job's row.
    #[derive(Debug, Default)]
    struct Server {
        rows: Vec<u64>,
        job: Option<JobRow>,
        next: Next,
        away: bool,
    }

    /// A connection, with the rows of its transaction.
    #[derive(Debug, Default)]
    struct Connection {
        server: Rc<RefCell<Server>>,
        rows: Vec<u64>,
        job: Option<JobRow>,
    }

    impl Database for Connection {
        fn name(&self) -> String {
            "a server".to_owned()
        }

        fn begin(&mut self) -> io::Result<()> {
            assert!(self.rows.is_empty() && self.job.is_none());
            Ok(())
        }

        fn advance(&mut self, statement: &str, next: i64, _: &str, row: JobRow) -> io::Result<u64> {
            let (looks_at_next, looks_at_epoch) = (statement.contains("next = $3"), statement.contains("epoch = $4"));
            let there = self.server.borrow().job.unwrap();
            if (looks_at_next && there.next != row.next) || (looks_at_epoch && there.epoch != row.epoch) {
                return Ok(0);
            }
            self.job = Some(JobRow { next, ..there });
            Ok(1)
        }

        fn commit(&mut self) -> io::Result<()> {
            let mut server = self.server.borrow_mut();
            let next = std::mem::take(&mut server.next);
            server.away = next == Next::Vanishes;
            if next != Next::Loses {
                server.rows.append(&mut self.rows);
                server.job = self.job.take();
            }
            if next == Next::Commits { Ok(()) } else { Err(io::ErrorKind::ConnectionReset.into()) }
        }

        fn roll_back(&mut self) {
            (self.rows, self.job) = (Vec::new(), None);
        }

        fn recover(&mut self, _: &str) -> io::Result<Option<JobRow>> {
            self.roll_back();
            let server = self.server.borrow();
            if server.away { Err(io::ErrorKind::TimedOut.into()) } else { Ok(server.job) }
        }
    }

    /// The start of a process.
    fn start(server: &Rc<RefCell<Server>>) -> Progress<Connection> {
        let row = server.borrow().job.unwrap_or(JobRow { next: 0, epoch: 0 });
        let row = JobRow { epoch: row.epoch + 1, ..row };
        server.borrow_mut().job = Some(row);
        Progress::open(Connection { server: server.clone(), ..Connection::default() }, "job", row, None).unwrap()
    }

    fn put(sink: &mut Progress<Connection>, numbers: std::ops::Range<u64>) {
        for number in numbers {
            sink.put(SequenceNumber(number), |connection| {
                connection.rows.push(number);
                Ok(())
            })
            .unwrap();
        }
    }

    #[test]
    fn an_answer_that_is_lost_is_found_in_the_row_and_a_commit_that_is_lost_is_an_error() {
        let of = |why| format!("a server: {why}: connection reset");
        let lost = of("the numbers from 10 to 19 are not stored");
        let unknown =
            of("it is not known whether the numbers from 10 to 19 are stored; start the job again to find out");
        for (next, why) in
            [(Next::Answers, None), (Next::Loses, Some(lost)), (Next::Vanishes, Some(format!("{unknown}; timed out")))]
        {
            let server = Rc::new(RefCell::new(Server::default()));
            let mut sink = start(&server);
            put(&mut sink, 0..10);
            sink.commit().unwrap();
            put(&mut sink, 10..20);
            server.borrow_mut().next = next;
            let committed = sink.commit();
            if let Some(why) = why {
                assert_eq!(committed.unwrap_err().to_string(), why);
                assert!(sink.put(SequenceNumber(20), |_| Ok(())).is_err(), "nothing is put behind a gap");
                assert!(sink.commit().is_err());
            } else {
                committed.unwrap();
                put(&mut sink, 20..30);
                sink.commit().unwrap();
            }
            // Another start puts all numbers again, and the server gets those that it does not have.
            let mut sink = start(&server);
            put(&mut sink, 0..40);
            sink.commit().unwrap();
            assert_eq!(server.borrow().rows, (0..40).collect::<Vec<_>>(), "{next:?}");
        }
    }

    #[test]
    fn a_process_whose_job_was_taken_over_changes_nothing_even_before_the_new_one_has_stored_anything() {
        for lost in [false, true] {
            let server = Rc::new(RefCell::new(Server::default()));
            let mut old = start(&server);
            put(&mut old, 0..10);
            let mut new = start(&server);
            server.borrow_mut().next = if lost { Next::Loses } else { Next::Commits };
            let why = old.commit().unwrap_err().to_string();
            assert_eq!(why, "a server: another process has taken over the job \"job\"");
            server.borrow_mut().next = Next::Commits;
            put(&mut new, 0..10);
            new.commit().unwrap();
            assert_eq!(server.borrow().rows, (0..10).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_number_that_is_written_by_half_is_not_stored() {
        let server = Rc::new(RefCell::new(Server::default()));
        let mut sink = start(&server);
        put(&mut sink, 0..3);
        let half = sink.put(SequenceNumber(3), |connection| {
            connection.rows.push(3);
            Err(io::ErrorKind::InvalidInput.into())
        });
        assert!(half.is_err() && sink.commit().is_err());
        assert_eq!(server.borrow().rows, [0; 0]);
    }

    #[test]
    fn a_database_that_holds_less_than_the_claim_is_refused_with_both_numbers() {
        let (row, claim) = (JobRow { next: 100, epoch: 3 }, Value::Null);
        let open = |next| Progress::open(Connection::default(), "job", row, Some((SequenceNumber(next), &claim)));
        assert!(open(100).is_ok() && open(99).is_ok());
        let Err(OpenError::HoldsLess(why)) = open(101) else { panic!("it has opened") };
        assert!(why.starts_with("a server: it has the numbers below 100 of the job \"job\", and had those below 101"));
    }
}
