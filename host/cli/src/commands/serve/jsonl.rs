//! `toolgate serve jsonl`: one client, on standard input and output.

use toolgate_jsonl::Settings;

use super::dashboard::Dashboard;
use super::loading::Loading;
use crate::args::{Jsonl, Shared};
use crate::exit::{Exit, Failure};
use crate::{cancel, setup};

pub fn run(shared: &Shared, args: &Jsonl) -> Result<Exit, Failure> {
    let config = setup::config(shared)?;
    let runtime = setup::runtime(None)?;
    let served = runtime.block_on(async {
        let stop = cancel::on_signals();
        let dashboard = Dashboard::new(&args.dashboard);
        let host = dashboard.watch(config.host()).build();
        let loading = tokio::select! {
            biased;
            () = stop.token.cancelled() => return Ok(stop.exit_of_server()),
            begun = Loading::begin(&config, &host, setup::server_loader(&config)?, args.watch) => begun?,
        };
        let page = dashboard.open(&host, &config).await?;
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let serve = async {
            let served = toolgate_jsonl::serve(host.clone(), Settings::default(), input, output, stop.token.clone());
            served.await.map_err(|error| Failure::load(format!("standard input or output: {error}")))?;
            Ok(stop.exit_of_server())
        };
        loading.beside(&host, &stop.token, page.beside(serve)).await
    });
    // A thread of the pool may still wait for a line.
    runtime.shutdown_background();
    served
}
