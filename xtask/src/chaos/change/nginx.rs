//! The yardstick: the same clients behind nginx, whose workers are replaced as often.

use super::super::clients::Seen;
use super::super::processes::{PATIENCE, Service, free_port, io};
use super::{Change, times};
use crate::cmd::{Result, failure};
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Whether it can be started here.
fn is_here() -> bool {
    Command::new("nginx").arg("-v").stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

impl<S: Service> Change<'_, S> {
    /// Reloads nginx, which forwards to the program, under the clients.
    pub(super) fn beside_nginx(&mut self, reloads: u64) -> Result<String> {
        if !is_here() {
            println!("SKIPPED nginx: there is none");
            return Ok("nginx is not here".to_owned());
        }
        let (port, place) = (free_port()?, self.service.place());
        let nginx = start(&place.home, port, place.port)?;
        let clients = self.clients(port, 2, true);
        let seen = clients.seen.clone();
        for _ in 0..reloads {
            sleep(Duration::from_millis(self.random.below(super::PAUSE_MS)));
            // The first of its processes starts new workers, and ends the old ones when they are idle.
            nginx.signal("-HUP").map_err(io("reload nginx"))?;
        }
        self.posts.extend(clients.end()?);
        Ok(said(&seen, reloads))
    }
}

fn said(seen: &Seen, reloads: u64) -> String {
    format!(
        "nginx, reloaded {reloads} times: {} connections were reset or ended without an answer; answers on new \
         connections took {}",
        seen.broken.load(Ordering::Relaxed),
        times(seen.take())
    )
}

/// Its first process, which ends its workers when it is terminated, and not when it is killed.
struct Nginx(Child);

impl Nginx {
    fn signal(&self, signal: &str) -> std::io::Result<()> {
        Command::new("kill").args([signal, &self.0.id().to_string()]).status().map(drop)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.signal("-TERM");
        let _ = self.0.wait();
    }
}

fn start(home: &Path, port: u16, behind: u16) -> Result<Nginx> {
    let dir = home.join("nginx");
    fs::create_dir_all(&dir).map_err(io("make a directory"))?;
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|of| format!("{of}_temp_path {}/{of};", dir.display()))
        .collect();
    let config = format!(
        "daemon off; pid {dir}/pid; error_log {dir}/errors; worker_processes 2; events {{}}
         http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{port}; location / {{
         proxy_pass http://127.0.0.1:{behind}; proxy_pass_request_headers on; }} }} }}",
        dir = dir.display()
    );
    let file = dir.join("conf");
    fs::write(&file, config).map_err(io("write a file"))?;
    let child = Command::new("nginx").arg("-p").arg(&dir).arg("-c").arg(&file).stdin(Stdio::null()).spawn();
    let nginx = Nginx(child.map_err(io("start nginx"))?);
    let since = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if since.elapsed() > PATIENCE {
            return Err(failure("nginx does not listen"));
        }
        sleep(Duration::from_millis(5));
    }
    Ok(nginx)
}
