//! The permissions in `deploy/permissions.conf`.

/// The subject to which each login may subscribe.
pub(crate) const INBOX: &str = "_INBOX_count.>";

/// The subjects to which this login of the file may publish.
pub(crate) fn publish(user: &str) -> Vec<String> {
    let file = include_str!("../../../../deploy/permissions.conf");
    let (_, of_user) = file.split_once(&format!("user: \"{user}\"")).unwrap();
    let (_, publish) = of_user.split_once("publish: [").unwrap();
    let (publish, rest) = publish.split_once(']').unwrap();
    assert!(rest.trim_start().starts_with(&format!("subscribe: [{INBOX:?}]")), "{rest}");
    let lines = publish.lines().map(|line| line.split('#').next().unwrap());
    let quoted = lines.flat_map(|line| line.split('"').skip(1).step_by(2)).map(str::to_owned);
    quoted.collect()
}
