//! The message in which a provider's model calls tools, and the one that answers it.

mod read;
mod reply;

use std::sync::Arc;

use serde_json::Value;
use toolgate::model::{AssistantMessage, Json, ToolResultMessage};

use crate::Format;

/// A message read in a provider's form.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Message {
    /// What it asks for.
    pub assistant: AssistantMessage,
    format: Format,
    /// What each call is answered under, in source order.
    ids: Vec<Id>,
    /// MCP: the requests came as an array.
    is_batch: bool,
}

/// What a call is answered under.
#[derive(Clone, Debug)]
enum Id {
    /// As written.
    Given(Json),
    /// The provider gave none and wants none.
    None,
}

/// Why a document is not a message in this form.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("not a message as {} writes it: {what}. Expected {expected}", format.as_str())]
pub struct FormatError {
    /// The form it was read in.
    pub format: Format,
    /// What is wrong.
    pub what: String,
    /// What was expected.
    pub expected: &'static str,
}

impl Message {
    /// Reads one message: the model's message itself, or the provider's whole response with it.
    ///
    /// # Errors
    ///
    /// A document that is no such message. Arguments that are no JSON are not an error here but the call's, which ends as
    /// `invalid-arguments`.
    pub fn read(format: Format, text: &str) -> Result<Self, FormatError> {
        read::read(format, text)
    }

    /// What goes back to the model, from the results of its calls in source order, and what of them it can't be given;
    /// nothing where nothing is to be sent.
    pub fn reply(&self, results: &[Arc<ToolResultMessage>]) -> (Option<Value>, Vec<String>) {
        reply::reply(self, results)
    }
}
