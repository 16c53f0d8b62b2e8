use crate::{Report, RunError};

/// The end of a run, by success or failure.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunEnd<O> {
    /// What the sink returned; none if it failed to, or if its thread was lost.
    pub output: Option<O>,
    /// The report, up to the end or the failure.
    pub report: Report,
    /// Why it failed, if it did; or that accepted values were left when the time to drain was over.
    pub failure: Option<RunError>,
}

impl<O> RunEnd<O> {
    /// What the sink returned and the report of a run that did not fail.
    ///
    /// # Errors
    ///
    /// The failure of one that did.
    pub fn ok(self) -> Result<(O, Report), RunError> {
        match self.failure {
            Some(failure) => Err(failure),
            // A sink that is at work as the run ends is that of a closure which has asked for the end.
            None => Ok((
                self.output.expect("a closure of a run waits for the end of that run, which waits for the closure"),
                self.report,
            )),
        }
    }
}
