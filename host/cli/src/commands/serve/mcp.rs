//! `toolgate serve mcp`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolgate::pipeline::TracingLogs;
use toolgate::telemetry::otel;
use toolgate_mcp::{BearerToken, Bridge, HttpOptions, HttpServer, Options, Server, serve_stdio};

use super::dashboard::Dashboard;
use super::loading::Loading;
use crate::args::{self, Shared};
use crate::exit::{Exit, Failure};
use crate::{cancel, setup};

/// Stack of a worker thread: a client's JSON may be nested in ways that no depth limit of a parser counts.
const STACK: usize = 8 << 20;

const USAGE: &str = "Without --http one client is served over standard input and output, which carry nothing else; log
lines go to standard error. With --http the endpoint is http://ADDR/mcp.

Examples:
  toolgate serve mcp --config toolgate.toml
  toolgate serve mcp --http 127.0.0.1:8765
  TOKEN=… toolgate serve mcp --http 192.168.1.5:8765 --token-env TOKEN";

#[derive(clap::Args)]
#[command(after_help = USAGE)]
pub struct Mcp {
    /// Listen for streamable HTTP on this address; a port alone means 127.0.0.1, port 0 any that is free
    #[arg(long, value_name = "ADDR", value_parser = address)]
    http: Option<SocketAddr>,

    /// Ask clients for the bearer token in this environment variable
    #[arg(long, value_name = "NAME", requires = "http", conflicts_with = "token_file")]
    token_env: Option<String>,

    /// Ask clients for the bearer token in this file
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,

    /// Accept requests for this host too, as NAME or NAME:PORT; may be repeated
    #[arg(long, value_name = "HOST", requires = "http")]
    allow_host: Vec<String>,

    /// Accept requests of pages from this origin too, as https://app.example:443; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,

    /// Sessions at once
    #[arg(long, value_name = "N", default_value_t = 256, requires = "http")]
    max_sessions: usize,

    /// End a session that was not heard of for so long
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, requires = "http", value_parser = clap::value_parser!(u64).range(1..))]
    session_idle: u64,

    /// Load plugins again when toolgate.toml or a component changes; calls that run go on with what they began with
    #[arg(long)]
    watch: bool,

    /// How long a turn lasts from its first call on; MCP has none, and policies count in them. 0: each call is one
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    turn: u64,

    /// Tools in one page of the list
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    page_size: u32,

    /// What the client may tell its model about these tools
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,

    /// How long running calls may go on once the client has gone or the server is told to stop
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    grace: u64,

    #[command(flatten)]
    dashboard: args::Dashboard,
}

pub fn run(shared: &Shared, args: &Mcp) -> Result<Exit, Failure> {
    let config = setup::config(shared)?;
    let http = args.http.map(|address| Ok((address, http_options(args)?))).transpose()?;
    let runtime = setup::runtime(Some(STACK))?;
    let served = runtime.block_on(async {
        let signals = cancel::on_signals();
        let stop = signals.token.clone();
        let bridge = Bridge::new(Arc::new(TracingLogs));
        let dashboard = Dashboard::new(&args.dashboard);
        let host = dashboard
            .watch(config.host())
            .trace_content(otel::content_is_wanted())
            .approver(Arc::new(bridge.clone()))
            .logs(Arc::new(bridge.clone()))
            .build();
        let loading = tokio::select! {
            () = stop.cancelled() => return Ok(signals.exit_of_server()),
            begun = Loading::begin(&config, &host, setup::server_loader(&config)?, args.watch) => begun?,
        };
        let page = dashboard.open(&host, &config).await?;
        let mut options = Options::default();
        options.turn = Duration::from_secs(args.turn);
        options.page = usize::try_from(args.page_size).unwrap_or(usize::MAX);
        options.instructions.clone_from(&args.instructions);
        options.grace = Duration::from_secs(args.grace);
        options.ask_timeout = config.approval_timeout;
        let server = Server::new(host.clone(), bridge, options);
        let serve = async {
            match http {
                None => serve_stdio(server, stop.clone().cancelled_owned()).await.map_err(Failure::load)?,
                Some((address, options)) => {
                    let server = HttpServer::bind(server, address, options).await.map_err(Failure::usage)?;
                    anstream::eprintln!("serving MCP at {}", server.url());
                    server.serve(stop.clone().cancelled_owned()).await;
                }
            }
            Ok(signals.exit_of_server())
        };
        loading.beside(&host, &stop, page.beside(serve)).await
    });
    // A read of standard input may be pending for ever.
    runtime.shutdown_background();
    served
}

fn http_options(args: &Mcp) -> Result<HttpOptions, Failure> {
    let mut options = HttpOptions::default();
    options.token = token(args)?;
    options.hosts.clone_from(&args.allow_host);
    options.origins.clone_from(&args.allow_origin);
    options.sessions = args.max_sessions;
    options.session_idle = Duration::from_secs(args.session_idle);
    Ok(options)
}

fn token(args: &Mcp) -> Result<Option<BearerToken>, Failure> {
    let (from, text) = match (&args.token_env, &args.token_file) {
        (Some(name), _) => (
            format!("--token-env {name}"),
            std::env::var(name).map_err(|error| Failure::usage(format!("--token-env {name}: {error}")))?,
        ),
        (None, Some(file)) => {
            let from = format!("--token-file {}", file.display());
            let text = std::fs::read_to_string(file).map_err(|error| Failure::usage(format!("{from}: {error}")))?;
            (from, text)
        }
        (None, None) => return Ok(None),
    };
    BearerToken::new(&text).map(Some).map_err(|error| Failure::usage(format!("{from}: {error}")))
}

/// An address, or a port of this machine's own.
fn address(text: &str) -> Result<SocketAddr, String> {
    let own = |port: &str| port.parse().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    own(port).map_err(|_| "expected IP:PORT, localhost:PORT or PORT, for example 127.0.0.1:8765".into())
}
