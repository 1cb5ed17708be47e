//! An MCP server over a Toolgate host.
