//! Programs that a test needs and that a machine may lack.

use std::path::Path;
use std::process::{Command, Stdio};

/// Prints on standard output that the test `test` did not run, and why.
///
/// # Panics
///
/// If every test has to run: the environment variable `MILLSTREAM_REQUIRE` is `all`.
#[expect(clippy::print_stdout, reason = "a skipped test must be visible")]
pub fn skipped(test: &str, reason: &str) {
    assert_ne!(std::env::var("MILLSTREAM_REQUIRE").as_deref(), Ok("all"), "{test}: {reason}");
    println!("SKIPPED {test}: {reason}");
}

/// Whether `program` can be started. If not, the test `test` is [`skipped`].
///
/// ```
/// use millstream::testkit::programs::is_here;
/// if is_here("cargo", "a test of cargo") {
///     assert!(std::process::Command::new("cargo").arg("--version").status()?.success());
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Panics
///
/// As [`skipped`].
#[must_use]
pub fn is_here(program: &str, test: &str) -> bool {
    let mut version = Command::new(program);
    version.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let here = version.status().is_ok();
    if !here {
        skipped(test, &format!("there is no {program}"));
    }
    here
}

/// Chromium without a window, with its profile in this directory. The caller adds the task and the address:
/// `--dump-dom` or `--screenshot=FILE`, and a URL.
#[must_use]
pub fn headless_chromium(profile: &Path) -> Command {
    let mut chromium = Command::new("chromium");
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu"]);
    chromium.arg(format!("--user-data-dir={}", profile.display())).stderr(Stdio::null());
    chromium
}
