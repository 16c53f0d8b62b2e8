use crate::command::{Evolve, EvolveWorker};
use crate::flags::{self, Transport};
use millstream_evolve::{Address, Batch, Tuning};
use std::time::Duration;

pub(super) fn evolve(flags: flags::Evolve) -> Result<Evolve, String> {
    let cores = || millstream_exec::physical_cores().map_or(1, |cores| cores.len());
    let workers = flags.workers.unwrap_or_else(cores);
    if workers == 0 && flags.transport == Transport::Threads {
        return Err("--workers 0 needs a socket at which others join: --transport tcp or unix".to_owned());
    }
    let listen = match (flags.transport, flags.listen) {
        (Transport::Threads, Some(_)) => return Err("--listen needs --transport tcp or unix".to_owned()),
        (Transport::Threads, None) => None,
        (Transport::Tcp, None) => Some(Address::Tcp("127.0.0.1:0".to_owned())),
        (Transport::Tcp, Some(address)) => Some(Address::Tcp(address.to_string_lossy().into_owned())),
        (Transport::Unix, address) => Some(Address::Unix(address.map_or_else(Default::default, Into::into))),
    };
    let batch = flags.batch.map_or(Batch::Adaptive, Batch::Fixed);
    let patience = Duration::from_secs(flags.patience);
    Ok(Evolve {
        model: flags.model,
        states: flags.states,
        rounds: flags.rounds,
        seed: flags.seed,
        workers,
        listen,
        resume: flags.resume.map(Into::into),
        tuning: Tuning { batch, steal: !flags.no_steal, backup_every: flags.backup_every, patience },
        // With more workers than cores, no worker has a core to itself.
        pin: !flags.no_pin && workers <= cores(),
        work: flags.work,
        plot: flags.plot.as_ref().map(|to| crate::config::picture_to("--plot", to)).transpose()?,
        stats: flags.stats.as_ref().map(|to| crate::config::stats_to(to)).transpose()?,
        #[cfg(feature = "page")]
        page: flags.page,
        quiet: flags.quiet,
        hash: flags.hash,
    })
}

pub(super) fn worker(flags: flags::EvolveWorker) -> Result<EvolveWorker, String> {
    let address = match flags.connect.to_str() {
        Some(text) => {
            let Ok(address) = text.parse();
            address
        }
        // No host has such a name.
        None => Address::Unix(flags.connect.into()),
    };
    let patience = (flags.patience > 0).then(|| Duration::from_secs(flags.patience));
    Ok(EvolveWorker { address, pin: flags.pin, patience })
}
