use crate::command::Jq;
use crate::config::{run_with_slots, without_state};
use crate::flags;
use crate::input::Names;
use crate::message::{cause, quoted};
use millstream_jq::{Input, Options, Style};
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::{env, fs, thread};

pub(super) fn jq(flags: flags::Jq) -> Result<Jq, String> {
    let options = options(&flags)?;
    let (mut files, mut positional) = (flags.words.first, flags.words.positional);
    let filter = match &flags.from_file {
        Some(file) => text_of(file)?,
        None => {
            let words = if files.is_empty() { &mut positional } else { &mut files };
            words.drain(..words.len().min(1)).next().map_or_else(filter_of_none, text)?
        }
    };
    let options = options.positional(positional.into_iter().map(text).collect::<Result<_, _>>()?);
    let files = if files.is_empty() { vec!["-".into()] } else { files };
    let files = Names { files, decompress: flags.decompress };
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let tuning = &flags.run.tuning;
    let is_one = flags.null_input || flags.slurp;
    let shards = tuning.shards.or(tuning.workers).unwrap_or_else(|| if is_one { 1 } else { cores() });
    // A slot holds a block, or the answer to it: so few that memory stays small.
    let slots = (2 * shards).next_power_of_two().max(4);
    let run = without_state("jq", run_with_slots(slots, flags.run)?)?;
    let (input, exit_status, max_value) =
        (input(flags.null_input, flags.raw_input, flags.slurp), flags.exit_status, flags.max_value);
    Ok(Jq { filter, options: options.input(input), input, files, exit_status, max_value, shards, run })
}

/// The default filter is `.`, as in jq. At a terminal a missing filter is wrong use, since the user may have forgotten
/// it.
fn filter_of_none() -> Result<String, String> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Err("no filter: write one, as in `millstream jq .name FILE`".to_owned());
    }
    Ok(".".to_owned())
}

fn input(null: bool, raw: bool, all: bool) -> Input {
    match (null, raw, all) {
        (true, ..) => Input::Null,
        (_, true, true) => Input::AllText,
        (_, true, false) => Input::Lines,
        (_, false, true) => Input::AllValues,
        (_, false, false) => Input::Values,
    }
}

fn options(flags: &flags::Jq) -> Result<Options, String> {
    let indent = match (flags.compact_output, flags.tab, flags.indent) {
        (true, ..) | (_, false, Some(0)) => None,
        (_, true, _) => Some("\t".to_owned()),
        (_, _, spaces) => Some(" ".repeat(spaces.unwrap_or(2))),
    };
    let style = Style {
        indent,
        sort_keys: flags.sort_keys,
        raw: flags.raw_output || flags.join_output,
        join: flags.join_output,
        colours: flags.color_output || (!flags.monochrome_output && terminal_has_colours()),
    };
    let mut options = Options::default().style(style);
    for pair in flags.arg.chunks_exact(2) {
        options = options.text_variable(&pair[0], pair[1].as_str());
    }
    for pair in flags.argjson.chunks_exact(2) {
        let (name, json) = (&pair[0], &pair[1]);
        options = options.variable(name, json.as_bytes()).map_err(|why| format!("--argjson {name}: {why}"))?;
    }
    for pair in flags.rawfile.chunks_exact(2) {
        options = options.text_variable(&text(pair[0].clone())?, bytes_of(&pair[1])?);
    }
    for pair in flags.slurpfile.chunks_exact(2) {
        let set = options.array_variable(&text(pair[0].clone())?, &bytes_of(&pair[1])?);
        options = set.map_err(|why| format!("--slurpfile: {}: {why}", quoted(&pair[1])))?;
    }
    Ok(options)
}

fn terminal_has_colours() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !is_set("NO_COLOR")
}

fn text(word: OsString) -> Result<String, String> {
    word.into_string().map_err(|word| format!("{} is not UTF-8", quoted(&word)))
}

fn bytes_of(file: &OsStr) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{}: {}", quoted(file), cause(&error)))
}

fn text_of(file: &OsStr) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {}", quoted(file), cause(&error)))
}
