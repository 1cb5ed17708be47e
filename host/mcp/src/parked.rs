//! Calls that wait for their client to come back with an answer.
//!
//! Revision 2026-07-28 has no requests from server to client: a call that needs an answer is answered with
//! `input_required` and a handle, and the client calls again with both. In between the call is kept here as it stands, not
//! polled: it waits for an approver, holds no instance and no key, and its hooks do not run a second time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::transport::common::server_side_http::session_id;
use toolgate::pipeline::Approval;

use crate::bridge::Ask;
use crate::call::Running;

/// Waiting calls by handle.
#[derive(Default)]
pub(crate) struct Parked(Mutex<HashMap<String, Waiting>>);

/// One of them.
pub(crate) struct Waiting {
    pub running: Running,
    pub ask: Ask,
    since: Instant,
}

impl Parked {
    fn calls(&self) -> std::sync::MutexGuard<'_, HashMap<String, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a call; the handle is random, since it is all that a client needs to go on with it.
    pub(crate) fn keep(&self, running: Running, ask: Ask) -> String {
        let handle = session_id().to_string();
        self.calls().insert(handle.clone(), Waiting { running, ask, since: Instant::now() });
        handle
    }

    /// Keeps a call under the handle it has; it has not waited longer for that.
    pub(crate) fn put_back(&self, handle: &str, waiting: Waiting) {
        self.calls().insert(handle.to_owned(), waiting);
    }

    pub(crate) fn take(&self, handle: &str) -> Option<Waiting> {
        self.calls().remove(handle)
    }

    /// Declines what has waited too long, and brings it to its end.
    pub(crate) fn expire(&self, after: Duration) {
        let over: Vec<Waiting> = {
            let mut calls = self.calls();
            let handles: Vec<String> = calls
                .iter()
                .filter(|(_, call)| call.since.elapsed() >= after)
                .map(|(handle, _)| handle.clone())
                .collect();
            handles.iter().filter_map(|handle| calls.remove(handle)).collect()
        };
        for Waiting { running, ask, .. } in over {
            ask.answer(Approval::Declined { reason: Some("nobody answered in time".into()) });
            // Hooks that watch settled calls still run; bounded by their own deadlines.
            tokio::spawn(running.finish());
        }
    }
}
