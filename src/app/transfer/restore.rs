//! `monitor restore`: an archive becomes the store, the files and the spool of the configuration, all of which have to
//! be empty. Everything is made beside its place; the database gets its name, or its schema version, last.

use super::archive::manifest::{About, Content, Counts};
use super::archive::reader::{ArchiveReader, Part};
use super::backup::read_key;
use super::erasures;
use super::filling::{Filled, Filling};
use super::moment::moment;
use super::place::{
    PartialFolder, beside, exists, first_file, give_to_owner, lock_data_folder, make_private,
    publish,
};
use super::target_files::TargetFiles;
use crate::analysis::database_file;
use crate::app::process::runtime::backend_runtime;
use crate::config::{Role, Settings};
use crate::spool;
use anyhow::{Context, Result, bail, ensure};
use monitor_store::{BlobHash, PostgresStore, SqliteStore, StoreWriter};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;

/// What to restore.
#[derive(Debug)]
pub struct RestoreRequest {
    /// The archive to restore; it is read once, from front to back.
    pub file: PathBuf,
    /// The key of an encrypted one, and of the later ones.
    pub key_file: Option<PathBuf>,
    /// Later archives, whose erasures are done again.
    pub erasures: Vec<PathBuf>,
    /// The schema to restore into, if it is not this program's own.
    pub schema: Option<i64>,
}

/// Reads an archive to its end and gives what is in it; restores nothing.
///
/// # Errors
/// When it is damaged, not complete, or does not fit the key.
pub fn check_archive(settings: &Settings, file: &Path, key_file: Option<&Path>) -> Result<String> {
    let key = read_key(key_file, &settings.data_dir)?;
    let mut about = None;
    let counts = ArchiveReader::open(file, key.as_ref())?.read(|part| {
        if let Part::About(found) = part {
            about = Some(found);
        }
        Ok(())
    })?;
    let about = about.context("the archive has no beginning")?;
    Ok(format!(
        "{} is complete\nof version {}, {} with schema {}\nsnapshot at: {}\n{counts}",
        file.display(),
        about.version,
        about.store,
        about.schema,
        moment(about.at_ms)
    ))
}

/// Restores an archive into the configured store; gives what to print.
///
/// # Errors
/// When a part of the target is not empty, or something cannot be read or written. Then there is no store.
pub fn restore(settings: &Settings, role: Role, request: &RestoreRequest) -> Result<String> {
    let key = read_key(request.key_file.as_deref(), &settings.data_dir)?;
    let archive = ArchiveReader::open(&request.file, key.as_ref())?;
    let later = erasures::read(&request.erasures, key.as_ref())?;
    let schema = schema(settings, request.schema)?;
    let _lock = lock_data_folder(&settings.data_dir)?;
    check_empty(settings, role)?;
    let files = TargetFiles::begin(settings)?;
    let spool = match role {
        Role::All => Some(PartialFolder::begin(&settings.spool_dir(), ".restoring")?),
        Role::Analysis | Role::Gateway => None,
    };
    let runtime = backend_runtime()?;
    let target = Target::open(settings, &runtime, schema.version)?;
    let mut restoring = Restoring {
        runtime,
        filling: Filling::new(target.writer, later, schema.is_older),
        files,
        spool,
        keys: Vec::new(),
        about: None,
        filled: None,
        takes_file: false,
    };
    let read = archive.read(|part| restoring.take(part));
    match read.and_then(|counts| restoring.settle().map(|()| counts)) {
        Ok(counts) => restoring.finish(settings, &target.database, &counts, request),
        Err(error) => {
            restoring.abort();
            if let Some(partial) = &target.database {
                remove_database(&partial.partial);
            }
            Err(error)
        }
    }
}

/// The schema to restore into.
struct TargetSchema {
    version: i64,
    is_older: bool,
}

fn schema(settings: &Settings, asked: Option<i64>) -> Result<TargetSchema> {
    let known = known_schema(settings);
    let version = asked.unwrap_or(known);
    ensure!(
        version == known || version == known - 1,
        "--schema {version}: this program restores into schema {known} and the one before, {}; for another one use the \
         program of that version",
        known - 1
    );
    Ok(TargetSchema {
        version,
        is_older: version < known,
    })
}

/// The schema of this program.
fn known_schema(settings: &Settings) -> i64 {
    match settings.analysis.store {
        Some(_) => PostgresStore::SCHEMA,
        None => SqliteStore::SCHEMA,
    }
}

fn check_empty(settings: &Settings, role: Role) -> Result<()> {
    if settings.analysis.store.is_none() {
        let file = database_file(&settings.analysis, &settings.data_dir);
        ensure!(
            !exists(&file),
            "the database {} exists: nothing is written over; restore into an empty data folder (--data-dir), or move \
             this one away first",
            file.display()
        );
    }
    let spool = settings.spool_dir();
    if role == Role::All
        && let Some(file) = first_file(&spool)?
    {
        bail!(
            "the spool's folder is not empty (it has {}): nothing is written over; restore into an empty data folder \
             (--data-dir), or deliver what waits there and move {} away",
            file.display(),
            spool.display()
        );
    }
    Ok(())
}

/// The file of an embedded database, and what it is called until it is whole.
struct DatabaseFile {
    name: PathBuf,
    partial: PathBuf,
}

/// The store to fill.
struct Target {
    writer: Box<dyn StoreWriter>,
    database: Option<DatabaseFile>,
}

impl Target {
    fn open(settings: &Settings, runtime: &Runtime, schema: i64) -> Result<Self> {
        if let Some(store) = &settings.analysis.store {
            let writer = runtime.block_on(PostgresStore::writer(store, schema))?;
            return Ok(Self {
                writer,
                database: None,
            });
        }
        let name = database_file(&settings.analysis, &settings.data_dir);
        let partial = beside(&name, ".restoring");
        if let Some(folder) = name.parent() {
            make_private(folder)?;
        }
        // What an interrupted restore left.
        remove_database(&partial);
        let writer = runtime.block_on(SqliteStore::writer(&partial, schema))?;
        Ok(Self {
            writer,
            database: Some(DatabaseFile { name, partial }),
        })
    }
}

fn remove_database(file: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        // Missing, most of the time.
        let _ = std::fs::remove_file(beside(file, suffix));
    }
}

/// A restore at work.
struct Restoring {
    runtime: Runtime,
    filling: Filling,
    files: TargetFiles,
    spool: Option<PartialFolder>,
    keys: Vec<PathBuf>,
    about: Option<About>,
    /// What was filled in, once all rows are there.
    filled: Option<Filled>,
    /// Whether the bytes that come next are of a file that somebody links to.
    takes_file: bool,
}

impl Restoring {
    fn take(&mut self, part: Part) -> Result<()> {
        match part {
            Part::About(about) => {
                ensure!(
                    about.content == Content::Everything,
                    "the archive holds erasures only: name it with --erasures, beside the archive to restore"
                );
                self.about = Some(about);
                Ok(())
            }
            Part::Rows(table, rows) => {
                ensure!(self.filled.is_none(), "rows come behind files");
                Ok(self.runtime.block_on(self.filling.write(table, rows))?)
            }
            Part::File {
                hash,
                is_first,
                bytes,
            } => self.restore_file(hash, is_first, bytes),
            Part::Spool {
                name,
                is_first,
                bytes,
            } => self.restore_spool(&name, is_first, &bytes),
            Part::Key { id, bytes } => self.restore_key(&id, &bytes),
        }
    }

    /// Once, behind the last row.
    fn settle(&mut self) -> Result<()> {
        if self.filled.is_none() {
            self.filled = Some(self.runtime.block_on(self.filling.settle())?);
        }
        Ok(())
    }

    /// Files that nobody links to any more are left out: those of users who were erased.
    fn restore_file(&mut self, hash: BlobHash, is_first: bool, bytes: Vec<u8>) -> Result<()> {
        self.settle()?;
        if is_first {
            let links = self.filling.writer().links(hash);
            let is_linked = self.runtime.block_on(links)? > 0;
            self.takes_file = is_linked;
            if is_linked {
                self.runtime.block_on(self.files.begin_file(hash))?;
            }
        }
        match self.takes_file {
            true => self.runtime.block_on(self.files.write(bytes)),
            false => Ok(()),
        }
    }

    fn restore_spool(&mut self, name: &str, is_first: bool, bytes: &[u8]) -> Result<()> {
        let Some(spool) = &self.spool else {
            return Ok(());
        };
        let folder = spool::restored_folder(spool.path());
        make_private(&folder)?;
        let mut options = OpenOptions::new();
        let options = options.append(true).create_new(is_first).mode(0o600);
        let mut file = options.open(folder.join(name))?;
        file.write_all(bytes)?;
        Ok(file.sync_all()?)
    }

    /// Keys go beside the spool's files: the configuration may name other places than this machine has.
    fn restore_key(&mut self, id: &str, bytes: &[u8]) -> Result<()> {
        let Some(spool) = &self.spool else {
            return Ok(());
        };
        let folder = spool.path().join("keys");
        make_private(&folder)?;
        let name = format!("{id}.key");
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600);
        options.open(folder.join(&name))?.write_all(bytes)?;
        self.keys.push(PathBuf::from("keys").join(name));
        Ok(())
    }

    fn finish(
        mut self,
        settings: &Settings,
        database: &Option<DatabaseFile>,
        counts: &Counts,
        request: &RestoreRequest,
    ) -> Result<String> {
        self.runtime.block_on(self.files.end_file())?;
        let mut made = Vec::new();
        let (kept, damaged) = (self.files.kept, self.files.damaged);
        made.extend(self.files.publish(settings)?);
        if let Some(spool) = self.spool {
            made.push(spool.publish()?);
        }
        self.runtime.block_on(self.filling.into_writer().finish())?;
        if let Some(database) = database {
            made.push(database.partial.clone());
        }
        give_to_owner(&settings.data_dir, &made)?;
        if let Some(DatabaseFile { name, partial }) = database {
            publish(partial, name)?;
        }
        let filled = self.filled.unwrap_or_default();
        let summary = Summary {
            about: self.about,
            filled,
            kept,
            damaged,
            keys: self.keys,
        };
        Ok(summary.text(settings, counts, request))
    }

    fn abort(self) {
        self.runtime.block_on(self.filling.into_writer().abort());
    }
}

/// What was restored.
struct Summary {
    about: Option<About>,
    filled: Filled,
    kept: u64,
    damaged: u64,
    keys: Vec<PathBuf>,
}

impl Summary {
    fn text(&self, settings: &Settings, counts: &Counts, request: &RestoreRequest) -> String {
        let mut text = format!("{} restored and checked\n", request.file.display());
        let _ = write!(text, "{}", counts.rows_shown());
        let _ = writeln!(text, "files: {}", self.kept);
        let _ = writeln!(text, "files of the spool: {}", counts.spool_files);
        let Filled {
            erased,
            tombstones,
            left_out,
            ..
        } = self.filled;
        let _ = writeln!(
            text,
            "erasures done again: {} records, {} files of records ({tombstones} tombstones)",
            erased.records, erased.attachments
        );
        if left_out > 0 {
            let _ = writeln!(
                text,
                "note: {left_out} parts of tool calls that name no user are left out: this schema has no exchanges, so \
                 that an erasure of their exchange's user would not find them; a restore into schema {} has them",
                known_schema(settings)
            );
        }
        if self.damaged > 0 {
            let _ = writeln!(
                text,
                "note: {} files were damaged before the backup and are left out",
                self.damaged
            );
        }
        for key in &self.keys {
            let path = settings.spool_dir().join(key);
            let _ = writeln!(
                text,
                "key of the spool: {} (move it to where spool.encryption names it)",
                path.display()
            );
        }
        if let Some(about) = &self.about {
            let _ = writeln!(
                text,
                "snapshot at: {}\nnote: erasures, revoked access keys and changes since then are not in it; repeat \
                 erasures that no --erasures archive knows (docs/operations.md, \"Backup and restore\")",
                moment(about.at_ms)
            );
        }
        text
    }
}
