//! Tool definitions, calls and results as model providers write them.
//!
//! [`export`] turns what Toolgate's tools say about themselves into the definitions a provider accepts, and says what it
//! had to change. [`Message::read`] reads the message in which a provider's model calls tools; [`Message::reply`] writes
//! what goes back. What is read comes from a model or over a network and is bounded by whoever reads it from there;
//! nothing in it makes this crate panic.
//!
//! The rules of each provider, with their sources, are in docs/provider-formats.md.

mod definitions;
mod messages;
mod note;

pub use definitions::{Export, export};
pub use messages::{FormatError, Message};
pub use note::{Level, Note};

/// Whose form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// OpenAI's Responses API.
    OpenAi,
    /// OpenAI's Chat Completions API, and the many servers that speak it.
    OpenAiChat,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API.
    Google,
    /// Model Context Protocol: `tools/list` and `tools/call`.
    Mcp,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 5] = [Self::OpenAi, Self::OpenAiChat, Self::Anthropic, Self::Google, Self::Mcp];

    /// The word on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiChat => "openai-chat",
            Self::Anthropic => "anthropic",
            Self::Google => "google",
            Self::Mcp => "mcp",
        }
    }

    /// Whether the provider can be told to keep to the schema whatever the model would write.
    pub fn has_strict_mode(self) -> bool {
        matches!(self, Self::OpenAi | Self::OpenAiChat | Self::Anthropic)
    }
}
