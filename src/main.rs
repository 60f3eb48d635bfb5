//! The `monitor` command: parse the command line, call one function, choose the exit code
//! (CONTRACT 32).

use monitor_gateway::cli::{self, Cli};
use monitor_gateway::observe::logging;
use std::process::ExitCode;

/// Returns the memory of a burst to the system, also while the process idles.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let ended = cli::run(Cli::from_command_line());
    if let Err(failure) = &ended {
        logging::say(log::Level::Error, &failure.to_string());
    }
    logging::flush();
    ended.map_or_else(|failure| failure.exit_code(), |()| ExitCode::SUCCESS)
}
