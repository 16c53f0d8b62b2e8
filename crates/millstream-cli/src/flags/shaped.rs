use clap::{Arg, Command, CommandFactory};

/// The heading of the flags that say how a pipeline is run. `--help` lists them, `-h` does not.
pub(super) const HOW_IT_RUNS: &str = "How the pipeline is run (the output is always the same)";

/// The heading of the flags about state. `-h` leaves them out, too.
pub(super) const STATE: &str = "State";

/// Longer lines are hard to read.
const MOST_COLUMNS: usize = 100;

/// A command line as declared, with the properties that all flags share.
pub(crate) fn shaped<F: CommandFactory>() -> Command {
    let whole = F::command().max_term_width(MOST_COLUMNS).mut_args(shaped_flag);
    whole.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        command.mut_args(|flag| if is_refused(&name, &flag) { flag.hide(true) } else { shaped_flag(flag) })
    })
}

/// Whether a command always refuses this flag. It is parsed, so that the message can say why.
fn is_refused(command: &str, flag: &Arg) -> bool {
    match command {
        "sleep" | "panic" | "idle" | "copying" | "pipe" | "jq" => flag.get_help_heading() == Some(STATE),
        "serve" => ["deploy", "hash"].contains(&flag.get_id().as_str()),
        _ => false,
    }
}

/// The same for scripts that complete a command line, without what is hidden: `clap_complete` offers that, too.
#[cfg(feature = "completions")]
pub(crate) fn shaped_for_completions<F: CommandFactory>() -> Command {
    shaped::<F>().mut_subcommands(|command| shown(&command))
}

#[cfg(feature = "completions")]
fn shown(command: &Command) -> Command {
    // clap wants names that live as long as the process, which ends with the script.
    let name: &'static str = command.get_name().to_owned().leak();
    let flags = command.get_arguments().filter(|flag| !flag.is_hide_set());
    let shorter = Command::new(name).args(flags).subcommands(command.get_subcommands().map(shown));
    match command.get_about() {
        Some(about) => shorter.about(about.clone()),
        None => shorter,
    }
}

/// The same for the manual, which describes every flag.
#[cfg(feature = "completions")]
pub(crate) fn shaped_for_manual<F: CommandFactory>() -> Command {
    let whole = shaped::<F>().disable_help_subcommand(true).mut_args(|flag| flag.hide_short_help(false));
    whole.mut_subcommands(|command| command.mut_args(|flag| flag.hide_short_help(false)))
}

fn shaped_flag(flag: Arg) -> Arg {
    let in_long_help_alone = matches!(flag.get_help_heading(), Some(HOW_IT_RUNS | STATE));
    let flag = if in_long_help_alone { flag.hide_short_help(true) } else { flag };
    let has_value =
        flag.get_action().takes_values() && flag.get_num_args().is_none_or(|values| values.min_values() > 0);
    // The value's parser decides whether `-1` is valid.
    if has_value && !flag.is_positional() { flag.allow_negative_numbers(true) } else { flag }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Flags;

    #[test]
    fn the_command_line_has_no_contradictions() {
        shaped::<Flags>().debug_assert();
    }

    #[test]
    fn every_subcommand_has_examples_that_parse() {
        for command in shaped::<Flags>().get_subcommands() {
            let name = command.get_name();
            let help = command.get_after_long_help().unwrap_or_else(|| panic!("{name} has no examples")).to_string();
            let examples: Vec<&str> =
                help.lines().filter_map(|line| line.split_once("millstream ")).map(|at| at.1).collect();
            assert!(examples.iter().any(|words| words.starts_with(name)), "{name}: {help}");
            for example in examples {
                let parsed = shaped::<Flags>().try_get_matches_from(words(&format!("millstream {example}")));
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
        }
    }

    /// Splits a line as a shell does, up to a redirection or a pipe.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for letter in line.chars() {
            match letter {
                '\'' => quoted = !quoted,
                '<' | '>' | '|' | '&' | ')' if !quoted => break,
                ' ' if !quoted => words.push(String::new()),
                letter => words.last_mut().expect("a word").push(letter),
            }
        }
        words.into_iter().filter(|word| !word.is_empty()).collect()
    }
}
