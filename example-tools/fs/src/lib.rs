//! Six tools over the granted directories, for coding agents: read, write, edit, ls, find and grep.

mod diff;
mod edit;
mod find;
mod glob;
mod grep;
mod kind;
mod lines;
mod ls;
mod nearest;
mod paths;
mod read;
mod replace;
mod save;
#[cfg(test)]
mod testing;
mod truncate;
mod walk;
mod watch;
mod write;

toolgate_sdk::plugin! { tools: [read::read, write::write, edit::edit, ls::ls, find::find, grep::grep] }
