//! The examples at the end of `--help`.

pub(super) const MILLSTREAM: &str = "\
Examples:
  The output of GNU wc, several times faster:
      millstream wc *.log
  Lines with a word, with one grep for each core:
      millstream pipe --accept 1 grep word < log
  The options of a command, with examples:
      millstream pipe --help
  Completion and manual pages:
      millstream completions bash > ~/.local/share/bash-completion/completions/millstream
      millstream man ~/.local/share/man/man1";

pub(super) const WC: &str = "\
Examples:
  Lines, words and bytes of some files, and their sums:
      millstream wc *.txt
  Lines only, of standard input:
      millstream wc -l < log
  Lines of all sources together:
      find . -name '*.rs' -print0 | millstream wc -l --files0-from=- --total=only
  Characters, and the widest line:
      millstream wc -m -L README.md
  A compressed file:
      millstream wc --decompress log.gz";

pub(super) const UPPERCASE: &str = "\
Examples:
  A file:
      millstream uppercase README.md > LOUD.md
  Each line as it comes:
      tail -f log | millstream uppercase";

pub(super) const SPACES: &str = "\
Examples:
      millstream spaces README.md
  With lines of up to a gigabyte:
      millstream spaces --max-line 1G dump.sql";

#[cfg(feature = "serve")]
macro_rules! serve_examples {
    ($beyond:literal) => {
        concat!(
            "Examples:
  A ledger that survives:
      millstream serve --listen 127.0.0.1:8080 --state ledger
  A deposit, done once however often it is sent:
      curl -H 'Idempotency-Key: 1' -d '{\"to\":\"ann\",\"amount\":100}' http://127.0.0.1:8080/deposit
  Beyond this machine, ",
            $beyond
        )
    };
}

#[cfg(feature = "tls")]
pub(super) const SERVE: &str = serve_examples!(
    "encrypted and with a token:
      export MILLSTREAM_TOKEN=$(openssl rand -hex 16)
      millstream serve --listen 0.0.0.0:8443 --tls-certificate chain.pem --tls-key key.pem"
);

// The flags of encryption are not there.
#[cfg(all(feature = "serve", not(feature = "tls")))]
pub(super) const SERVE: &str = serve_examples!(
    "with a token:
      export MILLSTREAM_TOKEN=$(openssl rand -hex 16)
      millstream serve --listen 0.0.0.0:8080"
);

pub(super) const SLEEP: &str = "\
Examples:
  1.75 s, set by the slower of two parallel stages:
      time millstream sleep
  1.25 s:
      time millstream sleep --sharded";

pub(super) const PANIC: &str = "\
Examples:
      millstream panic --at 1000
  On one thread:
      millstream panic --at 1000 --deploy inline";

pub(super) const IDLE: &str = "\
Examples:
  The cost of ten seconds of waiting:
      time timeout 10 millstream idle";

pub(super) const COPYING: &str = "\
Examples:
      time millstream copying --fanout 20
  The sum, and its hash, are the same on queues, which copy:
      millstream copying --items 100000 --hash --deploy queues";

pub(super) const PIPE: &str = "\
Examples:
  Lines with a word, with one grep for each core (status 1: none in this block):
      millstream pipe --accept 1 grep word < log
  How each block differs from a file (status 1: it does):
      millstream pipe --accept 1 diff - expected < lines
  Every record that can be parsed, and the number of blocks that failed:
      millstream pipe --keep-going jq -c .user < events.json
  Several commands for each block:
      millstream pipe --shell 'cut -f 2 | sort | uniq -c' < table
  A table whose first line begins every block:
      millstream pipe --header 1 mlr --icsv --ojson head < table.csv
  Retry a block that takes longer than a minute, and log all processes:
      millstream pipe --timeout 1m --retries 1 --joblog jobs.tsv ./slow < lines
  Line by line, through long-lived processes:
      millstream pipe --shard line sed -u 's/a/b/' < lines";

#[cfg(not(feature = "jq"))]
pub(super) const NO_JQ: &str = "\
Examples:
  From a checkout:
      cargo install --path crates/millstream-cli
      millstream jq .id orders.jsonl";

#[cfg(feature = "jq")]
pub(super) const JQ: &str = "\
Examples:
  Fields of the values that match, one line each:
      millstream jq -c 'select(.level == \"error\") | {time, msg}' app.jsonl
  Text without quotes:
      millstream jq -r '\"\\(.user) \\(.qty * .price)\"' orders.jsonl
  A table:
      millstream jq -r '[.id, .user, .qty] | @csv' orders.jsonl
  Lines of a log, as JSON:
      millstream jq -R 'split(\" \") | {host: .[0], path: .[6]}' --decompress access.log.gz
  A value from the command line:
      millstream jq --arg user ann 'select(.user == $user)' orders.jsonl";

#[cfg(feature = "run")]
pub(super) const RUN: &str = "\
Examples:
  Large orders of a table, as JSON:
      millstream run -e 'csv | where(.qty * .price > 500) | jsonl' orders.csv
  Errors of each service and minute:
      millstream run -e 'jsonl | where(.level == \"error\") | count(by: .service, every: 1m, at: .time)' app.log
  A program in a file, watched in the browser:
      millstream run orders.mill --page 8080
  A program that goes on where it was after a crash:
      millstream run orders.mill --state state >> out";

#[cfg(feature = "run")]
pub(super) const CHECK: &str = "\
Examples:
      millstream check orders.mill && millstream run orders.mill
      millstream check -e 'jsonl | count(by: .user)'";

#[cfg(feature = "run")]
pub(super) const STAGES: &str = "\
Examples:
  For people:
      millstream stages
  For an editor:
      millstream stages --json";

#[cfg(feature = "cluster")]
pub(super) const CLUSTER: &str = "\
Examples:
  A count of each word, with a server and two workers on this machine:
      nats-server -js -a 127.0.0.1 &
      millstream cluster apply words --app count
      millstream worker --app count & millstream worker --app count &
      millstream cluster feed README.md --app count
      millstream cluster drain --app count
      millstream cluster read --app count
      millstream cluster rm --app count
  Three servers, each of which keeps every batch:
      millstream cluster apply words --app count --nats nats://a:4222,nats://b:4222,nats://c:4222 --copies 3
  Lines as they come, and the output so far:
      tail -f log | millstream cluster feed --app count
      millstream cluster read --app count --so-far";

#[cfg(feature = "cluster")]
pub(super) const WORKER: &str = "\
Examples:
      millstream worker --nats nats://127.0.0.1:4222 --app count
  With a login, encrypted:
      millstream worker --nats tls://nats.example.org:4222 --nats-credentials worker.creds --app count
  With a certificate of this worker, at servers with certificates of an authority of your own:
      millstream worker --nats tls://nats --tls-authority ca.pem --tls-certificate w.pem --tls-key w.key --app count";

pub(super) const EVOLVE: &str = "\
Examples:
  A random walk seen through noise, next to the Kalman filter:
      millstream evolve --model linear
  An epidemic, drawn:
      millstream evolve --model epidemic --rounds 120 --plot epidemic.svg
  A population that resumes after an interruption:
      millstream evolve --model volatility --resume checkpoints
  Workers on other machines, with the same MILLSTREAM_SECRET:
      millstream evolve --model linear --transport tcp --listen 0.0.0.0:7311 --workers 0";

pub(super) const EVOLVE_WORKER: &str = "\
Examples:
      millstream evolve-worker --connect example.org:7311";

pub(super) const VERIFY: &str = "\
Examples:
  Check that lines, words and bytes are the same on every deployment:
      millstream verify wc README.md
  A program whose output differs, and the first number at which it does:
      millstream verify hidden-clock";

pub(super) const PLAN: &str = "\
Examples:
      millstream plan wc
  The number of workers of a run, and the reason:
      millstream plan uppercase --shards 2 --explain
  As JSON, and what another version of the program changed:
      millstream plan spaces --json > old.json
      millstream plan spaces --diff old.json";

pub(super) const GRAPH: &str = "\
Examples:
      millstream graph wc > wc.svg
      millstream graph copying --format dot | dot -Tpng > copying.png";

#[cfg(feature = "top")]
pub(super) const TOP: &str = "\
Examples:
  In one terminal, and in another:
      millstream wc --page 8080 BIG
      millstream top 8080
  The current state:
      millstream top --once localhost:8080";

#[cfg(feature = "completions")]
pub(super) const COMPLETIONS: &str = "\
Examples:
      millstream completions bash > ~/.local/share/bash-completion/completions/millstream
      millstream completions zsh > ~/.zfunc/_millstream
      millstream completions fish > ~/.config/fish/completions/millstream.fish
      millstream completions elvish >> ~/.config/elvish/rc.elv
      millstream completions powershell >> $PROFILE";

#[cfg(feature = "completions")]
pub(super) const MAN: &str = "\
Examples:
  To read it now:
      millstream man > millstream.1; man -l millstream.1
  For `man millstream-wc`:
      millstream man ~/.local/share/man/man1";

pub(super) const REPLAY: &str = "\
Examples:
  What comes out between the newest snapshot before number 5000 and that number:
      millstream uppercase --state state log >> LOUD.log
      millstream replay state --to 5000";

pub(super) const STATE: &str = "\
Examples:
  The words that `wc` had counted before block 100:
      millstream wc --state state log
      millstream state state --at 100 --stage words";

/// The columns of `snapshots`.
macro_rules! columns {
    () => {
        "\
Columns:
  id      The snapshot, for --back-to
  number  The number of the source's next value: --at, --from and --to take such numbers
  output  The number of the sink's next value, or - for the same number
  bytes   The size of the states
  age     The time since it was taken"
    };
}

pub(crate) const COLUMNS: &str = columns!();

pub(super) const SNAPSHOTS: &str = concat!(
    columns!(),
    "

Examples:
      millstream snapshots state
  Check all that is stored:
      millstream snapshots state --verify
  Keep two:
      millstream snapshots state --prune 2
  Go back to snapshot 54, before the next start:
      millstream snapshots state --back-to 54"
);

pub(super) const DIFF: &str = "\
Examples:
      millstream diff monday-state tuesday-state";

pub(super) const UPGRADE: &str = "\
Examples:
  Another text for a run, after a check:
      millstream run --page 7777 --accept-upgrades orders.mill
      millstream upgrade 7777 orders.mill --check
      millstream upgrade 7777 orders.mill --keep spent
  Whether a run could go on with twice as many shards:
      millstream plan uppercase --json > old.json
      millstream plan uppercase --shards 2 --json > new.json
      millstream upgrade --check old.json new.json";
