use clap::{Arg, Command, CommandFactory};

/// What the flags are listed under that say how a pipeline is run: `--help` has them, `-h` has not.
pub(super) const HOW_IT_RUNS: &str = "How the pipeline is run (the output is always the same)";

/// Longer lines are hard to read.
const MOST_COLUMNS: usize = 100;

/// A command line as it is declared, with what holds of all its flags.
pub(crate) fn shaped<F: CommandFactory>() -> Command {
    let whole = F::command().max_term_width(MOST_COLUMNS).mut_args(shaped_flag);
    whole.mut_subcommands(|command| command.mut_args(shaped_flag))
}

/// The same with the words of every flag, for the manual.
#[cfg(feature = "completions")]
pub(crate) fn shaped_for_manual<F: CommandFactory>() -> Command {
    let whole = shaped::<F>().disable_help_subcommand(true).mut_args(|flag| flag.hide_short_help(false));
    whole.mut_subcommands(|command| command.mut_args(|flag| flag.hide_short_help(false)))
}

fn shaped_flag(flag: Arg) -> Arg {
    let of_the_run = flag.get_help_heading() == Some(HOW_IT_RUNS);
    let flag = if of_the_run { flag.hide_short_help(true) } else { flag };
    let has_value =
        flag.get_action().takes_values() && flag.get_num_args().is_none_or(|values| values.min_values() > 0);
    // Whether `-1` may be its value, its parser says.
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
    fn every_subcommand_has_examples_that_are_understood() {
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

    /// As a shell splits it, up to where it sends its input or output elsewhere.
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
