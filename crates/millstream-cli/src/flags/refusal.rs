//! Messages about wrong use, in the name of the program that was used, and the printing of help.

use super::shaped;
use crate::message::{cause, say};
use crate::name;
use crate::outcome::Outcome;
use clap::error::{Error, ErrorKind};
use clap::{ColorChoice, Command, CommandFactory, FromArgMatches, ValueEnum};
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process;

/// The flags of this process. Wrong flags end it with exit code 2; `--help` and `--version` with 0, or with 1 if the
/// text cannot be written.
pub(crate) fn parse<F: CommandFactory + FromArgMatches>() -> F {
    let mut whole = whole::<F>();
    let parsed = whole.try_get_matches_from_mut(env::args_os());
    let parsed =
        parsed.and_then(|mut matches| F::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut whole)));
    parsed.unwrap_or_else(|error| end(&whole, &error))
}

/// The command line, by the name of this process's program.
fn whole<F: CommandFactory>() -> Command {
    let whole = shaped::<F>().color(colours(env::args_os()));
    match name::own() {
        Some(name) => whole.name(name).bin_name(name::typed()),
        None => whole,
    }
}

/// Ends the process in the same way as a wrong flag.
pub(crate) fn refuse<F: CommandFactory>(reason: &str) -> ! {
    let mut whole = whole::<F>();
    whole.build();
    let error = match subcommand() {
        Some(name) if whole.find_subcommand(&name).is_some() => {
            let command = whole.find_subcommand_mut(&name).expect("it has been found");
            command.error(ErrorKind::ValueValidation, reason)
        }
        _ => whole.error(ErrorKind::ValueValidation, reason),
    };
    end(&whole, &error)
}

/// Ends the process because the file of an argument cannot be read, with the exit code of a failed input.
pub(crate) fn unread(reason: &str) -> ! {
    let command = subcommand().map_or_else(String::new, |command| format!(" {command}"));
    say(&format!("{}{command}: {reason}", name::said()));
    Outcome::InputOrOutputFailed.exit()
}

/// The choice of `--color`, whether the other arguments are right or wrong.
fn colours(args: impl Iterator<Item = OsString>) -> ColorChoice {
    let mut args = args.skip(1).take_while(|arg| arg != "--").filter_map(|arg| arg.into_string().ok());
    let mut choice = ColorChoice::Auto;
    while let Some(arg) = args.next() {
        let value = if arg == "--color" { args.next() } else { arg.strip_prefix("--color=").map(str::to_owned) };
        if let Some(said) = value.and_then(|value| ColorChoice::from_str(&value, false).ok()) {
            choice = said;
        }
    }
    choice
}

/// The first argument except `--color`, which names the subcommand if there is one.
fn subcommand() -> Option<String> {
    let mut args = env::args_os().skip(1);
    match args.next()?.into_string().ok()? {
        flag if flag == "--color" => args.nth(1)?.into_string().ok(),
        flag if flag.starts_with("--color=") => args.next()?.into_string().ok(),
        name => Some(name),
    }
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
    let (text, prefix) = if is_coloured(colours(env::args_os())) {
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

/// An output closed by its reader is not a failure.
fn gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

/// Whether standard error shows colours and the choice allows them.
fn is_coloured(choice: ColorChoice) -> bool {
    let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            io::stderr().is_terminal() && !set("NO_COLOR") && env::var_os("TERM").is_some_and(|term| term != "dumb")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_choice_of_colours_counts() {
        let choice = |args: &str| colours(args.split(' ').map(OsString::from));
        assert_eq!(choice("millstream wc"), ColorChoice::Auto);
        assert_eq!(choice("millstream --color never wc --color=always"), ColorChoice::Always);
        assert_eq!(choice("millstream wc --color=nosuch --color never"), ColorChoice::Never);
        assert_eq!(choice("millstream pipe -- grep --color=always x"), ColorChoice::Auto);
    }
}
