//! A host that answers while some of its plugins are still being compiled: what is known is loaded at once, the rest
//! beside the work.

use futures_util::future::join_all;
use tokio::task::JoinSet;

use super::open::OpenError;
use super::{Config, PluginConfig};
use crate::component::{LoadError, LoadErrorReason, Loader, Looked, Unread};
use crate::{Host, Loading};

/// Plugins that are still to be loaded. Dropped before it is done, it leaves the host without them, and without calls
/// where hooks are among them.
#[must_use = "a host runs no call while hooks are to come"]
pub struct Rest<'a> {
    config: &'a Config,
    host: Host,
    loader: Loader,
    hooks: Vec<New<'a>>,
    others: Vec<New<'a>>,
}

/// A plugin that is not known yet.
type New<'a> = (&'a PluginConfig, Box<Unread>);

impl Config {
    /// Loads the plugins of which everything is known from an earlier load, and looks at the others, so that the host can
    /// serve while those are compiled by [`Rest::load`]. Until then, calls wait: all of them where plugins in `[[hooks]]`
    /// are to come, else those of tools that are not there ([`Loading`]).
    ///
    /// # Errors
    ///
    /// All that is wrong with any plugin as far as it can be said without compiling it. The host runs no calls then.
    pub async fn begin<'a>(&'a self, host: &Host, loader: &Loader) -> Result<Rest<'a>, Vec<OpenError>> {
        host.set_loading(Loading::Hooks);
        let (hooks, others) = (Vec::new(), Vec::new());
        let mut rest = Rest { config: self, host: host.clone(), loader: loader.clone(), hooks, others };
        let looks = self.plugins.iter().map(async |plugin| (plugin, self.look(plugin, loader).await));
        let mut errors = Vec::new();
        for (plugin, looked) in join_all(looks).await {
            match looked {
                Ok(Looked::Plugin(known)) => {
                    let known = plugin.settle(*known, self.hook_of(plugin));
                    errors.extend(known.and_then(|known| Ok(host.load(known)?)).err());
                }
                Ok(Looked::Unread(unread)) if self.hook_of(plugin).is_some() => rest.hooks.push((plugin, unread)),
                Ok(Looked::Unread(unread)) => rest.others.push((plugin, unread)),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() && rest.is_empty() {
            errors = self.hooks_without_tool(host);
        }
        if !errors.is_empty() {
            return Err(rest.failed(errors));
        }
        if rest.hooks.is_empty() {
            host.set_loading(if rest.is_empty() { Loading::Done } else { Loading::Tools });
        }
        Ok(rest)
    }

    async fn look(&self, plugin: &PluginConfig, loader: &Loader) -> Result<Looked, OpenError> {
        let looked = loader.look(plugin.spec()).await?;
        if let Looked::Unread(unread) = &looked {
            plugin.check_exports(self.hook_of(plugin), unread.info())?;
        }
        Ok(looked)
    }
}

impl Rest<'_> {
    /// Whether everything is loaded.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty() && self.others.is_empty()
    }

    /// Loads what is left: the plugins in `[[hooks]]`, then all others side by side, each in the host as soon as it is
    /// ready. One of those that fails is logged, and the others go on: gives the names of those that failed.
    ///
    /// # Errors
    ///
    /// A plugin in `[[hooks]]` is not loaded; or all plugins are, and none offers a tool that a `[[hooks]]` entry is
    /// limited to. The host runs no more calls then, and whoever runs it should end it.
    pub async fn load(mut self) -> Result<Vec<String>, Vec<OpenError>> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let hooks = join_all(std::mem::take(&mut self.hooks).into_iter().map(|new| self.load_one(new))).await;
        let errors: Vec<OpenError> = hooks.into_iter().filter_map(Result::err).collect();
        if !errors.is_empty() {
            return Err(self.failed(errors));
        }
        self.host.set_loading(Loading::Tools);
        let others = std::mem::take(&mut self.others).into_iter().map(async |new| {
            let plugin = new.0;
            let error = self.load_one(new).await.err()?;
            tracing::error!(
                target: "toolgate::load",
                "{}: {error}; plugin {:?} is not loaded, the others serve without it. It is tried again at the next start, and by --watch when its file changes",
                plugin.file.display(),
                plugin.name
            );
            Some(plugin.name.clone())
        });
        let failed: Vec<String> = join_all(others).await.into_iter().flatten().collect();
        let without_tool = self.config.hooks_without_tool(&self.host);
        if failed.is_empty() && !without_tool.is_empty() {
            return Err(self.failed(without_tool));
        }
        // The tool may be one of a plugin that failed.
        for error in without_tool {
            tracing::error!(target: "toolgate::load", "{error}");
        }
        self.host.set_loading(Loading::Done);
        Ok(failed)
    }

    async fn load_one(&self, (plugin, unread): New<'_>) -> Result<(), OpenError> {
        let loader = self.loader.clone();
        // A task of its own, ended with this one: a guest that does not come to an end takes turns with others, not with
        // whoever serves beside this.
        let mut task = JoinSet::new();
        task.spawn(async move { loader.read(*unread).await });
        let loaded = match task.join_next().await {
            Some(Ok(loaded)) => loaded?,
            Some(Err(_)) | None => {
                let reason = LoadErrorReason::Describe("loading it broke off".into());
                return Err(LoadError { plugin: plugin.name.as_str().into(), reason }.into());
            }
        };
        self.host.load(plugin.settle(loaded, self.config.hook_of(plugin))?)?;
        tracing::info!(target: "toolgate::load", "{} is ready", plugin.name);
        Ok(())
    }

    fn failed(&self, errors: Vec<OpenError>) -> Vec<OpenError> {
        let reasons: Vec<String> = errors.iter().map(ToString::to_string).collect();
        self.host.set_loading(Loading::Failed(reasons.join("; ").into()));
        errors
    }
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        match self.host.loading() {
            Loading::Hooks => {
                self.host.set_loading(Loading::Failed("it was given up before all hooks were there".into()))
            }
            Loading::Tools => self.host.set_loading(Loading::Done),
            Loading::Failed(_) | Loading::Done => {}
        }
    }
}
