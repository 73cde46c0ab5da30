//! Where the engine is, and how it is reached.

use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::str::FromStr;

use async_nats::{ConnectOptions, ServerAddr};

use crate::broker::{Error, Result};

/// Where the engine is and how the crawl is called there: `nats://a,b:4222,c/NAME`, or `tls://…`,
/// where nothing is said without TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    scheme: Scheme,
    servers: Vec<String>,
    name: String,
    files: TlsFiles,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    /// With TLS if the server wants it.
    Nats,
    /// Never without TLS.
    Tls,
}

/// Files of PEM for TLS with the servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of who signs those of the servers; `None` for those that the system trusts.
    pub ca: Option<PathBuf>,
    /// The certificate and the key by which the servers know who connects, if they ask.
    pub own: Option<(PathBuf, PathBuf)>,
}

impl Scheme {
    const ALL: [Self; 2] = [Self::Nats, Self::Tls];

    fn prefix(self) -> &'static str {
        match self {
            Self::Nats => "nats://",
            Self::Tls => "tls://",
        }
    }
}

impl Address {
    /// Returns the name of the crawl.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same, reached with these files. Where any is given, nothing is said without TLS.
    #[must_use]
    pub fn with(self, files: TlsFiles) -> Self {
        Self { files, ..self }
    }

    /// Returns the servers, each as an address.
    pub(super) fn servers(&self) -> &[String] {
        &self.servers
    }

    /// Returns how the servers are connected to.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if a file cannot be read.
    pub(super) fn options(&self) -> Result<ConnectOptions> {
        let TlsFiles { ca, own } = &self.files;
        let pair = own.iter().flat_map(|(certificate, key)| [certificate, key]);
        for file in ca.iter().chain(pair) {
            File::open(file).map_err(|error| {
                Error::Refused(format!("{} cannot be read: {error}", file.display()))
            })?;
        }
        let needs_tls = self.scheme == Scheme::Tls || self.files != TlsFiles::default();
        let mut options = ConnectOptions::new().name("gleaner").require_tls(needs_tls);
        if let Some(ca) = ca {
            options = options.add_root_certificates(ca.clone());
        }
        if let Some((certificate, key)) = own {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        Ok(options)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parts = Scheme::ALL.into_iter().find_map(|scheme| {
            let rest = text.strip_prefix(scheme.prefix())?;
            let (servers, name) = rest.split_once('/')?;
            Some((scheme, servers, name))
        });
        let Some((scheme, servers, name)) = parts else {
            return Err(format!(
                "`{text}` is not of the form nats://SERVER,SERVER/NAME or tls://SERVER,SERVER/NAME"
            ));
        };
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(format!(
                "`{name}` cannot be the name of a crawl: use letters, digits and `-`"
            ));
        }
        let prefix = scheme.prefix();
        let servers = servers.split(',').map(|server| {
            let server = format!("{prefix}{server}");
            match server.parse::<ServerAddr>() {
                Ok(_) if server.len() > prefix.len() => Ok(server),
                Ok(_) => Err(format!("a server is missing in `{text}`")),
                Err(error) => Err(format!(
                    "`{server}` is not the address of a server: {error}"
                )),
            }
        });
        Ok(Self {
            scheme,
            servers: servers.collect::<std::result::Result<_, _>>()?,
            name: name.to_owned(),
            files: TlsFiles::default(),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.scheme.prefix();
        // Without what may be in front of a server: a user and a password.
        let bare = self.servers.iter().map(|server| {
            let rest = server.trim_start_matches(prefix);
            rest.rsplit('@').next().unwrap_or_default()
        });
        let servers: Vec<_> = bare.collect();
        write!(f, "{prefix}{}/{}", servers.join(","), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_servers_and_a_crawl() {
        let address: Address = "nats://user:secret@a,b:4333/news-1".parse().unwrap();
        assert_eq!(address.name(), "news-1");
        assert_eq!(address.to_string(), "nats://a,b:4333/news-1");
        let address: Address = "tls://user:secret@a,b:4333/news-1".parse().unwrap();
        assert_eq!(address.to_string(), "tls://a,b:4333/news-1");
        let check = |text: &str, part: &str| {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        check("http://a/news", "nats://SERVER");
        check("nats://a", "nats://SERVER");
        check("tls://a", "tls://SERVER");
        check("nats://a/", "name of a crawl");
        check("nats://a/b/c", "name of a crawl");
        check("nats://a/b.c", "name of a crawl");
        check("nats:///b", "server");
        check("tls:///b", "server");
        check("nats://a,,c/b", "server");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let address: Address = "nats://a/news".parse().unwrap();
        let address = address.with(TlsFiles {
            ca: Some(PathBuf::from("/nowhere/ca.pem")),
            own: None,
        });
        let error = address.options().map(drop).unwrap_err();
        assert!(error.to_string().contains("/nowhere/ca.pem"), "{error}");
    }
}
