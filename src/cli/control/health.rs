//! `monitor health`: whether a running process is well, by its exit code. For images without a shell.

use super::ControlArgs;
use crate::app::{self, Deadline};
use crate::cli::failure::Failure;
use crate::cli::output::print;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::time::Duration;
use url::Url;

#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// Address to ask; by default /readyz on the operations listener of the running process.
    #[arg(value_name = "URL", conflicts_with_all = ["config", "data_dir", "role"])]
    url: Option<String>,
    /// Ask /livez instead: whether the process answers, whatever state it is in.
    #[arg(long, conflicts_with = "url")]
    live: bool,
    /// How long to wait for the answer, in seconds, with the search for the running process.
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=300))]
    timeout: u64,
    #[command(flatten)]
    process: ControlArgs,
}

/// Prints the answer in one line.
///
/// # Errors
/// When the answer is no success, or none comes.
pub(crate) fn run(args: HealthArgs) -> Result<(), Failure> {
    let path = match args.live {
        true => "/livez",
        false => "/readyz",
    };
    let deadline = Deadline::within(Duration::from_secs(args.timeout));
    let url = match args.url {
        Some(address) => plain(&address)?,
        None => {
            let (data_dir, role) = args.process.running(&deadline)?;
            app::health_url(&data_dir, role, path, &deadline)?
        }
    };
    let said = app::check_health(&url, &deadline)?;
    print(format!("{said}\n").as_bytes())
}

/// An address that can be asked and shown. What is wrong is said without its text, which may hold a password.
fn plain(address: &str) -> Result<Url> {
    const USAGE: &str = "give one such as http://127.0.0.1:4101/readyz";
    let url = Url::parse(address).with_context(|| format!("the address is no URL: {USAGE}"))?;
    ensure!(url.scheme() == "http", "only http is supported: {USAGE}");
    ensure!(
        url.username().is_empty() && url.password().is_none(),
        "the address has a user name or a password, and a health check sends none: {USAGE}"
    );
    Ok(url)
}
