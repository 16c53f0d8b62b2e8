//! Logins with the permissions of `deploy/permissions.conf`: by password, by key, and by credentials.

use crate::cluster::{Cluster, Worker, counted, lines};
use crate::documented::{INBOX, publish};
use crate::scene::{Input, Seen, ended};
use data_encoding::BASE64URL_NOPAD;
use nkeys::KeyPair;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

const USERS: [&str; 4] = ["operator", "worker", "feeder", "reader"];

/// Runs a command for the application `count` with a login of this user.
type With<'a> = dyn Fn(&str, &str) -> Command + 'a;

fn run(cluster: &Cluster, command: Command, input: &[u8]) -> Seen {
    cluster.scene.run(command, Input::Pipe(input, 1 << 16))
}

/// An application from its beginning to its end, each command with the login that it needs and no more.
fn whole(cluster: &Cluster, with: &With<'_>) {
    let done = |user: &str, args: &str, input: &[u8]| {
        let seen = run(cluster, with(user, args), input);
        assert_eq!(seen.code, Some(0), "{user}, {args}: {}", seen.stderr);
        seen
    };
    done("operator", "cluster apply words --snapshot-every 2", b"");
    let worker = || Worker(with("worker", "worker --workers 1").stdout(Stdio::null()).spawn().unwrap());
    let mut workers = vec![worker()];
    let text = lines(2000);
    let (first, second) = text.split_at(text.len() / 2);
    done("feeder", "cluster feed --batch 256", first.as_bytes());
    let snapshot =
        || -> Value { serde_json::from_slice(&done("operator", "cluster status --json", b"").stdout).unwrap() };
    while snapshot()["snapshot"].as_u64() < Some(4) {}
    // Another worker begins at the snapshot.
    workers.push(worker());
    done("feeder", "cluster feed --batch 256", second.as_bytes());
    for (user, args, permission) in [
        ("worker", "cluster feed", "count.in"),
        ("reader", "cluster drain --within 9s", "$JS.API.STREAM.INFO.count-in"),
        ("feeder", "cluster rm", "$JS.API.DIRECT.GET.KV_count-records.$KV.count-records.app"),
        ("worker", "cluster rm --force", "$JS.API.STREAM.DELETE.KV_count-records"),
        ("reader", "worker", "$JS.API.DIRECT.GET.KV_count-records.$KV.count-records.app"),
    ] {
        let seen = run(cluster, with(user, args), b"more\n");
        assert_eq!(seen.code, Some(1), "{user} may not {args}: {}", seen.stderr);
        assert!(seen.stderr.contains(&format!("\"{permission}\"")), "{user} may not {args}: {}", seen.stderr);
        assert!(seen.stderr.contains("deploy/permissions.conf"), "{}", seen.stderr);
    }
    done("operator", "cluster drain --within 30s", b"");
    assert_eq!(done("reader", "cluster read --trim", b"").text(), counted(&text));
    for worker in &mut workers {
        assert_eq!(ended(&mut worker.0).code(), Some(0));
    }
    done("operator", "cluster rm", b"");
}

#[test]
fn a_login_is_required_and_not_shown() {
    let users = "authorization { users: [ { user: \"me\", password: \"knows\" } ] }";
    let Some(cluster) = Cluster::start("a_login_is_required_and_not_shown", users) else { return };
    let refused = cluster.run("cluster apply wc --app a", b"");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("refuses this login: "), "{}", refused.stderr);
    let with = |password: &str| {
        let mut command = cluster.command("cluster apply wc --app a --nats-user me");
        command.env("MILLSTREAM_NATS_PASSWORD", password);
        cluster.scene.run(command, Input::Nothing)
    };
    let wrong = with("guesses");
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("refuses this login: ") && !wrong.stderr.contains("guesses"), "{}", wrong.stderr);
    assert_eq!(with("knows").code, Some(0));
}

#[test]
fn a_removal_that_was_cut_short_is_finished_by_the_same_command() {
    let users = "authorization { users: [ { user: all, password: p }, { user: some, password: p, permissions: { \
                 publish: { deny: [\"$JS.API.STREAM.DELETE.a-in\"] } } } ] }";
    let Some(cluster) = Cluster::start("a_removal_that_was_cut_short_is_finished_by_the_same_command", users) else {
        return;
    };
    for (user, args, code, says) in [
        ("all", "cluster apply wc", 0, "made"),
        ("some", "cluster rm", 1, "\"$JS.API.STREAM.DELETE.a-in\""),
        ("all", "cluster status", 2, "there is no application \"a\" at "),
        ("all", "cluster apply wc", 2, " is removed in part: `cluster rm` removes the rest"),
        ("all", "cluster rm", 0, "application a is removed"),
        ("all", "cluster rm", 2, "there is no application \"a\" at "),
        ("all", "cluster apply wc", 0, "made"),
    ] {
        let mut command = cluster.command(&format!("{args} --app a --nats-user {user}"));
        command.env("MILLSTREAM_NATS_PASSWORD", "p");
        let seen = cluster.scene.run(command, Input::Nothing);
        assert_eq!(seen.code, Some(code), "{user}: {args}: {}", seen.stderr);
        assert!(seen.stderr.contains(says), "{user}: {args}: {}", seen.stderr);
    }
}

#[test]
fn each_login_may_do_what_it_needs_and_no_more() {
    let passwords = "OPERATOR_PASSWORD: o\nWORKER_PASSWORD: w\nFEEDER_PASSWORD: f\nREADER_PASSWORD: r\n";
    let permissions = include_str!("../../../../deploy/permissions.conf");
    let config = format!("{passwords}{permissions}");
    let Some(cluster) = Cluster::start("each_login_may_do_what_it_needs_and_no_more", &config) else { return };
    whole(&cluster, &|user, args| {
        let mut command = cluster.command(&format!("{args} --app count --nats-user {user}"));
        command.env("MILLSTREAM_NATS_PASSWORD", &user[..1]);
        command
    });
}

#[test]
fn each_key_may_do_what_it_needs_and_no_more() {
    let keys = USERS.map(|user| (user, KeyPair::new_user()));
    let users = keys.iter().map(|(user, key)| {
        let (key, publish) = (key.public_key(), publish(user));
        format!("{{ nkey: {key}, permissions: {{ publish: {publish:?}, subscribe: [{INBOX:?}] }} }}\n")
    });
    let config = format!("authorization {{ users: [\n{}] }}\n", users.collect::<String>());
    let Some(cluster) = Cluster::start("each_key_may_do_what_it_needs_and_no_more", &config) else { return };
    for (user, key) in &keys {
        std::fs::write(cluster.scene.path(user), format!("{}\n", key.seed().unwrap())).unwrap();
    }
    whole(&cluster, &|user, args| cluster.command(&format!("{args} --app count --nats-key {user}")));

    std::fs::write(cluster.scene.path("other"), KeyPair::new_user().seed().unwrap()).unwrap();
    std::fs::write(cluster.scene.path("none"), "no seed").unwrap();
    for (key, code, says) in [
        ("other", 1, "refuses this login: "),
        ("none", 2, "the key of the login cannot be used: the seed of a user's key begins with SU"),
        ("nosuch", 2, "--nats-key: nosuch: No such file"),
    ] {
        let seen = cluster.run(&format!("cluster status --app count --nats-key {key}"), b"");
        assert_eq!(seen.code, Some(code), "{key}: {}", seen.stderr);
        assert!(seen.stderr.contains(says) && !seen.stderr.contains("no seed"), "{key}: {}", seen.stderr);
    }
}

/// A token (JWT) that one key signs for another.
fn token(signs: &KeyPair, subject: &KeyPair, name: &str, nats: Value) -> String {
    let mut nats = nats;
    nats["version"] = json!(2);
    let claims = json!({
        "jti": name, "iat": 1, "iss": signs.public_key(), "sub": subject.public_key(), "name": name, "nats": nats
    });
    let part = |value: Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let signed = format!("{}.{}", part(json!({ "typ": "JWT", "alg": "ed25519-nkey" })), part(claims));
    let signature = BASE64URL_NOPAD.encode(&signs.sign(signed.as_bytes()).unwrap());
    format!("{signed}.{signature}")
}

/// A file of credentials, as `nsc` writes it.
fn credentials(token: &str, key: &KeyPair) -> String {
    format!(
        "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        key.seed().unwrap()
    )
}

#[test]
fn each_credentials_may_do_what_they_need_and_no_more() {
    let (operator, account) = (KeyPair::new_operator(), KeyPair::new_account());
    let of_operator = token(&operator, &operator, "operator", json!({ "type": "operator" }));
    let unlimited = [
        "subs",
        "data",
        "payload",
        "imports",
        "exports",
        "conn",
        "leaf",
        "mem_storage",
        "disk_storage",
        "streams",
        "consumer",
    ];
    let limits: Value = unlimited.into_iter().map(|limit| (limit.to_owned(), json!(-1))).collect();
    let of_account = token(&operator, &account, "account", json!({ "type": "account", "limits": limits }));
    // The server's own account.
    let system = KeyPair::new_account();
    let of_system = token(&operator, &system, "system", json!({ "type": "account" }));
    let (account_key, system_key) = (account.public_key(), system.public_key());
    let config = format!(
        "operator: \"{of_operator}\"\nsystem_account: {system_key}\nresolver: MEMORY\n\
         resolver_preload: {{ {account_key}: \"{of_account}\", {system_key}: \"{of_system}\" }}\n"
    );
    let Some(cluster) = Cluster::start("each_credentials_may_do_what_they_need_and_no_more", &config) else { return };
    let make = |user: &str, publish: &[String]| {
        let key = KeyPair::new_user();
        let rights = json!({
            "type": "user", "pub": { "allow": publish }, "sub": { "allow": [INBOX] },
            "subs": -1, "data": -1, "payload": -1,
        });
        let file = credentials(&token(&account, &key, user, rights), &key);
        std::fs::write(cluster.scene.path(&format!("{user}.creds")), file).unwrap();
    };
    for user in USERS {
        make(user, &publish(user));
    }
    let with = |user: &str, args: &str| cluster.command(&format!("{args} --app count --nats-credentials {user}.creds"));
    whole(&cluster, &with);

    let (stranger, theirs) = (KeyPair::new_account(), KeyPair::new_user());
    let of_stranger = token(&stranger, &theirs, "stranger", json!({ "type": "user" }));
    std::fs::write(cluster.scene.path("stranger.creds"), credentials(&of_stranger, &theirs)).unwrap();
    std::fs::write(cluster.scene.path("none.creds"), "no credentials").unwrap();
    for (user, code, says) in [
        ("stranger", 1, "refuses this login: "),
        ("none", 2, "none.creds cannot be used: cannot parse user JWT from the credentials file"),
        ("nosuch", 2, "nosuch.creds cannot be used: No such file"),
    ] {
        let seen = run(&cluster, with(user, "cluster status"), b"");
        assert_eq!(seen.code, Some(code), "{user}: {}", seen.stderr);
        assert!(seen.stderr.contains(says), "{user}: {}", seen.stderr);
    }
    // One permission less.
    let mut fewer = publish("reader");
    fewer.retain(|permission| permission != "$JS.API.STREAM.PURGE.count-out");
    make("fewer", &fewer);
    assert_eq!(run(&cluster, with("operator", "cluster apply wc"), b"").code, Some(0));
    assert_eq!(run(&cluster, with("feeder", "cluster feed --end"), b"to be\n").code, Some(0));
    assert_eq!(run(&cluster, with("worker", "worker"), b"").code, Some(0));
    let seen = run(&cluster, with("fewer", "cluster read --trim"), b"");
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    assert!(seen.stderr.contains("\"$JS.API.STREAM.PURGE.count-out\""), "{}", seen.stderr);
    assert_eq!(run(&cluster, with("fewer", "cluster read"), b"").text(), "1 2 6\n");
    let mut fewer = publish("operator");
    fewer.retain(|permission| permission != "$JS.API.DIRECT.GET.count-out");
    make("fewer", &fewer);
    let seen = run(&cluster, with("fewer", "cluster drain --within 20s"), b"");
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    assert!(seen.stderr.contains("\"$JS.API.DIRECT.GET.count-out\""), "{}", seen.stderr);
}
