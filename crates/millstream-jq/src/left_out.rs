/// The names of jq that no filter has here, each with what to do instead: with them, the output would depend on more
/// than the input.
pub const LEFT_OUT: [(&str, &str); 9] = [
    ("now", "the clock is not part of the input: pass a time by --arg NAME \"$(date +%s)\""),
    ("env", "the environment is not part of the input: pass a value by --arg NAME \"$VALUE\""),
    ("$ENV", "the environment is not part of the input: pass a value by --arg NAME \"$VALUE\""),
    ("localtime", "the time zone is not part of the input: `gmtime` is the same in every one"),
    ("strflocaltime", "the time zone is not part of the input: `strftime` is the same in every one"),
    ("input", "values are filtered in parallel, so no value is the next: --slurp makes an array of all values"),
    ("inputs", "values are filtered in parallel, so no value is the next: --slurp makes an array of all values"),
    ("input_line_number", "blocks are filtered in parallel: only messages about a value have its line"),
    ("$__prog_args", "arguments are in $ARGS"),
];

/// What to do instead of using a name in an expression for rows, which has neither arguments nor `--slurp`.
const FOR_ROWS: [(&str, &str); 9] = [
    ("now", "the clock is not part of the input: the shell can write a time into the text, \"$(date +%s)\""),
    ("env", "the environment is not part of the input: the shell can write a value into the text, \"$VALUE\""),
    ("$ENV", "the environment is not part of the input: the shell can write a value into the text, \"$VALUE\""),
    ("input", "rows are processed in parallel, so no row is the next: a fold or a join sees several rows"),
    ("inputs", "rows are processed in parallel, so no row is the next: a fold or a join sees several rows"),
    ("input_filename", "a row does not know its file: run each file alone, or write its name into the rows"),
    ("debug", "rows are processed in parallel: `map` shows what an expression makes, and so does `millstream jq`"),
    ("stderr", "rows are processed in parallel: `map` shows what an expression makes, and so does `millstream jq`"),
    ("$__prog_args", "an expression has no arguments"),
];

/// As [`without`], in an expression for rows.
pub(crate) fn without_for_rows(name: &str) -> Option<&'static str> {
    let found = FOR_ROWS.iter().find(|(left_out, _)| *left_out == name).map(|(_, what)| *what);
    found.or_else(|| without(name))
}

/// What to do instead of using this name, if it is left out.
pub(crate) fn without(name: &str) -> Option<&'static str> {
    LEFT_OUT.iter().find(|(left_out, _)| *left_out == name).map(|(_, what)| *what)
}
