//! Clocks that jump: those of all processes of a cluster but the server's.

use crate::cluster::{Cluster, Worker, counted, lines};
use crate::scene::ended;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Between two looks the time of day jumps by up to ten years, back and forth.
const JUMPS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long jump(void) {
    static __thread unsigned seed = 7;
    return rand_r(&seed) % 630720000 - 315360000;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += jump();
    return result;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *into) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into) *into = now.tv_sec;
    return now.tv_sec;
}
"#;

/// The library that makes clocks jump; none, and why, if there is no C compiler for it.
fn jumps(dir: &Path) -> Option<PathBuf> {
    let (source, library) = (dir.join("jumps.c"), dir.join("jumps.so"));
    std::fs::write(&source, JUMPS).unwrap();
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").status();
    if cfg!(all(target_os = "linux", target_env = "gnu")) && made.is_ok_and(|made| made.success()) {
        return Some(library);
    }
    assert!(std::env::var("MILLSTREAM_REQUIRE").as_deref() != Ok("all"), "there is no C compiler");
    eprintln!("SKIPPED clocks_that_jump_change_nothing: there is no C compiler");
    None
}

#[test]
fn clocks_that_jump_change_nothing() {
    let Some(cluster) = Cluster::start("clocks_that_jump_change_nothing", "") else { return };
    let Some(library) = jumps(&cluster.scene.path("")) else { return };
    let jumping = |args: &str| {
        let mut command = cluster.command(args);
        command.env("LD_PRELOAD", &library);
        command
    };
    // The library does what it says.
    let years: Vec<String> = (0..2)
        .map(|_| {
            let date = Command::new("date").arg("+%Y").env("LD_PRELOAD", &library).output().unwrap();
            String::from_utf8(date.stdout).unwrap()
        })
        .collect();
    let now = Command::new("date").arg("+%Y").output().unwrap();
    assert_ne!(years[0].as_bytes(), now.stdout, "{years:?}");
    cluster.done("cluster apply words --app a --snapshot-every 4", b"");
    let worker = || {
        let mut worker = jumping("worker --app a --workers 1");
        Worker(worker.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    };
    let mut workers = [worker(), worker()];
    let text = lines(3000);
    let (first, second) = text.split_at(text.len() / 2);
    for (half, args) in [(first, ""), (second, "--end")] {
        std::fs::write(cluster.scene.path("text"), half).unwrap();
        let mut feed = jumping(&format!("cluster feed --app a --batch 512 {args} text"));
        assert_eq!(feed.status().unwrap().code(), Some(0));
        if args.is_empty() {
            // Its place is free once it has been silent for long enough, by whichever clock.
            workers[0].0.kill().unwrap();
            workers[0] = worker();
        }
    }
    let read = jumping("cluster read --app a").output().unwrap();
    assert!(read.stdout == counted(&text).as_bytes(), "{} bytes", read.stdout.len());
    for worker in &mut workers {
        assert_eq!(ended(&mut worker.0).code(), Some(0));
    }
}
