use crate::command::Serve;
use crate::config::{Deployment, Keep, NUMBERS, run_with_slots, with_state};
use crate::flags;
use millstream_net::http::Limits;
use millstream_state::Cadence;
use std::time::Duration;

/// The time between two snapshots. A snapshot has a few megabytes, and the journal has all later requests.
const SNAPSHOTS: Cadence = Cadence::Every(Duration::from_secs(5));

pub(super) fn serve(flags: flags::Serve) -> Result<Serve, String> {
    let often = flags.run.keeping.snapshot_every.is_some();
    let mut run = with_state("serve", run_with_slots(NUMBERS, flags.run)?);
    if run.place != Deployment::Rings {
        return Err("a service runs on rings: use `--deploy rings`".into());
    }
    if run.hash {
        return Err("--hash: requests come in a different order in each run, so hashes cannot be compared".into());
    }
    if let (Some(Keep { cadence, .. }), false) = (&mut run.keep, often) {
        *cadence = SNAPSHOTS;
    }
    run.rings = run.rings.observe(true);
    let limits = Limits {
        connections: flags.connections,
        requests_of_one: flags.requests_of_one,
        head_within: Duration::from_secs(flags.idle),
        ..Limits::default()
    };
    Ok(Serve {
        listen: flags.listen,
        limits,
        #[cfg(feature = "tls")]
        tls: flags.tls_certificate.zip(flags.tls_key),
        most_accounts: flags.accounts as u64,
        most_answers: flags.answers,
        run,
    })
}
