//! `monitor backup`, `monitor restore` and `monitor copy`: their flags.

use super::StoreArgs;
use crate::app::{self, BackupRequest, CopyRequest, RestoreRequest};
use crate::cli::failure::Failure;
use crate::cli::output::print;
use clap::Args;
use std::path::PathBuf;

/// Options of `monitor backup`.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The archive to write; it must not exist.
    file: PathBuf,
    /// Encrypt the archive with the key in this file (`monitor spool key` makes one).
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Write only which users were erased: a small archive for `monitor restore --erasures`.
    #[arg(long)]
    erasures_only: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Options of `monitor restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The archive to restore.
    file: PathBuf,
    /// Key file of an encrypted archive.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// A later archive whose erasures are done again; may be repeated.
    #[arg(long, value_name = "FILE")]
    erasures: Vec<PathBuf>,
    /// Restore into this version of the schema, for a program of before; 11 is that of version 4.1.0.
    #[arg(long, value_name = "VERSION")]
    schema: Option<i64>,
    /// Read the archive to its end, print what is in it, and restore nothing.
    #[arg(long, conflicts_with_all = ["erasures", "schema"])]
    check: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Options of `monitor copy`.
#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// The SQLite file to copy [default: monitor.db in the data folder].
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The folder of its attached files, if analysis.blobs named one [default: blobs beside the SQLite file].
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Writes an archive.
pub(crate) fn backup(args: BackupArgs) -> Result<(), Failure> {
    let settings = args.store.settings()?;
    let request = BackupRequest {
        file: args.file,
        key_file: args.key_file,
        erasures_only: args.erasures_only,
    };
    print(app::backup(&settings, args.store.role(), &request)?.as_bytes())
}

/// Restores an archive, or checks it.
pub(crate) fn restore(args: RestoreArgs) -> Result<(), Failure> {
    let settings = args.store.settings()?;
    let text = match args.check {
        true => app::check_archive(&settings, &args.file, args.key_file.as_deref())?,
        false => {
            let request = RestoreRequest {
                file: args.file,
                key_file: args.key_file,
                erasures: args.erasures,
                schema: args.schema,
            };
            app::restore(&settings, args.store.role(), &request)?
        }
    };
    print(text.as_bytes())
}

/// Copies a SQLite file into PostgreSQL.
pub(crate) fn copy(args: CopyArgs) -> Result<(), Failure> {
    let settings = args.store.settings()?;
    let request = CopyRequest {
        from: args.from,
        files: args.files,
    };
    print(app::copy(&settings, &request)?.as_bytes())
}
