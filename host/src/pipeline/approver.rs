//! Who answers when a hook asks.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;

use super::BatchInfo;
use crate::model::{Json, ToolCall};

/// One hook's question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The hook that asks.
    pub hook: Arc<str>,
    /// Its plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<Arc<str>>,
    /// In a few words.
    pub title: String,
    /// What the person should know.
    pub text: String,
}

/// All questions about one call, after every before hook has run.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// The batch.
    pub batch: Arc<BatchInfo>,
    /// Place of the call in its batch, from 0: ids need not be unique.
    pub position: u32,
    /// The call as the model wrote it.
    pub call: ToolCall,
    /// The arguments that would run.
    pub arguments: Json,
    /// At least one.
    pub questions: Vec<Question>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Run it.
    Approved,
    /// Don't; the reason goes to the model after `Tool execution was declined`.
    Declined {
        /// Why.
        reason: Option<String>,
    },
}

/// The embedding host's side of `ask`. An answer later than the configured time (120 s) counts as no answer, which
/// declines; the future is dropped then, and when the batch is cancelled.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Answers.
    async fn approve(&self, request: ApprovalRequest) -> Approval;
}
