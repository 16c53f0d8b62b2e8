//! An authority, and the certificates that it has signed for servers and clients, as files.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use std::path::PathBuf;
use tempfile::TempDir;

/// `authority.pem`, and `server`, `client` and `elsewhere` with their keys: `server.pem`, `server-key.pem`. The server
/// of `elsewhere.pem` has another host's name.
pub(crate) struct Certificates(TempDir);

impl Certificates {
    pub(crate) fn make() -> Self {
        let home = TempDir::new().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name.push(DnType::CommonName, "an authority of a test");
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let made = Certificates(home);
        std::fs::write(made.path("authority.pem"), authority.pem()).unwrap();
        for (name, host) in [("server", "127.0.0.1"), ("elsewhere", "nats.example.org"), ("client", "worker")] {
            let key = KeyPair::generate().unwrap();
            let signed = CertificateParams::new([host.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
            std::fs::write(made.path(&format!("{name}.pem")), signed.pem()).unwrap();
            std::fs::write(made.path(&format!("{name}-key.pem")), key.serialize_pem()).unwrap();
        }
        made
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The configuration of a server with the certificate of this name.
    pub(crate) fn tls(&self, name: &str, verify: bool) -> String {
        let file = |name: String| self.path(&name);
        format!(
            "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: {verify} }}\n",
            file(format!("{name}.pem")),
            file(format!("{name}-key.pem")),
            file("authority.pem".to_owned())
        )
    }
}
