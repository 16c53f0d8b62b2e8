//! Certificates for encrypted connections.

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;

/// The certificates of a server, and their key: TLS 1.2 and 1.3, by rustls.
#[derive(Clone)]
pub struct Certificate(Arc<ServerConfig>);

impl Certificate {
    /// Reads PEM files: the chain of certificates, the server's own first, and the private key.
    ///
    /// ```no_run
    /// use millstream::net::http::{Certificate, Limits, Server, axum::Router};
    /// let certificate = Certificate::read("fullchain.pem", "privkey.pem")?;
    /// let limits = Limits::default().token("a token that is hard to guess");
    /// let server = Server::open_tls("0.0.0.0:443", Router::new(), limits, &certificate)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or has no certificate or key; or the key belongs to another certificate.
    pub fn read(certificates: impl AsRef<Path>, key: impl AsRef<Path>) -> io::Result<Self> {
        Certificate::from_pem(&std::fs::read(certificates)?, &std::fs::read(key)?)
    }

    /// Reads the bytes of such files.
    ///
    /// # Errors
    ///
    /// As [`read`](Certificate::read).
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> io::Result<Self> {
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(certificates).collect::<Result<_, _>>().map_err(io::Error::other)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(io::Error::other)?;
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Certificate(Arc::new(config)))
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.0.clone().into()
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").finish_non_exhaustive()
    }
}
