//! Man pages and shell completions, made from the command line's own description. Packages ship them;
//! nothing else reads them.

use super::failure::Failure;
use super::output::print;
use anyhow::Context;
use clap::{Args, Command};
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// An existing folder.
    #[arg(value_name = "DIR")]
    pub(super) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// Shell to print the completions for.
    pub(super) shell: clap_complete::Shell,
}

/// The program's name on the command line.
const NAME: &str = "monitor";

/// Writes a page for each command into a folder that exists.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn man(args: &ManArgs, command: Command) -> Result<(), Failure> {
    let folder = &args.folder;
    let written = clap_mangen::generate_to(command, folder);
    Ok(written.with_context(|| format!("cannot write to {}", folder.display()))?)
}

/// Prints the completions for one shell.
///
/// # Errors
/// When standard output is closed.
pub(super) fn completions(args: &CompletionsArgs, mut command: Command) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate::<Shell, _>(args.shell, &mut command, NAME, &mut text);
    print(&text)
}
