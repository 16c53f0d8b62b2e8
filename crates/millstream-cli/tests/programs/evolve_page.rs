use crate::evolve::{start, wait_until};
use crate::scene::{Input, PATIENCE, Scene};
use millstream_testkit::programs::{headless_chromium, is_here};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};

/// A process that is killed on drop.
struct Doomed(Child);

impl Drop for Doomed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A run that would take for ever, and the address of its page.
struct Population {
    // No longer read; the program may still write to it.
    _errors: BufReader<ChildStderr>,
    address: String,
    _master: Doomed,
}

const EPIDEMIC: &str = "evolve --model epidemic --states 60 --work 2000 --workers 2";

impl Population {
    fn shown(scene: &Scene) -> Self {
        Population::shown_with(scene, "")
    }

    fn shown_with(scene: &Scene, more: &str) -> Self {
        let mut master = Doomed(start(scene, &format!("{EPIDEMIC} --rounds 100000 --page 127.0.0.1:0 {more}")));
        let mut said = String::new();
        let mut errors = BufReader::new(master.0.stderr.take().unwrap());
        errors.read_line(&mut said).unwrap();
        let address =
            said.trim_end().strip_prefix("millstream evolve: the population is shown at http://").expect(&said);
        Population { address: address.trim_end_matches('/').to_owned(), _errors: errors, _master: master }
    }

    fn got(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        let (head, body) = all.split_once("\r\n\r\n").expect("headers");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        body.to_owned()
    }

    fn now(&self) -> Value {
        serde_json::from_str(&self.got("/now.json")).unwrap()
    }

    fn await_rounds(&self) {
        wait_until("some rounds are done", || self.now()["round"].as_u64() >= Some(2));
    }
}

#[test]
fn a_page_shows_the_master_and_every_worker() {
    let scene = Scene::new();
    let shown = Population::shown(&scene);
    shown.await_rounds();
    let now = shown.now();
    assert_eq!((&now["model"], &now["rounds"]), (&"epidemic".into(), &100_000.into()));
    let population = &now["population"];
    let workers = population["workers"].as_array().unwrap();
    assert_eq!(workers.iter().map(|worker| worker["worker"].as_u64()).collect::<Vec<_>>(), [Some(0), Some(1)]);
    let evolved: u64 = workers.iter().map(|worker| worker["evolved"].as_u64().unwrap()).sum();
    assert!(evolved > 0 && population["counts"]["evolved"].as_u64() == Some(evolved), "{now}");
    for time in ["working", "waiting"] {
        assert!(workers.iter().all(|worker| worker[time].as_f64() >= Some(0.0)), "{now}");
    }
    let rounds = now["round"].as_u64().unwrap() as usize;
    assert_eq!([&now["estimate"], &now["truth"]].map(|line| line.as_array().unwrap().len()), [rounds; 2]);
    let page = shown.got("/");
    assert!(page.contains("<h2>Workers") && page.contains("\"model\":\"epidemic\""), "{page}");
    assert_eq!(shown.got("/health"), "{\"telling\":true}");
    wait_until("it goes on", || shown.now()["round"].as_u64() > now["round"].as_u64());
}

#[test]
fn a_resumed_run_shows_the_rounds_that_it_has() {
    let scene = Scene::new();
    let seen = scene.millstream(&format!("{EPIDEMIC} --rounds 3 --resume kept --quiet"), Input::Nothing);
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
    let shown = Population::shown_with(&scene, "--resume kept");
    wait_until("it shows rounds", || {
        let now = shown.now();
        assert!(now.is_null() || now["round"].as_u64() >= Some(3), "{now}");
        !now.is_null()
    });
}

#[test]
fn a_population_can_be_scraped_and_says_that_it_is_no_run() {
    let scene = Scene::new();
    let shown = Population::shown(&scene);
    shown.await_rounds();
    let metrics = shown.got("/metrics");
    for series in
        ["\nmillstream_evolve_rounds 100000\n", "\nmillstream_evolve_evolved_total ", "_seconds_total{worker=\"1\"} "]
    {
        assert!(metrics.contains(series), "no {series:?} in {metrics}");
    }
    let seen = scene.millstream(&format!("top --once {}", shown.address), Input::Nothing);
    assert!(seen.stderr.contains("no run of a pipeline is shown here: open / in a browser"), "{seen:?}");
}

#[test]
fn a_browser_draws_the_master_and_every_worker() {
    if !is_here("chromium", "a_browser_draws_the_master_and_every_worker") {
        return;
    }
    let scene = Scene::new();
    let shown = Population::shown(&scene);
    shown.await_rounds();
    let page = format!("http://{}/", shown.address);
    let browser = headless_chromium(&scene.path("profile")).args(["--dump-dom", &page]).output().unwrap();
    let dom = String::from_utf8(browser.stdout).unwrap();
    for drawn in [
        "id=\"model\">epidemic</span>",
        "of 100000 rounds",
        "2 workers, 0 lost;",
        "<td>0</td>",
        "<td>1</td>",
        "% working\"",
        "<polyline",
    ] {
        assert!(dom.contains(drawn), "no {drawn} in {dom}");
    }
    assert_eq!(dom.matches("class=\"share\"").count(), 2, "{dom}");
}

/// It shows them come.
#[test]
fn a_page_is_there_before_any_worker() {
    let scene = Scene::new();
    let args = "evolve --model linear --transport unix --listen ./master --workers 0 --page 127.0.0.1:0";
    let mut command = scene.command("millstream", args);
    command.env("MILLSTREAM_SECRET", "among ourselves").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut master = Doomed(command.spawn().unwrap());
    let mut said = String::new();
    BufReader::new(master.0.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.starts_with("millstream evolve: the population is shown at http://"), "{said}");
}

/// A page that cannot be opened is an error before the work, as in every program.
#[test]
fn a_page_that_cannot_be_opened_ends_the_run_before_it_begins() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let args = format!("evolve --model linear --states 10 --rounds 2 --page {}", address.port());
    let seen = Scene::new().millstream(&args, Input::Nothing);
    let said = format!("millstream evolve: --page {address}: Address already in use\n");
    assert_eq!((seen.text().as_str(), seen.stderr, seen.code), ("", said, Some(1)));
    for page in ["0", ":0", "localhost:0", "127.0.0.1:0"] {
        for args in ["evolve --model linear --states 10 --rounds 2", "copying --items 9"] {
            let seen = Scene::new().millstream(&format!("{args} --page {page}"), Input::Nothing);
            assert!(seen.stderr.contains(" is shown at http://"), "{args} --page {page}: {}", seen.stderr);
            assert_eq!(seen.code, Some(0), "{args} --page {page}");
        }
    }
}
