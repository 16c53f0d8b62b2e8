//! The name of this process's program: its state directories, its applications on a cluster and its messages have it.

use std::env;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The name of a user's program.
static OWN: OnceLock<String> = OnceLock::new();

/// From now on this process is a user's program of this name, and not the command. The default is that of its file.
pub(crate) fn is_own(name: Option<String>) {
    // A process has one program.
    let _ = OWN.set(name.unwrap_or_else(of_file));
}

/// The name of a user's program; `None` for the command.
pub(crate) fn own() -> Option<&'static str> {
    OWN.get().map(String::as_str)
}

/// The file of the running program, even if another one has its name by now.
pub(crate) fn file() -> io::Result<PathBuf> {
    let path = env::current_exe()?;
    // By this way its name for the system would be `exe`, so only if there is no other.
    let deleted = cfg!(target_os = "linux") && !path.exists();
    Ok(if deleted { "/proc/self/exe".into() } else { path })
}

/// The name with which messages begin.
pub(crate) fn said() -> &'static str {
    own().unwrap_or("millstream")
}

/// The program to which a state directory belongs.
pub(crate) fn program() -> String {
    own().map_or_else(of_file, str::to_owned)
}

/// What a user types to start this program.
pub(crate) fn typed() -> String {
    path().file_name().map_or_else(program, |name| name.to_string_lossy().into_owned())
}

/// The name of this program's file, without its extension.
fn of_file() -> String {
    path().file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn path() -> PathBuf {
    env::args_os().next().map(PathBuf::from).unwrap_or_default()
}
