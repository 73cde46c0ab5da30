//! Certificates and servers that speak TLS, on loopback: an authority of the test's own, and what
//! it, or nobody, vouches for.

// Each test binary uses its part of it.
#![allow(dead_code, unreachable_pub)]

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// An authority, and the file that a crawler trusts it by.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: TempDir,
}

/// What is odd about a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    None,
    Expired,
    NotYetValid,
    SelfSigned,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "an authority of a test");
        let key = KeyPair::generate().expect("keys can be made");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("it signs itself");
        let directory = tempfile::tempdir().expect("there is a directory for temporary files");
        std::fs::write(directory.path().join("ca.pem"), issuer.pem()).expect("it is ours");
        Self { issuer, directory }
    }

    /// Its certificate.
    pub fn file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// The server's side for a name, with these protocols, the preferred one first.
    pub fn server(&self, name: &str, flaw: Flaw, protocols: &[&str]) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring knows them");
        let names = vec![name.to_owned()];
        self.complete(config.with_no_client_auth(), names, flaw, protocols)
    }

    /// The server's side for all of these names, over HTTP/1.1.
    pub fn server_of(&self, names: &[String]) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring knows them")
            .with_no_client_auth();
        self.complete(config, names.to_vec(), Flaw::None, &["http/1.1"])
    }

    /// The server's side for a name, which knows TLS 1.2 only.
    pub fn old_server(&self, name: &str) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS12])
            .expect("ring knows it");
        self.complete(
            config.with_no_client_auth(),
            vec![name.to_owned()],
            Flaw::None,
            &["http/1.1"],
        )
    }

    /// Files of a certificate for these names, and of its key.
    pub fn files_of(&self, name: &str, names: &[&str]) -> (PathBuf, PathBuf) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let key = KeyPair::generate().expect("keys can be made");
        let params = CertificateParams::new(names).expect("they are names");
        let signed = params.signed_by(&key, &self.issuer);
        let certificate = signed.expect("it can be signed").pem();
        let of = |kind: &str| self.directory.path().join(format!("{name}.{kind}.pem"));
        std::fs::write(of("cert"), certificate).expect("it is ours");
        std::fs::write(of("key"), key.serialize_pem()).expect("it is ours");
        (of("cert"), of("key"))
    }

    fn complete(
        &self,
        config: rustls::ConfigBuilder<ServerConfig, rustls::server::WantsServerCert>,
        names: Vec<String>,
        flaw: Flaw,
        protocols: &[&str],
    ) -> ServerConfig {
        let mut params = CertificateParams::new(names).expect("they are names");
        match flaw {
            Flaw::Expired => params.not_after = date_time_ymd(2020, 1, 1),
            Flaw::NotYetValid => params.not_before = date_time_ymd(2090, 1, 1),
            Flaw::None | Flaw::SelfSigned => {}
        }
        let key = KeyPair::generate().expect("keys can be made");
        let signed = match flaw {
            Flaw::SelfSigned => params.self_signed(&key),
            _ => params.signed_by(&key, &self.issuer),
        };
        let certificate = signed.expect("it can be signed").der().clone();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = config
            .with_single_cert(vec![certificate], key)
            .expect("they belong together");
        config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
        config
    }
}

/// Listens on loopback and gives each connection to `answer`; ends with the runtime of the test.
pub async fn serve<F>(
    config: ServerConfig,
    answer: impl Fn(TlsStream<TcpStream>) -> F + Send + Sync + 'static,
) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, answer) = (acceptor.clone(), Arc::clone(&answer));
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    answer(stream).await;
                }
            });
        }
    });
    address
}
