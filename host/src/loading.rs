//! What a host still waits for while it answers already. No call runs before all hooks are loaded; who asks for a tool
//! that may yet come waits for it; both within limits.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::Host;
use crate::model::ToolCall;
use crate::registry::{RegisteredTool, Snapshot};

/// How far loading has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loading {
    /// Hooks are still to come. No call runs.
    Hooks,
    /// What was to come does not, for this reason. No call runs any more.
    Failed(Arc<str>),
    /// Tools are still to come. Calls of those that are there run.
    Tools,
    /// Nothing is to come.
    #[default]
    Done,
}

impl Loading {
    /// Whether nothing more comes, well or not.
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Done)
    }

    /// Why no call may run, if none may, for the model; and more for the operator.
    pub(crate) fn refusal(&self) -> Option<(&'static str, Option<String>)> {
        match self {
            Self::Hooks => Some(("hooks that every call has to pass are still being loaded. Try again later.", None)),
            Self::Failed(reason) => {
                Some(("hooks that every call has to pass could not be loaded.", Some(reason.to_string())))
            }
            Self::Tools | Self::Done => None,
        }
    }
}

/// A host's [`Loading`], and how long it is waited for.
pub(crate) struct Waits {
    pub loading: watch::Sender<Loading>,
    pub call: Duration,
    pub list: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self { loading: watch::Sender::default(), call: Duration::from_secs(300), list: Duration::from_secs(20) }
    }
}

impl Host {
    /// How far loading has come.
    pub fn loading(&self) -> Loading {
        self.0.waits.loading.borrow().clone()
    }

    /// Says how far loading has come; [`Config::begin`](crate::config::Config::begin) does. Say it after what it says is
    /// there has been loaded.
    pub fn set_loading(&self, loading: Loading) {
        self.0.waits.loading.send_replace(loading);
    }

    /// Waits until nothing more is to come.
    pub async fn all_loaded(&self) {
        // Fails only where the sender is gone, which this host holds.
        let _ = self.0.waits.loading.subscribe().wait_for(Loading::is_over).await;
    }

    /// Waits until nothing more is to come, for as long as somebody who lists the tools may be kept waiting
    /// ([`HostBuilder::list_wait`](crate::HostBuilder::list_wait)).
    pub async fn listable(&self) {
        if !self.loading().is_over() {
            let _ = tokio::time::timeout(self.0.waits.list, self.all_loaded()).await;
        }
    }

    /// A tool by its exact name. One that may yet come is waited for, for as long as a call may wait
    /// ([`HostBuilder::load_wait`](crate::HostBuilder::load_wait)).
    pub async fn find_tool(&self, name: &str) -> Option<Arc<RegisteredTool>> {
        let tool = |tools: &Snapshot| tools.tool(name).cloned();
        if tool(&self.tools()).is_none() {
            self.in_time(|loading, tools| loading.is_over() || tools.tool(name).is_some()).await;
        }
        tool(&self.tools())
    }

    /// Waits until these calls can run or be refused, and says how far loading has come. Cheap where nothing is to come.
    pub(crate) async fn ready(&self, calls: &[ToolCall], cancel: &CancellationToken) -> Loading {
        if *self.0.waits.loading.borrow() == Loading::Done {
            return Loading::Done;
        }
        // Boxed: seldom needed, and part of every batch's state.
        Box::pin(self.wait_for(calls, cancel)).await;
        self.loading()
    }

    async fn wait_for(&self, calls: &[ToolCall], cancel: &CancellationToken) {
        let is_ready = |loading: &Loading, tools: &Snapshot| match loading {
            Loading::Hooks => calls.is_empty(),
            Loading::Tools => calls.iter().all(|call| tools.tool(&call.name).is_some()),
            Loading::Failed(_) | Loading::Done => true,
        };
        tokio::select! {
            () = cancel.cancelled() => {}
            () = self.in_time(is_ready) => {}
        }
    }

    /// Waits until it is enough, for as long as a call may wait.
    async fn in_time(&self, is_enough: impl Fn(&Loading, &Snapshot) -> bool) {
        let (mut loading, mut changes) = (self.0.waits.loading.subscribe(), self.changes());
        let wait = async {
            loop {
                changes.mark_unchanged();
                // The snapshot after it: what it says is there is in it.
                let now = loading.borrow_and_update().clone();
                if is_enough(&now, &self.tools()) {
                    return;
                }
                tokio::select! {
                    Ok(()) = loading.changed() => {}
                    Ok(()) = changes.changed() => {}
                    else => return,
                }
            }
        };
        let _ = tokio::time::timeout(self.0.waits.call, wait).await;
    }
}
