//! Where and when: a short name for the machine that tells nobody whose it is.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The model of the processor and the cores that this process may use.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
}

impl Machine {
    pub(crate) fn here() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let cpu = model.map_or(std::env::consts::ARCH, |(_, model)| model.trim()).to_owned();
        Machine { cpu, cores }
    }

    /// As in `epyc-7763-2c`.
    pub(crate) fn short_name(&self) -> String {
        format!("{}-{}c", short(&self.cpu), self.cores)
    }
}

/// What tells processors apart: no maker, no clock, no count of cores.
fn short(cpu: &str) -> String {
    let lower = cpu.to_lowercase().replace("(r)", " ").replace("(tm)", " ");
    let before_clock = lower.split('@').next().unwrap_or_default();
    let says_little = |word: &&str| {
        ["amd", "intel", "cpu", "processor", "core", "gen"].contains(word)
            || word.ends_with("-core")
            || word.ends_with("th")
            || !word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let words: Vec<_> = before_clock.split_whitespace().filter(|word| !says_little(word)).collect();
    if words.is_empty() { std::env::consts::ARCH.to_owned() } else { words.join("-") }
}

/// Today, by universal time, as in `2026-01-31`.
pub(crate) fn today() -> String {
    date(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO))
}

/// The date so long after the first day of 1970.
fn date(since: Duration) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut days = since.as_secs() / 86_400;
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let months = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in months {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_the_model_and_nothing_else() {
        assert_eq!(short("AMD EPYC"), "epyc");
        assert_eq!(short("AMD EPYC 7763 64-Core Processor"), "epyc-7763");
        assert_eq!(short("Intel(R) Xeon(R) Processor @ 2.60GHz"), "xeon");
        assert_eq!(short("12th Gen Intel(R) Core(TM) i7-12700K"), "i7-12700k");
        assert_eq!(short(""), std::env::consts::ARCH);
    }

    #[test]
    fn dates_are_of_this_calendar() {
        let day = |n: u64| date(Duration::from_secs(n * 86_400));
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(11_016), "2000-02-29");
        assert_eq!(day(11_017), "2000-03-01");
        assert_eq!(day(20_453), "2025-12-31");
        assert_eq!(day(20_454), "2026-01-01");
    }
}
