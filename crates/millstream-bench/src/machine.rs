//! The date, and a short name of the machine that does not identify its owner.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The properties of the machine that figures depend on. Those that the system does not report are missing.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Machine {
    /// The processor's model name.
    pub(crate) cpu: String,
    /// Its family and model number: makers give several generations of processors one name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) family: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<u32>,
    /// The number of cores that this process may use.
    pub(crate) cores: usize,
    /// Whether the system runs on a hypervisor.
    #[serde(rename = "virtual")]
    pub(crate) is_virtual: bool,
    /// The memory in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory: Option<u64>,
    /// The name and the release of the system.
    pub(crate) kernel: String,
    /// The clock that the system reads the time from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clock_source: Option<String>,
}

impl Machine {
    pub(crate) fn here() -> Self {
        let text = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let info = text("/proc/cpuinfo").unwrap_or_default();
        let memory = text("/proc/meminfo").and_then(|info| field(&info, "MemTotal")?.strip_suffix(" kB")?.parse().ok());
        let release = text("/proc/sys/kernel/osrelease").map_or_else(String::new, |release| format!(" {release}"));
        Machine {
            cpu: field(&info, "model name").unwrap_or(std::env::consts::ARCH).to_owned(),
            family: field(&info, "cpu family").and_then(|family| family.parse().ok()),
            model: field(&info, "model").and_then(|model| model.parse().ok()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            is_virtual: field(&info, "flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            memory: memory.map(|kibibytes: u64| kibibytes * 1024),
            kernel: format!("{}{release}", std::env::consts::OS),
            clock_source: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        }
    }

    /// A name as `epyc-7763-f25m1-2c`: model name, family and model number, cores.
    pub(crate) fn short_name(&self) -> String {
        let numbers = self.family.zip(self.model).map(|(family, model)| format!("-f{family}m{model}"));
        format!("{}{}-{}c", short(&self.cpu), numbers.unwrap_or_default(), self.cores)
    }
}

/// The machine in one line.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cpu)?;
        if let Some((family, model)) = self.family.zip(self.model) {
            write!(f, " (family {family}, model {model})")?;
        }
        write!(f, ", {} cores", self.cores)?;
        if self.is_virtual {
            f.write_str(" of a virtual machine")?;
        }
        if let Some(memory) = self.memory {
            write!(f, ", {:.1} GiB", memory as f64 / f64::from(1 << 30))?;
        }
        write!(f, ", {}", self.kernel)?;
        self.clock_source.as_ref().map_or(Ok(()), |clock| write!(f, ", clock {clock}"))
    }
}

/// The value of the first line `NAME : VALUE`.
fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim_end() == name).then(|| value.trim())
    })
}

/// The part of the name that distinguishes processors: without maker, clock and number of cores.
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

/// The date in universal time, as `2026-01-31`.
pub(crate) fn today() -> String {
    date(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO))
}

/// The date at this time after the first day of 1970.
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
    fn names_are_the_model_alone() {
        assert_eq!(short("AMD EPYC"), "epyc");
        assert_eq!(short("AMD EPYC 7763 64-Core Processor"), "epyc-7763");
        assert_eq!(short("Intel(R) Xeon(R) Processor @ 2.60GHz"), "xeon");
        assert_eq!(short("12th Gen Intel(R) Core(TM) i7-12700K"), "i7-12700k");
        assert_eq!(short(""), std::env::consts::ARCH);
    }

    #[test]
    fn generations_of_one_name_have_names_of_their_own() {
        let [zen3, zen5] = [(25, 1), (26, 2)].map(|(family, model)| {
            let (family, model) = (Some(family), Some(model));
            Machine { cpu: "AMD EPYC".to_owned(), family, model, cores: 2, ..Machine::here() }.short_name()
        });
        assert_eq!([zen3, zen5], ["epyc-f25m1-2c", "epyc-f26m2-2c"]);
        let arm = Machine { cpu: "Neoverse-N1".to_owned(), family: None, model: None, cores: 4, ..Machine::here() };
        assert_eq!(arm.short_name(), "neoverse-n1-4c");
    }

    #[test]
    fn fields_are_found_by_their_whole_names() {
        let info = "cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor\n";
        assert_eq!(field(info, "model"), Some("17"));
        assert_eq!(field(info, "model name"), Some("AMD EPYC"));
        assert_eq!(field(info, "family"), None);
        assert_eq!(field("MemTotal:        8123 kB\n", "MemTotal"), Some("8123 kB"));
    }

    #[test]
    fn a_report_names_the_machine_in_one_line() {
        let machine = Machine {
            cpu: "AMD EPYC".to_owned(),
            family: Some(25),
            model: Some(17),
            cores: 2,
            is_virtual: true,
            memory: Some(8 << 30),
            kernel: "linux 6.1".to_owned(),
            clock_source: Some("tsc".to_owned()),
        };
        let line = "AMD EPYC (family 25, model 17), 2 cores of a virtual machine, 8.0 GiB, linux 6.1, clock tsc";
        assert_eq!(machine.to_string(), line);
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
