//! From a granted target to an open stream: look the name up, check every address, connect to one of those, TLS.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use wasmtime_wasi_http::Error;

use super::error::{from_connect, from_dns, from_tls};
use crate::sandbox::http::{Denied, Host, Permit, Scheme};

/// Finds the addresses of a name.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// The addresses, best first. They are all checked before one is used.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The operating system's resolver.
pub struct SystemResolver;

/// Look-ups at once in this process. One that hangs holds its thread until the resolver gives up, whatever became of
/// the call; guests must not take all of the runtime's.
static LOOKUPS: Semaphore = Semaphore::const_new(32);

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let permit = LOOKUPS.acquire().await.map_err(io::Error::other)?;
        let name = name.to_owned();
        let lookup = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            (name.as_str(), 0).to_socket_addrs().map(|addrs| addrs.map(|addr| addr.ip()).collect::<Vec<_>>())
        });
        let mut addrs = lookup.await.map_err(io::Error::other)??;
        addrs.dedup();
        Ok(addrs)
    }
}

/// What all plugins' requests share: the resolver and the TLS configuration.
pub struct HttpClient {
    resolver: Arc<dyn Resolve>,
    tls: TlsConnector,
}

impl HttpClient {
    /// The operating system's resolver and Mozilla's root certificates, as built in. Fails where the cryptography
    /// provider does not fit.
    pub fn new() -> Result<Self, rustls::Error> {
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        Ok(Self { resolver: Arc::new(SystemResolver), tls: Self::tls(roots)? })
    }

    /// The same with other root certificates.
    pub fn with_roots(self, roots: RootCertStore) -> Result<Self, rustls::Error> {
        Ok(Self { tls: Self::tls(roots)?, ..self })
    }

    /// The same with another resolver.
    pub fn with_resolver(self, resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver, ..self }
    }

    fn tls(roots: RootCertStore) -> Result<TlsConnector, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // Sessions would be kept across plugins and calls.
        config.resumption = rustls::client::Resumption::disabled();
        Ok(TlsConnector::from(Arc::new(config)))
    }

    /// Connects to the permit's target within `time`.
    pub(super) async fn connect(
        &self,
        permit: &Permit,
        time: Duration,
        deny: &(dyn Fn(Denied) + Send + Sync),
    ) -> Result<Box<dyn Stream>, Error> {
        let deadline = Instant::now() + time;
        let target = &permit.target;
        let addrs = match &target.host {
            Host::Addr(addr) => vec![*addr],
            Host::Name(name) => match timeout_at(deadline, self.resolver.resolve(name)).await {
                Ok(found) => found.map_err(|e| from_dns(&e))?,
                Err(_) => return Err(Error::DnsTimeout),
            },
        };
        // One bad address is enough: a name that mixes them is after something.
        for addr in &addrs {
            if let Err(denied) = permit.check_address(*addr) {
                deny(denied);
                return Err(Error::DestinationIpProhibited);
            }
        }
        let tcp = open(&addrs, target.port, deadline).await?;
        if target.scheme == Scheme::Http {
            return Ok(Box::new(tcp));
        }
        let name = match &target.host {
            Host::Addr(addr) => ServerName::from(*addr),
            Host::Name(name) => ServerName::try_from(name.clone()).map_err(|_| Error::HttpRequestUriInvalid)?,
        };
        match timeout_at(deadline, self.tls.connect(name, tcp)).await {
            Ok(stream) => Ok(Box::new(stream.map_err(|e| from_tls(&e))?)),
            Err(_) => Err(Error::ConnectionTimeout),
        }
    }
}

/// A connection, with or without TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The first address that answers. Each gets its share of the time, so that a silent one does not use it all up.
async fn open(addrs: &[IpAddr], port: u16, deadline: Instant) -> Result<TcpStream, Error> {
    let mut last = Error::DestinationNotFound;
    for (tried, addr) in addrs.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = u32::try_from(addrs.len() - tried).map_or(left, |ahead| left / ahead);
        match timeout_at(Instant::now() + share, TcpStream::connect((*addr, port))).await {
            Ok(Ok(stream)) => {
                // Requests are written whole; waiting to fill a packet only delays them. Not vital.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = from_connect(&error),
            Err(_) => last = Error::ConnectionTimeout,
        }
    }
    Err(last)
}
