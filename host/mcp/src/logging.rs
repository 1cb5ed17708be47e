//! MCP's logging, in one place: revision 2026-07-28 deprecates it, and the older ones have nothing else.
#![expect(deprecated, reason = "see above")]

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ServerCapabilities, SetLevelRequestParams};
use rmcp::{Peer, RoleServer, ServiceError};
use toolgate::pipeline::LogLevel;

/// Parameters of `logging/setLevel`.
pub(crate) type SetLevel = SetLevelRequestParams;

/// What this server offers.
pub(crate) fn capabilities() -> ServerCapabilities {
    ServerCapabilities::builder().enable_tools().enable_tool_list_changed().enable_logging().build()
}

/// Sends one line.
pub(crate) async fn send(
    peer: &Peer<RoleServer>,
    plugin: String,
    level: LogLevel,
    message: String,
) -> Result<(), ServiceError> {
    let level = match level {
        LogLevel::Trace | LogLevel::Debug => LoggingLevel::Debug,
        LogLevel::Info => LoggingLevel::Info,
        LogLevel::Warn => LoggingLevel::Warning,
        LogLevel::Error => LoggingLevel::Error,
    };
    peer.notify_logging_message(LoggingMessageNotificationParam::new(level, message.into()).with_logger(plugin)).await
}

/// The level that a client sets, as [`rank`] has it.
pub(crate) fn rank_of(request: &SetLevel) -> u8 {
    rank(request.level)
}

/// MCP's eight levels, from 0.
pub(crate) fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
