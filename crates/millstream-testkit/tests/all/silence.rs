//! Panics that tests cause on purpose print nothing.

use millstream_testkit::SABOTAGE;
use std::panic::{set_hook, take_hook};
use std::sync::Once;

/// Silences them. The hook is the process's, so all tests share this one.
pub(crate) fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = take_hook();
        set_hook(Box::new(move |info| {
            if !info.payload().downcast_ref::<String>().is_some_and(|message| is_meant(message)) {
                hook(info);
            }
        }));
    });
}

/// Whether this is the message of a stage that `failures`, `drops` or `sabotage` has made to panic.
fn is_meant(message: &str) -> bool {
    let sabotaged = message.contains(SABOTAGE) && !message.contains("Case");
    sabotaged || message.starts_with("fails at") || message.starts_with("at ")
}
