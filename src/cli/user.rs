//! `monitor user …`: its flags. The actions are those of the web UI's page of users.

use super::Failure;
use super::args::StoreArgs;
use crate::app;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
    /// Make a one-time link to set a new password by, and print it, once.
    Link(LinkArgs),
}

#[derive(Debug, Args)]
pub(super) struct LinkArgs {
    /// What the person signs in with.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    #[command(flatten)]
    store: StoreArgs,
}

/// Does it and gives what is to be printed.
pub(super) fn run(command: UserCommand) -> Result<String, Failure> {
    let UserCommand::Link(args) = command;
    let link = app::link_user(&args.store.settings()?, &args.name)?;
    Ok(format!("{link}\n"))
}
