//! Encrypted connections: their files, and what to do if there is none.

use super::answers::with_causes;
use super::{OpenError, Tls};
use async_nats::rustls::{AlertDescription, CertificateError, Error as TlsError, InvalidMessage};
use async_nats::{ConnectError, ConnectErrorKind};
use std::error::Error;
use std::path::Path;
use std::{fs, io};

/// The client's error for a key that is not that of the certificate.
const OTHERS_KEY: &str = "could not add certificate or key";

impl Tls {
    /// Whether connections to these servers must be encrypted.
    pub(super) fn is_asked(&self, url: &str) -> bool {
        self.authority.is_some() || self.certificate.is_some() || url.contains("tls://")
    }

    /// Refuses files that the client would refuse without their names.
    pub(super) fn check(&self) -> Result<(), OpenError> {
        let certificates = self.authority.iter().chain(self.certificate.iter().map(|(certificate, _)| certificate));
        certificates.into_iter().try_for_each(|file| has(file, "-----BEGIN CERTIFICATE-----", "certificate"))?;
        self.certificate.iter().try_for_each(|(_, key)| has(key, "PRIVATE KEY-----", "private key"))
    }

    /// Why there is no encrypted connection; `None` if the cause is another.
    pub(super) fn why(&self, error: &ConnectError) -> Option<String> {
        if let Some(error) = cause(error) {
            return Some(self.said(error));
        }
        let others_key = || {
            let (certificate, key) = self.certificate.as_ref()?;
            let (certificate, key) = (certificate.display(), key.display());
            Some(format!("the key in {key} is not that of the certificate in {certificate}, or of an unknown kind"))
        };
        match (error.kind(), with_causes(error)) {
            (ConnectErrorKind::Tls, why) if why.contains(OTHERS_KEY) => others_key().or(Some(why)),
            (ConnectErrorKind::Tls, why) => Some(why),
            _ => None,
        }
    }

    /// What may be the reason if a server closes the connection: its alert can be lost then.
    pub(super) fn hint(&self, url: &str) -> String {
        match &self.certificate {
            _ if !self.is_asked(url) => String::new(),
            None => "; perhaps it asks for a certificate of this client: `--tls-certificate` and `--tls-key` \
                     (`Tls::certificate`) name one"
                .to_owned(),
            Some((file, _)) => format!(
                "; perhaps it refuses this client's certificate in {}: it takes those that an authority in its \
                 `ca_file` has signed",
                file.display()
            ),
        }
    }

    fn said(&self, error: &TlsError) -> String {
        use CertificateError as Certificate;
        match error {
            TlsError::InvalidCertificate(Certificate::UnknownIssuer | Certificate::BadSignature) => {
                match &self.authority {
                    None => "this machine does not trust the authority that signed the server's certificate: \
                         `--tls-authority` (`Tls::authority`) names a file with that authority's certificate"
                        .to_owned(),
                    Some(file) => format!(
                        "the server's certificate is not signed by an authority in {}: `--tls-authority` \
                     (`Tls::authority`) must name the one that signed it",
                        file.display()
                    ),
                }
            }
            TlsError::InvalidCertificate(
                error @ (Certificate::NotValidForName | Certificate::NotValidForNameContext { .. }),
            ) => format!("the server's certificate is another host's: {error}: use a name that it has in the URL"),
            TlsError::InvalidCertificate(error) => format!("the server's certificate is not valid: {error}"),
            TlsError::AlertReceived(alert) if is_about_certificates(*alert) => match &self.certificate {
                None => "the server asks for a certificate of this client: `--tls-certificate` and `--tls-key` \
                         (`Tls::certificate`) name one"
                    .to_owned(),
                Some((file, _)) => format!(
                    "the server refuses this client's certificate in {} ({alert:?}): it takes those that an authority \
                     in its `ca_file` has signed",
                    file.display()
                ),
            },
            TlsError::InvalidMessage(InvalidMessage::InvalidContentType) => {
                "the server does not encrypt: its configuration needs a `tls` block; without encryption, the URL \
                 begins with nats:// and no `--tls-` flag (`Tls`) is set"
                    .to_owned()
            }
            error => error.to_string(),
        }
    }
}

fn is_about_certificates(alert: AlertDescription) -> bool {
    use AlertDescription as Alert;
    matches!(
        alert,
        Alert::CertificateRequired
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied
    )
}

/// The error of the encryption among the causes of an error.
fn cause(error: &ConnectError) -> Option<&TlsError> {
    // An error of IO is not the cause of its own source: it has that inside.
    error.source()?.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref()
}

fn has(file: &Path, begins: &str, what: &str) -> Result<(), OpenError> {
    let unusable = |why| OpenError::Unusable { what: file.display().to_string(), why };
    let text = fs::read(file).map_err(|error| unusable(error.to_string()))?;
    if text.windows(begins.len()).any(|window| window == begins.as_bytes()) {
        return Ok(());
    }
    Err(unusable(format!("it has no {what} in PEM, which has a line with {begins:?}")))
}
