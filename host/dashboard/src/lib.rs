//! A page that shows a host at work: live batches as a timeline, loaded plugins with grants and limits.
//!
//! [`Dashboard`] watches every batch of a [`Host`](toolgate::Host) that is built with it
//! ([`HostBuilder::watcher`](toolgate::HostBuilder::watcher)) and keeps the last ones, bounded, in memory. [`Server`] shows
//! them to a browser on this machine, at an address that holds a secret. The page is one file without build steps.

mod batches;
mod plugins;
mod server;
mod watch;

pub use plugins::PluginCard;
pub use server::{BindError, Server};
pub use watch::Dashboard;
