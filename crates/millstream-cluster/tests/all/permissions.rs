//! `deploy/permissions.conf`: the permissions of each login are enough, and there is none without which it could do the
//! same. What lacks one is refused with its name.

use crate::documented::{INBOX, publish};
use crate::server::Server;
use millstream_cluster::{
    Access, App, Applied, JetStream, Log, LogError, Login, OpenError, Place, PlaceState, Streams, cut,
};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

/// Used only if a connection is lost while a client reads a snapshot, which then makes its consumer again, as a test of
/// lines does; and with several servers.
const NOT_HERE: [&str; 4] = [
    "$JS.API.CONSUMER.CREATE.OBJ_count-blobs.>",
    "$JS.API.CONSUMER.DELETE.OBJ_count-blobs.>",
    "$JS.API.STREAM.UPDATE.KV_count-records",
    "$JS.API.STREAM.UPDATE.OBJ_count-blobs",
];

/// A user of the server's configuration.
fn user(name: &str, publish: &[String], subscribe: &str) -> String {
    format!(
        "{{ user: \"{name}\", password: p, permissions: {{ publish: {publish:?}, subscribe: [{subscribe:?}] }} }}\n"
    )
}

fn access(server: &Server, user: &str) -> Access {
    let login = Login::Password { user: user.to_owned(), password: "p".to_owned() };
    Access { url: server.url(), app: "count".to_owned(), login, ..Access::default() }
}

fn streams() -> Streams {
    Streams { edges: App::edges(), replicas: 1, capacity: 1000 }
}

/// Whether a subject matches a permission.
fn matches(subject: &str, permission: &str) -> bool {
    let (mut tokens, mut of_permission) = (subject.split('.'), permission.split('.'));
    loop {
        match (tokens.next(), of_permission.next()) {
            (Some(_), Some(">")) | (None, None) => return true,
            (Some(token), Some(pattern)) if pattern == "*" || pattern == token => {}
            _ => return false,
        }
    }
}

/// The errors of what a login does; those of a connection that is refused come alone.
type Errors = Vec<String>;

fn opened(opened: Result<JetStream, OpenError>) -> Result<JetStream, Errors> {
    opened.map_err(|error| vec![error.to_string()])
}

/// Reads an edge twice, and then what is appended to it by another login.
fn reads(log: &JetStream, admin: &JetStream, edge: &str, errors: &mut Errors) {
    let mut next = 1;
    for _ in 0..200 {
        match log.read_from(edge, next, 1000) {
            Ok(entries) if entries.is_empty() && next > 1 => {
                let batch = cut(["more".to_owned()], 1).unwrap().remove(0);
                if admin.last(edge) == Ok(next - 1) {
                    admin.append_if(edge, next - 1, &batch).unwrap();
                }
            }
            Ok(entries) if entries.is_empty() => return,
            Ok(entries) if next > 1 && entries[0].number > 1 => {
                // Then there is nothing to read, for a while.
                let next = entries.last().unwrap().number + 1;
                let quiet = (0..25).find_map(|_| {
                    log.wait(Duration::from_millis(20));
                    log.read_from(edge, next, 1000).err()
                });
                return errors.extend(quiet.map(|error| error.to_string()));
            }
            Ok(entries) => next = entries.last().unwrap().number + 1,
            Err(LogError::Unavailable(_)) => {}
            Err(error) => return errors.push(error.to_string()),
        }
        log.wait(Duration::from_millis(20));
    }
    errors.push(format!("edge {edge}: entry {next} does not come"));
}

/// Asks until there is an answer, as all commands do, but not for ever.
fn note<T>(ask: impl Fn() -> Result<T, LogError>, errors: &mut Errors) {
    let mut answers = (0..20).map(|_| ask());
    let answer = answers.find(|answer| !matches!(answer, Err(LogError::Unavailable(_))));
    match answer {
        Some(answer) => errors.extend(answer.err().map(|error| error.to_string())),
        None => errors.push("no answer comes".to_owned()),
    }
}

/// Appends an entry, or has done so without an answer.
fn appended(log: &JetStream, edge: &str, last: u64) -> Result<(), LogError> {
    match log.append_if(edge, last, b"batch") {
        Err(LogError::Conflict) => Ok(()),
        other => other,
    }
}

/// What each command does with the log.
fn acts(user: &str, access: &Access, (of_admin, admin): (&Access, &JetStream)) -> Result<(), Errors> {
    let mut errors = Vec::new();
    if user == "operator" {
        JetStream::remove(of_admin, &App::edges(), PATIENCE).unwrap();
        let log = opened(JetStream::create(access, &streams(), PATIENCE))?;
        // The application is another one now.
        let admin = &JetStream::open(of_admin, PATIENCE).unwrap();
        let app = App {
            program: "words".to_owned(),
            stages: vec![],
            replicas: 2,
            copies: 1,
            capacity: 1000,
            snapshot_every: 4,
        };
        match app.apply(&log) {
            Ok(applied) => assert_eq!(applied, Applied::Made),
            Err(error) => errors.push(error.to_string()),
        }
        let (worker, host, state) = ("w".to_owned(), "h".to_owned(), PlaceState::Diverged("it differs".to_owned()));
        let waits = None;
        let alarm = Place { worker, host, process: 1, beat: 1, position: 0, durable: 0, appends: false, state, waits };
        admin.compare_and_set("place.0", 0, &serde_json::to_vec(&alarm).unwrap()).unwrap();
        note(|| Place::end_alarms(&log, 2), &mut errors);
        drop(opened(JetStream::open(access, PATIENCE))?);
        note(|| log.resize(&Streams { capacity: 2000, ..streams() }), &mut errors);
        note(|| log.edge(App::INPUT), &mut errors);
        note(|| log.edge(App::OUTPUT), &mut errors);
        note(|| appended(&log, App::INPUT, 0), &mut errors);
        _ = admin.append_if(App::OUTPUT, 0, b"end");
        reads(&log, admin, App::INPUT, &mut errors);
        reads(&log, admin, App::OUTPUT, &mut errors);
        let removed = JetStream::remove(access, &App::edges(), PATIENCE);
        errors.extend(removed.err().map(|error| error.to_string()));
        return if errors.is_empty() { Ok(()) } else { Err(errors) };
    }
    let log = opened(JetStream::open(access, PATIENCE))?;
    let last = |edge: &str| admin.last(edge).unwrap();
    match user {
        "worker" => {
            note(|| log.get("app"), &mut errors);
            note(|| appended(&log, App::OUTPUT, last(App::OUTPUT)), &mut errors);
            note(|| log.last(App::OUTPUT), &mut errors);
            for key in ["place.0", "snapshot.out"] {
                let revision = admin.get(key).unwrap().map_or(0, |record| record.revision);
                let set = || match log.compare_and_set(key, revision, b"record") {
                    Err(LogError::Conflict) => Ok(()),
                    other => other,
                };
                note(set, &mut errors);
            }
            let states = vec![1; 3 << 20];
            note(|| log.put_blob("out.1", &states), &mut errors);
            note(|| log.blob("out.1"), &mut errors);
            note(|| log.remove_blob("out.1"), &mut errors);
            note(|| log.trim(App::INPUT, 1), &mut errors);
            // At the end, since reads also show what was refused without a call that waits for it.
            reads(&log, admin, App::INPUT, &mut errors);
            reads(&log, admin, App::OUTPUT, &mut errors);
        }
        "feeder" => {
            note(|| appended(&log, App::INPUT, last(App::INPUT)), &mut errors);
            note(|| log.last(App::INPUT), &mut errors);
            reads(&log, admin, App::INPUT, &mut errors);
        }
        _ => {
            note(|| log.last(App::OUTPUT), &mut errors);
            reads(&log, admin, App::OUTPUT, &mut errors);
            note(|| log.trim(App::OUTPUT, 1), &mut errors);
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// A login with the documented permissions, and for each of them one that lacks it.
fn each_permission_is_needed(test: &str, name: &str) {
    let all = publish(name);
    let mut cases = vec![(None, user("user-0", &all, INBOX)), (Some(INBOX), user("user-1", &all, "nothing"))];
    for permission in all.iter().filter(|permission| !NOT_HERE.contains(&permission.as_str())) {
        let others: Vec<String> = all.iter().filter(|other| *other != permission).cloned().collect();
        cases.push((Some(permission), user(&format!("user-{}", cases.len()), &others, INBOX)));
    }
    // An account each, so that they do not see each other.
    let accounts = cases.iter().enumerate().map(|(case, (_, user))| {
        let admin = format!("{{ user: \"admin-{case}\", password: p }}\n");
        format!("case-{case}: {{ jetstream: enabled, users: [\n{user}{admin}] }}\n")
    });
    let Some(server) = Server::configured(test, &format!("accounts {{\n{}}}\n", accounts.collect::<String>())) else {
        return;
    };
    let begun = |case: usize| {
        let of_admin = access(&server, &format!("admin-{case}"));
        let admin = JetStream::create(&of_admin, &streams(), PATIENCE).unwrap();
        App::edges().iter().for_each(|edge| admin.append_if(edge, 0, b"first").unwrap());
        acts(name, &access(&server, &format!("user-{case}")), (&of_admin, &admin))
    };
    let numbered: Vec<_> = cases.iter().map(|(lacks, _)| *lacks).enumerate().collect();
    for together in numbered.chunks(8) {
        thread::scope(|scope| {
            let running = together.iter().map(|(case, lacks)| (lacks, scope.spawn(|| begun(*case))));
            for (lacks, run) in running.collect::<Vec<_>>() {
                match (lacks, run.join().unwrap()) {
                    (None, done) => assert_eq!(done, Ok(()), "{name}"),
                    (Some(permission), Ok(())) => panic!("{name} does not need {permission}"),
                    (Some(permission), Err(errors)) => {
                        let named = |error: &String| {
                            error.split('"').skip(1).step_by(2).any(|subject| matches(subject, permission))
                        };
                        assert!(errors.iter().any(named), "{name} without {permission}: {errors:?}");
                    }
                }
            }
        });
    }
}

#[test]
fn an_operator_needs_each_of_its_permissions() {
    each_permission_is_needed("an_operator_needs_each_of_its_permissions", "operator");
}

#[test]
fn a_worker_needs_each_of_its_permissions() {
    each_permission_is_needed("a_worker_needs_each_of_its_permissions", "worker");
}

#[test]
fn a_feeder_needs_each_of_its_permissions() {
    each_permission_is_needed("a_feeder_needs_each_of_its_permissions", "feeder");
}

#[test]
fn a_reader_needs_each_of_its_permissions() {
    each_permission_is_needed("a_reader_needs_each_of_its_permissions", "reader");
}
