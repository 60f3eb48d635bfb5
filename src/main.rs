//! The `monitor` command: parse the command line, call one function, choose the exit code
//! (CONTRACT 32).

use clap::Parser;
use monitor_gateway::cli::{self, Cli};
use monitor_gateway::observe::logging;
use std::process::ExitCode;

fn main() -> ExitCode {
    let ended = cli::run(Cli::parse());
    logging::flush();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code()
        }
    }
}
