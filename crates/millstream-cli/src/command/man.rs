//! `man`: the manual pages.

use crate::flags::{Flags, shaped_for_manual};
use crate::message::{Complaints, cause, quoted};
use crate::outcome::Outcome;
use crate::output::Output;
use std::path::PathBuf;

/// `man`: one page, or all in a directory.
#[derive(Debug)]
pub(crate) struct Man {
    pub(crate) dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("man");
        let whole = shaped_for_manual::<Flags>();
        let Some(dir) = self.dir else {
            let mut page = Vec::new();
            clap_mangen::Man::new(whole).render(&mut page).expect("writing to a vector cannot fail");
            return Output::opened(&complaints, |mut output| {
                output.write(&page);
                Outcome::Done
            });
        };
        match clap_mangen::generate_to(whole, &dir) {
            Ok(()) => Outcome::Done,
            Err(error) => {
                complaints.complain(&format!("{}: {}", quoted(dir.as_os_str()), cause(&error)));
                Outcome::InputOrOutputFailed
            }
        }
    }
}
