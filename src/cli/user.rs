//! `monitor user …`: its flags. The actions are those of the web UI's page of users.

use super::failure::Failure;
use super::output::print;
use super::store::StoreArgs;
use crate::app;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
    /// Create a one-time link for a new password and print it once.
    Link(LinkArgs),
}

#[derive(Debug, Args)]
pub(super) struct LinkArgs {
    /// Name of the account.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command and prints its result.
pub(super) fn run(command: UserCommand) -> Result<(), Failure> {
    let UserCommand::Link(args) = command;
    let settings = args.store.settings()?;
    let link = app::link_user(&settings, args.store.role(), &args.name)?;
    if let Some(note) = &link.note {
        eprintln!("note: {note}");
    }
    print(format!("{}\n", link.address.expose()).as_bytes())
}
