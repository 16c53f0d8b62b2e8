use axum::Router;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// Something that is served by a thread of its own until this is dropped.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    pub(super) fn begin(address: impl ToSocketAddrs, app: Router) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let serve = async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            tokio::select! {
                _ = axum::serve(listener, app) => {}
                _ = stopped => {}
            }
        };
        let work = move || {
            runtime.block_on(serve);
            // Whoever still reads events is not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("millstream-page".to_owned()).spawn(work)?;
        Ok(Served { address, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
