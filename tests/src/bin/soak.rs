//! `soak [CALLS]`: makes very many calls (100 000) that succeed, crash, time out, are cancelled, and so on, and checks that
//! nothing is left of them. The exit status is 1 where something is.

use std::process::ExitCode;

const CALLS: usize = 100_000;

#[cfg(feature = "component")]
fn main() -> ExitCode {
    let calls = match std::env::args().nth(1).map(|calls| calls.replace('_', "").parse()) {
        None => CALLS,
        Some(Ok(calls)) => calls,
        Some(Err(error)) => return failed(&format!("usage: soak [CALLS]: {error}")),
    };
    // In a runtime of its own: tasks are counted.
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.to_string()),
    };
    let seen = |calls, resident| println!("{calls} calls: {resident} KiB");
    match runtime.block_on(toolgate_tests::soak::soak(calls, seen)) {
        Ok(report) => {
            println!("{} calls in {:.1?}, {} batches dropped", report.answered, report.took, report.dropped);
            println!("{:?}", report.kinds);
            println!("nothing is left of them");
            ExitCode::SUCCESS
        }
        Err(left) => failed(&left),
    }
}

#[cfg(not(feature = "component"))]
fn main() -> ExitCode {
    failed("this build has no components")
}

fn failed(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}
