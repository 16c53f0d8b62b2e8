use axum::Router;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// Something that is served by a thread of its own until this is dropped.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) address: SocketAddr,
    /// Both are dropped at the end: nobody is let in any more, and those who are in get a last while.
    stop: Option<[oneshot::Sender<()>; 2]>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// In the end, requests that are being answered have so much time until they are cut off.
    pub(super) fn begin(address: impl ToSocketAddrs, app: Router, last_while: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ((closing, closed), (ending, ended)) = (oneshot::channel::<()>(), oneshot::channel::<()>());
        let stop = Some([closing, ending]);
        let serve = async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            let closed = async move { drop(closed.await) };
            let cut_off = async move {
                drop(ended.await);
                tokio::time::sleep(last_while).await;
            };
            tokio::select! {
                _ = axum::serve(listener, app).with_graceful_shutdown(closed) => {}
                () = cut_off => {}
            }
        };
        let work = move || {
            runtime.block_on(serve);
            // Whoever still reads events is not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("millstream-page".to_owned()).spawn(work)?;
        Ok(Served { address, stop, thread: Some(thread) })
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
