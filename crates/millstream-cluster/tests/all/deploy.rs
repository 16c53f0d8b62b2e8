//! The files of deploy/ are what they say: parsed by the types of Kubernetes, and consistent with each other.

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{Container, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_norway::Value;
use std::path::PathBuf;

fn text(name: &str) -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// A manifest, which has no field that its type does not know.
fn typed<T: DeserializeOwned + serde::Serialize>(value: &Value) -> T {
    let typed: T = serde_norway::from_value(value.clone()).unwrap();
    let back = serde_norway::to_value(&typed).unwrap();
    contains(value, &back, "");
    typed
}

/// Fails where `whole` lacks a field of `part`: the types leave out what they do not know.
fn contains(part: &Value, whole: &Value, at: &str) {
    match (part, whole) {
        (Value::Mapping(part), Value::Mapping(whole)) => part.iter().for_each(|(key, value)| {
            let at = format!("{at}.{}", key.as_str().unwrap_or_default());
            contains(value, whole.get(key).unwrap_or_else(|| panic!("{at} is unknown")), &at);
        }),
        (Value::Sequence(part), Value::Sequence(whole)) => {
            part.iter().zip(whole).for_each(|(part, whole)| contains(part, whole, at));
        }
        _ => {}
    }
}

fn documents(name: &str) -> Vec<Value> {
    let text = text(name);
    serde_norway::Deserializer::from_str(&text).map(|document| Value::deserialize(document).unwrap()).collect()
}

fn of_kind<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    documents.iter().find(|document| document["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

fn args(container: &Container) -> Vec<&str> {
    container.args.iter().flatten().map(String::as_str).collect()
}

#[test]
fn the_manifests_are_those_of_kubernetes() {
    let nats = documents("kubernetes/nats.yaml");
    let service: Service = typed(of_kind(&nats, "Service"));
    let servers: StatefulSet = typed(of_kind(&nats, "StatefulSet"));
    let _: PodDisruptionBudget = typed(of_kind(&nats, "PodDisruptionBudget"));
    let servers = servers.spec;
    assert_eq!((servers.replicas, servers.service_name), (Some(3), service.metadata.name));
    let workers = documents("kubernetes/worker.yaml");
    let deployment: Deployment = typed(of_kind(&workers, "Deployment"));
    let scaler: HorizontalPodAutoscaler = typed(of_kind(&workers, "HorizontalPodAutoscaler"));
    let _: PodDisruptionBudget = typed(of_kind(&workers, "PodDisruptionBudget"));
    assert_eq!(Some(scaler.spec.scale_target_ref.name), deployment.metadata.name);
    let container = &deployment.spec.template.spec.unwrap().containers[0];
    assert_eq!(args(container), ["worker", "--app", "count", "--nats-user", "worker"]);
    let names: Vec<&str> = container.env.iter().flatten().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["MILLSTREAM_NATS", "MILLSTREAM_NATS_PASSWORD"]);
}

/// The image's toolchain is the one that builds: the file in the tree names another one.
#[test]
fn an_image_is_built_by_the_toolchain_that_it_names() {
    let minimum = text("../Cargo.toml");
    let minimum = minimum.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    for file in ["Dockerfile", "../docs/grafana/compose.yaml"] {
        let file = text(file);
        let at = |what: &str| file.find(what).unwrap_or_else(|| panic!("no `{what}` in {file}"));
        assert!(at(&format!("FROM rust:{minimum}")) < at("RUN rm rust-toolchain.toml"));
        assert!(at("RUN rm rust-toolchain.toml") < at("cargo build --release --locked "));
    }
}

#[test]
fn the_compose_file_and_the_unit_start_the_same_worker() {
    let compose = documents("compose.yaml").remove(0);
    let services = compose["services"].as_mapping().unwrap();
    assert_eq!(services.len(), 5);
    for n in 0..3 {
        let service = &services[format!("nats-{n}").as_str()];
        assert_eq!(service["environment"]["NAME"].as_str(), Some(format!("nats-{n}").as_str()));
    }
    let command = compose["services"]["worker"]["command"].as_sequence().unwrap();
    let command: Vec<&str> = command.iter().filter_map(Value::as_str).collect();
    assert_eq!(command, ["worker", "--app", "count", "--nats-user", "worker"]);
    let unit = text("millstream-worker.service");
    let starts = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/millstream ")).unwrap();
    assert_eq!(starts.split(' ').collect::<Vec<_>>(), command);
    let lines = unit.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    assert!(lines.clone().all(|line| line.starts_with('[') || line.contains('=')), "{unit}");
    let sections: Vec<&str> = lines.filter(|line| line.starts_with('[')).collect();
    assert_eq!(sections, ["[Unit]", "[Service]", "[Install]"]);
}

/// The configuration of three servers in the book's chapter: one that a server takes, and that of the file.
#[cfg(feature = "nats")]
#[test]
fn the_chapters_configuration_is_that_of_the_file() {
    let chapter = text("../docs/book/src/beyond-one-machine.md");
    let (_, block) = chapter.split_once("```text\nserver_name: a\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let (file, names) = (text("nats.conf"), [("a:", "nats-0:"), ("b:", "nats-1:"), ("c:", "nats-2:")]);
    for line in block.lines().filter(|line| !line.contains("store_dir")) {
        let line = names
            .iter()
            .fold(line.to_owned(), |line, (ours, theirs)| line.replace(&format!("//{ours}"), &format!("//{theirs}")));
        assert!(file.lines().any(|of_file| of_file == line), "{line}");
    }
    assert!(block.contains("jetstream {\n  store_dir: \"/var/lib/nats\"\n  sync_interval: always\n}\n"), "{block}");
    assert!(chapter.contains("/blob/main/deploy/nats.conf)"));
    let Some(program) = crate::server::program("the_chapters_configuration_is_that_of_the_file") else { return };
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("nats.conf");
    std::fs::write(&config, format!("server_name: a\n{block}")).unwrap();
    let checked = std::process::Command::new(program).arg("-t").arg("-c").arg(&config).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[cfg(feature = "nats")]
#[test]
fn the_servers_configuration_is_one_and_syncs() {
    let test = "the_servers_configuration_is_one_and_syncs";
    let Some(program) = crate::server::program(test) else { return };
    let config = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/nats.conf");
    let mut server = std::process::Command::new(program);
    server.env("NAME", "any");
    let secret = text("kubernetes/nats.yaml");
    let passwords = ["OPERATOR_PASSWORD", "WORKER_PASSWORD", "FEEDER_PASSWORD", "READER_PASSWORD"];
    // As the command of the comment makes them: hexadecimal digits, which alone may be a number, behind a letter.
    for (name, digits) in passwords.into_iter().zip(["1", "1e", "0a", "f"]) {
        assert!(secret.contains(&format!("{name}=p$(openssl rand -hex 24)")));
        server.env(name, format!("p{}", digits.repeat(48 / digits.len())));
    }
    let checked = server.args(["-t", "-c"]).arg(config).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert!(text("nats.conf").contains("\n  sync_interval: always\n"));
}
