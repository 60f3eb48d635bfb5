//! Man pages and shell completions, made from the command line's own description. Packages ship them;
//! nothing else reads them.

use super::args::Cli;
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::Path;

/// The program's name on the command line.
const NAME: &str = "monitor";

/// A page for each command, into a folder that is there.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn man(folder: &Path) -> anyhow::Result<()> {
    clap_mangen::generate_to(Cli::command(), folder)
        .map_err(|error| anyhow::anyhow!("cannot write to {}: {error}", folder.display()))
}

/// The completions' text for one shell.
pub(super) fn completions(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut text);
    text
}
