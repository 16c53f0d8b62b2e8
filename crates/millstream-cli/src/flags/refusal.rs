//! What is said of wrong use, in the name of the program that it is about, and how help is printed.

use crate::message::cause;
use clap::error::{Error, ErrorKind};
use clap::{Command, CommandFactory, Parser};
use std::env;
use std::io::{self, IsTerminal, Write};
use std::process;

/// The flags of this process; wrong ones end it with exit code 2, `--help` and `--version` with 0, or with 1 where
/// nothing can be written.
pub(crate) fn parse<F: Parser>() -> F {
    F::try_parse().unwrap_or_else(|error| end(&F::command(), &error))
}

/// Ends the process as a wrong flag does.
pub(crate) fn refuse<F: CommandFactory>(reason: &str) -> ! {
    let mut whole = F::command();
    whole.build();
    let error = match subcommand() {
        Some(name) if whole.find_subcommand(&name).is_some() => {
            let command = whole.find_subcommand_mut(&name).expect("it has been found");
            command.error(ErrorKind::ValueValidation, reason)
        }
        _ => whole.error(ErrorKind::ValueValidation, reason),
    };
    end(&F::command(), &error)
}

/// The first argument, which names the subcommand if there is one.
fn subcommand() -> Option<String> {
    env::args_os().nth(1)?.into_string().ok()
}

fn end(whole: &Command, error: &Error) -> ! {
    if !error.use_stderr() {
        let printed = error.print().and_then(|()| io::stdout().flush());
        let Err(error) = printed.or_else(gone) else { process::exit(0) };
        let _ = writeln!(io::stderr(), "{}: write error: {}", whole.get_name(), cause(&error));
        process::exit(1);
    }
    let name = subcommand().filter(|name| whole.find_subcommand(name).is_some());
    let program = name.map_or_else(|| whole.get_name().to_owned(), |name| format!("{} {name}", whole.get_name()));
    let text = error.render();
    let (text, prefix) = if is_coloured() {
        (text.ansi().to_string(), "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m")
    } else {
        (text.to_string(), "error:")
    };
    let text = match text.strip_prefix(prefix) {
        Some(text) => format!("{}{text}", prefix.replace("error", &program)),
        None => text,
    };
    let _ = write!(io::stderr(), "{text}");
    process::exit(error.exit_code())
}

/// A reader who has seen enough is no failure.
fn gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

/// Whether standard error shows colours, and they are wanted.
fn is_coloured() -> bool {
    let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stderr().is_terminal() && !set("NO_COLOR") && env::var_os("TERM").is_some_and(|term| term != "dumb")
}
