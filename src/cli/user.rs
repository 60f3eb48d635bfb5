//! `monitor user …`: its flags. The actions are those of the web UI's page of users.

use super::failure::Failure;
use super::output::print;
use super::store::StoreArgs;
use crate::app;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use uuid::Uuid;

#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
    /// Create a one-time link for a new password and print it once.
    Link(LinkArgs),
    /// Store records of an erased end user again, such as after a mistyped name; what was erased stays erased.
    Readmit(ReadmitArgs),
}

#[derive(Debug, Args)]
pub(super) struct LinkArgs {
    /// Name of the account.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// Take its second factor away as well, for somebody who lost the app and the recovery codes.
    #[arg(long)]
    remove_second_factor: bool,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct ReadmitArgs {
    /// Tombstone of the erasure: `tombstone_id` of its receipt, or the target in the audit log.
    #[arg(value_name = "TOMBSTONE_ID")]
    tombstone: Uuid,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command and prints its result.
pub(super) fn run(command: UserCommand) -> Result<(), Failure> {
    match command {
        UserCommand::Link(args) => link(args),
        UserCommand::Readmit(args) => {
            let done = app::readmit_user(&args.store.settings()?, args.tombstone)?;
            print(format!("{done}\n").as_bytes())
        }
    }
}

fn link(args: LinkArgs) -> Result<(), Failure> {
    let settings = args.store.settings()?;
    let link = app::link_user(
        &settings,
        args.store.role(),
        &args.name,
        args.remove_second_factor,
    )?;
    if let Some(note) = &link.note {
        eprintln!("note: {note}");
    }
    print(format!("{}\n", link.address.expose()).as_bytes())
}
