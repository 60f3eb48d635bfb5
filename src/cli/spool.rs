//! `monitor spool …`: what waits in a spool's folder, on a terminal (CONTRACT 23). It works on the
//! files, while the process that owns them runs or without it. No text and no key is ever shown.

use super::failure::Failure;
use super::load::{file_or_variable, load};
use super::output::print;
use super::time::minute;
use crate::config::key_file::{self, Owners};
use crate::config::{Overrides, Role};
use crate::spool::{self, DeadLetter, FolderSummary, Keyring, NeededKey};
use crate::spool::{Repaired, SpoolFolder, SpoolKey};
use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, Subcommand)]
pub(super) enum SpoolCommand {
    /// Print how much waits for the backend.
    Status(SpoolArgs),
    /// List the dead letters, the records that the backend refused for good, without their texts.
    Dead(SpoolArgs),
    /// Replay the dead letters; a running gateway delivers them within a second or two.
    Replay(SpoolArgs),
    /// Read the damaged files of the spool again and put back the records that can be read.
    ///
    /// A file of the spool that cannot be read whole is kept with the suffix .damaged; everything else in it is
    /// delivered. This command reads such files again: after a newer version of this program was installed, or a
    /// file was restored from a copy under its name. A running gateway delivers what is put back within a second or
    /// two, and the backend stores no record twice. A file that is done with gets the suffix .repaired, or .unreadable
    /// if nothing in it can be read; delete it when nobody needs it any more. No text and no key is shown.
    Repair(SpoolArgs),
    /// Make a random key for spool.encryption.key_file in a new file that its owner alone may read.
    ///
    /// Keep a copy of the file where the spool's disk is not: what was encrypted with a key cannot be read without
    /// it. The key itself is not shown; its id is, by which status and errors name it.
    Key(KeyArgs),
}

/// Options of `spool key`.
#[derive(Debug, Args)]
pub(super) struct KeyArgs {
    /// The file to make.
    file: PathBuf,
}

/// Options of every `spool` command.
#[derive(Debug, Args)]
pub(super) struct SpoolArgs {
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
    /// Configuration file (YAML) [env: MONITOR_CONFIG].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of the spool [default: from the configuration].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Runs the command and prints its result.
pub(super) fn run(command: SpoolCommand) -> Result<(), Failure> {
    print(output(command)?.as_bytes())
}

fn output(command: SpoolCommand) -> Result<String, Failure> {
    let place = match &command {
        SpoolCommand::Status(place)
        | SpoolCommand::Dead(place)
        | SpoolCommand::Replay(place)
        | SpoolCommand::Repair(place) => place,
        SpoolCommand::Key(made) => return made.output(),
    };
    let folder = place.folder()?;
    let unusable = || format!("the spool's folder {} cannot be used", folder.display());
    let text = match &command {
        SpoolCommand::Status(_) => all(&folder, |folder| spool::summarize(folder))
            .map(|found| {
                found
                    .into_iter()
                    .fold(FolderSummary::default(), FolderSummary::and)
            })
            .map(|found| place.status(&found)),
        SpoolCommand::Dead(_) => all(&folder, spool::dead_letters)
            .map(|letters| place.letters(&letters.into_iter().flatten().collect::<Vec<_>>())),
        SpoolCommand::Replay(_) => all(&folder, spool::replay_dead_letters)
            .map(|counts| place.replayed(counts.into_iter().sum())),
        SpoolCommand::Repair(_) => all(&folder, spool::repair)
            .map(|done| done.into_iter().fold(Repaired::default(), Repaired::and))
            .map(|done| place.repaired(&done)),
        SpoolCommand::Key(made) => return made.output(),
    };
    Ok(text.with_context(unusable)?)
}

/// In the spool's folder and in those that processes use next to it during an upgrade. A mistyped folder
/// is an error and not an empty spool.
fn all<T>(
    folder: &SpoolFolder,
    each: impl Fn(&SpoolFolder) -> io::Result<T>,
) -> io::Result<Vec<T>> {
    std::fs::read_dir(&**folder)?;
    let folders = spool::existing_folders(folder).into_iter();
    folders.map(|path| each(&folder.sibling(&path))).collect()
}

impl KeyArgs {
    fn output(&self) -> Result<String, Failure> {
        let key = key_file::create(&self.file).map_err(|error| anyhow!(error))?;
        let (id, file) = (SpoolKey::from(key).id(), self.file.display());
        Ok(format!("key {id} written to {file}\n"))
    }
}

impl SpoolArgs {
    /// The folder, with the keys of the configuration if one is named.
    fn folder(&self) -> Result<SpoolFolder, Failure> {
        let file = file_or_variable(self.config.clone());
        if let (Some(folder), None) = (&self.dir, &file) {
            return Ok(SpoolFolder::new(folder, Arc::default()));
        }
        let settings = load(Role::All, file, &Overrides::default())?;
        let folder = self.dir.clone().unwrap_or_else(|| settings.spool_dir());
        let owners = Owners::of_folder(&folder);
        let keys = Keyring::load(&settings.gateway.spool.encryption, owners);
        let keys = keys.map_err(|error| anyhow!(error))?;
        Ok(SpoolFolder::new(folder, Arc::new(keys)))
    }

    fn status(&self, found: &FolderSummary) -> String {
        let oldest = found.oldest_ms.map(|at| (now_ms() - at).max(0) / 1_000);
        if self.json {
            let value = json!({
                "segments": found.segments,
                "bytes": found.bytes,
                "records": found.records,
                "oldest_seconds": oldest,
                "put_back": found.put_back,
                "dead_letters": found.dead_letters,
                "damaged_files": found.damaged_files,
                "damaged_bytes": found.damaged_bytes,
                "keys": keys(found),
                "unencrypted_files": files_of(found, NeededKey::None),
                "unknown_key_files": files_of(found, NeededKey::Unknown),
            });
            return format!("{value}\n");
        }
        let oldest = oldest.map_or("none".to_owned(), |seconds| format!("{seconds} s"));
        [
            ("segments", found.segments.to_string()),
            ("bytes", found.bytes.to_string()),
            ("records owed", found.records.to_string()),
            ("oldest", oldest),
            ("put back, not yet picked up", found.put_back.to_string()),
            ("dead letters", found.dead_letters.to_string()),
            ("damaged files", found.damaged_files.to_string()),
            ("damaged bytes in segments", found.damaged_bytes.to_string()),
            ("files by key", by_key(found)),
        ]
        .map(|(name, value)| format!("{name}: {value}\n"))
        .concat()
    }

    fn letters(&self, letters: &[DeadLetter]) -> String {
        match self.json {
            true => format!("{}\n", Value::from_iter(letters.iter().map(value))),
            false => letters.iter().map(line).collect(),
        }
    }

    fn repaired(&self, done: &Repaired) -> String {
        if self.json {
            let value = json!({
                "files": done.files,
                "unreadable": done.unreadable,
                "left": done.left,
                "in_use": done.in_use,
                "put_back": done.put_back,
                "unreadable_bytes": done.unreadable_bytes,
                "without_key": done.without_key,
            });
            return format!("{value}\n");
        }
        [
            ("records put back", done.put_back),
            ("files done with (.repaired)", done.files),
            ("files with nothing readable (.unreadable)", done.unreadable),
            ("files left as they are", done.left),
            ("files still in use", done.in_use),
            ("unreadable bytes", done.unreadable_bytes),
            ("files without their key", done.without_key.len() as u64),
        ]
        .map(|(name, value)| format!("{name}: {value}\n"))
        .into_iter()
        .chain(done.without_key.iter().map(|said| format!("{said}\n")))
        .collect()
    }

    fn replayed(&self, count: u64) -> String {
        match self.json {
            true => format!("{}\n", json!({ "put_back": count })),
            false => format!("{count} dead letters put back\n"),
        }
    }
}

/// The encrypted files of each key.
fn keys(found: &FolderSummary) -> Value {
    let files = found.files_by_key.iter();
    let named = files.filter_map(|(key, count)| match key {
        NeededKey::Key(id) => Some((id.to_string(), Value::from(*count))),
        NeededKey::None | NeededKey::Unknown => None,
    });
    Value::from_iter(named)
}

fn files_of(found: &FolderSummary, key: NeededKey) -> u64 {
    found.files_by_key.get(&key).copied().unwrap_or(0)
}

fn by_key(found: &FolderSummary) -> String {
    let files = found.files_by_key.iter();
    let files = files.map(|(key, count)| match key {
        NeededKey::None => format!("not encrypted {count}"),
        NeededKey::Key(id) => format!("{id} {count}"),
        NeededKey::Unknown => format!("unknown {count}"),
    });
    match files.collect::<Vec<_>>().join(", ") {
        files if files.is_empty() => "none".to_owned(),
        files => files,
    }
}

fn value(letter: &DeadLetter) -> Value {
    let (record, context) = (&letter.record, &letter.record.context);
    json!({
        "at_ms": letter.at_ms,
        "stage": record.stage.as_str(),
        "status": letter.status,
        "request_id": context.exchange.to_string(),
        "application_id": context.application_id,
        "user_id": context.user_id,
        "message_bytes": record.message.len(),
    })
}

/// One dead letter as a line; names given by clients are quoted, so that they cannot forge a line.
fn line(letter: &DeadLetter) -> String {
    let (record, context) = (&letter.record, &letter.record.context);
    let named = |name: &Option<String>| {
        let name = name.as_ref();
        name.map_or("-".to_owned(), |name| format!("{name:?}"))
    };
    format!(
        "{} {} status={} request_id={} application={} user={} bytes={}\n",
        minute(letter.at_ms),
        record.stage.as_str(),
        letter.status,
        context.exchange,
        named(&context.application_id),
        named(&context.user_id),
        record.message.len(),
    )
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}
