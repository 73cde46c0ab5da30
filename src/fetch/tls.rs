//! TLS: rustls with ring, verifying certificates by the platform's roots and those of the
//! configuration.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use reqwest::tls::{TlsInfo, Version};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls_platform_verifier::{BuilderVerifierExt as _, Verifier};

use super::Error;
use super::sessions::Sessions;

/// Returns the client configuration of all TLS connections. `files` are PEM files with further root
/// certificates; sessions of so many servers are kept.
pub(super) fn config(files: &[PathBuf], sessions: usize) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = || {
        ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
    };
    let extra = read_roots(files)?;
    let mut config = if extra.is_empty() {
        match builder()?.with_platform_verifier() {
            Ok(builder) => builder.with_no_client_auth(),
            Err(error) => {
                // Plain http needs no roots, so a machine without them can still crawl http.
                tracing::warn!(%error, "no root certificates found: every fetch over https will fail");
                builder()?
                    .with_root_certificates(rustls::RootCertStore::empty())
                    .with_no_client_auth()
            }
        }
    } else {
        let verifier = Verifier::new_with_extra_roots(extra, Arc::clone(&provider))?;
        builder()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth()
    };
    config.resumption = Resumption::store(Arc::new(Sessions::new(sessions)));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn read_roots(files: &[PathBuf]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let mut roots = Vec::new();
    for path in files {
        let failed = |reason: String| Error::Roots {
            path: path.clone(),
            reason,
        };
        let text = fs::read(path).map_err(|error| failed(error.to_string()))?;
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(&text) {
            roots.push(certificate.map_err(|error| failed(error.to_string()))?);
        }
        if roots.len() == before {
            return Err(failed("it holds no certificate".to_owned()));
        }
    }
    Ok(roots)
}

/// Returns the TLS version of a connection, as WARC-Protocol names it.
pub(super) fn protocol(info: &TlsInfo) -> Option<&'static str> {
    match info.version()? {
        Version::TLS_1_3 => Some("tls/1.3"),
        Version::TLS_1_2 => Some("tls/1.2"),
        _ => None,
    }
}
