//! The `monitor` command: parse the command line, call one function, choose the exit code
//! (CONTRACT 32).

use clap::Parser;
use monitor_gateway::cli::{self, Cli};
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code()
        }
    }
}
