//! `toolgate` on the command line: a thin front of the library. Standard output carries results, standard error
//! everything else.

mod approve;
mod args;
mod cancel;
mod commands;
mod exit;
mod input;
mod logging;
mod output;
mod record;
mod setup;
mod terminal;
mod view;

use clap::Parser as _;

use crate::args::{Args, Command};
use crate::exit::{Exit, Failure};

fn main() {
    let exit = run();
    // Not a return: a thread may still wait for a line from the terminal.
    std::process::exit(exit.code());
}

fn run() -> Exit {
    let _restored = terminal::Restored;
    let args = Args::parse();
    let screen = view::Screen::new();
    let outcome = logging::start(&args.log, screen.clone()).and_then(|_exporting| match args.command {
        Command::Run(run) => commands::run::run(&args.shared, run, screen),
        Command::Call(call) => commands::call::run(&args.shared, call, screen),
        Command::Tools(tools) => commands::tools::run(&args.shared, &tools),
        Command::Inspect(inspect) => commands::inspect::run(&inspect),
        Command::Compile(compile) => commands::compile::run(&args.shared, &compile),
        Command::Serve(serve) => commands::serve::run(&args.shared, serve),
    });
    outcome.unwrap_or_else(|failure: Failure| failure.report())
}
