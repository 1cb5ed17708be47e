//! `--dashboard`, for every protocol.

use std::net::SocketAddr;
use std::sync::Arc;

use toolgate::config::Config;
use toolgate::{Host, HostBuilder};
use toolgate_dashboard::{PluginCard, Server};

use crate::args;
use crate::exit::Failure;

/// The page as it was asked for, if it was.
pub struct Dashboard(Option<(SocketAddr, toolgate_dashboard::Dashboard)>);

/// The page that is served, if one is.
pub struct Page(Option<Server>);

impl Dashboard {
    pub fn new(args: &args::Dashboard) -> Self {
        Self(args.dashboard.map(|address| (address, toolgate_dashboard::Dashboard::new())))
    }

    /// Lets it watch the host that is built.
    pub fn watch(&self, builder: HostBuilder) -> HostBuilder {
        match &self.0 {
            Some((_, dashboard)) => builder.watcher(Arc::new(dashboard.clone())),
            None => builder,
        }
    }

    /// Listens, and says where.
    pub async fn open(self, host: &Host, config: &Config) -> Result<Page, Failure> {
        let Some((address, dashboard)) = self.0 else { return Ok(Page(None)) };
        let cards = PluginCard::of_config(config);
        let server = Server::bind(dashboard, host.clone(), cards, address).await.map_err(Failure::usage)?;
        anstream::eprintln!("dashboard: {}", server.url());
        Ok(Page(Some(server)))
    }
}

impl Page {
    /// Serves the page for as long as something else goes on.
    pub async fn beside<T>(self, work: impl Future<Output = T>) -> T {
        let Some(server) = self.0 else { return work.await };
        let page = async {
            server.serve().await;
            std::future::pending().await
        };
        tokio::select! {
            done = work => done,
            never = page => never,
        }
    }
}
