use signal_hook::consts::SIGHUP;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::fs;
use std::io;
use std::thread;

/// Calls `end` when the terminal is closed (SIGHUP), and then ends the process as that signal does. If the process
/// ignores the signal (under `nohup`), or the system does not say whether it does, this has no effect.
pub(crate) fn when_hung_up(end: impl Fn() + Send + 'static) -> io::Result<()> {
    if is_ignored(SIGHUP).unwrap_or(true) {
        return Ok(());
    }
    let mut signals = Signals::new([SIGHUP])?;
    let work = move || {
        for signal in signals.forever() {
            end();
            let _ = emulate_default_handler(signal);
        }
    };
    thread::Builder::new().name("hang-up".to_owned()).spawn(work).map(drop)
}

/// Whether this process ignores a signal; `None` if the system does not say (Linux does).
fn is_ignored(signal: i32) -> Option<bool> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(mask & 1 << (signal - 1) != 0)
}
