//! What a server loads while it serves: plugins that are still to be compiled, then what changes on disk.

use std::pin::pin;

use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::component::Loader;
use toolgate::config::{Config, Reloader, Rest};

use crate::exit::{Exit, Failure};
use crate::setup;

/// What is to be loaded beside serving.
pub struct Loading<'a> {
    rest: Rest<'a>,
    reloader: Option<Reloader>,
}

impl<'a> Loading<'a> {
    /// Loads what needs no compiler.
    pub async fn begin(config: &'a Config, host: &Host, loader: Loader, watch: bool) -> Result<Self, Failure> {
        // Before the plugins, so that a change between is seen.
        let reloader = watch.then(|| Reloader::new(config.clone(), loader.clone()));
        let rest = config.begin(host, &loader).await.map_err(setup::all)?;
        Ok(Self { rest, reloader })
    }

    /// Serves, and loads meanwhile. Without the hooks that guard its calls a server is stopped.
    pub async fn beside(
        self,
        host: &Host,
        stop: &CancellationToken,
        serve: impl Future<Output = Result<Exit, Failure>>,
    ) -> Result<Exit, Failure> {
        let Self { rest, reloader } = self;
        let load = async {
            // What is loaded is not watched yet: nothing is loaded twice.
            let failed = rest.load().await?;
            if let Some(mut reloader) = reloader {
                reloader.refused(&failed);
                match setup::reloading(reloader, host).await {}
            }
            Ok(())
        };
        let mut serve = pin!(serve);
        let errors = tokio::select! {
            biased;
            served = &mut serve => return served,
            Err(errors) = load => errors,
            // What is not there by now is given up: nothing that waits for it begins any more.
            () = stop.cancelled() => Vec::new(),
        };
        stop.cancel();
        let served = serve.await;
        if errors.is_empty() { served } else { Err(setup::all(errors)) }
    }
}
