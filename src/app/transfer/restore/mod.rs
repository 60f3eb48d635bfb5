//! `monitor restore`: an archive becomes the store, the files and the spool of the configuration, all of which have to
//! be empty. Everything is made beside its place; the database gets its name, or its schema version, last.

mod summary;

use super::archive::manifest::{About, Content};
use super::archive::reader::{ArchiveReader, Part};
use super::backup::read_key;
use super::erasures;
use super::filling::{Filled, Filling};
use super::moment::moment;
use super::place::{
    PartialFolder, Published, beside, exists, first_file, give_to_owner, lock_data_folder,
    make_private, publish,
};
use super::source::{known_schema, oldest_schema};
use super::target_files::TargetFiles;
use crate::analysis::{database_file, restoring_file};
use crate::app::process::runtime::backend_runtime;
use crate::app::store::copied_away;
use crate::config::{Role, Settings};
use crate::spool;
use anyhow::{Context, Result, bail, ensure};
use monitor_store::{BlobHash, PostgresStore, SqliteStore, StoreWriter};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use summary::Summary;
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
        schema: schema.version,
        filling: Filling::new(target.writer, later, schema.is_older),
        files,
        spool,
        keys: Vec::new(),
        about: None,
        filled: None,
        takes_file: false,
    };
    let read = archive
        .read(|part| restoring.take(part))
        .and_then(|counts| {
            restoring.complete(settings, target.database.as_ref())?;
            Ok(counts)
        });
    let restored = match read {
        Ok(counts) => restoring
            .publish(settings, target.database.as_ref())
            .map(|summary| summary.text(settings, &counts, &request.file)),
        Err(error) => {
            restoring.abort();
            Err(error)
        }
    };
    if let (Err(_), Some(database)) = (&restored, &target.database) {
        remove_database(&database.partial);
    }
    restored
}

/// The schema to restore into.
struct TargetSchema {
    version: i64,
    is_older: bool,
}

fn schema(settings: &Settings, asked: Option<i64>) -> Result<TargetSchema> {
    let (oldest, known) = (oldest_schema(settings), known_schema(settings));
    let version = asked.unwrap_or(known);
    ensure!(
        (oldest..=known).contains(&version),
        "--schema {version}: this program restores into the schemas from {oldest}, that of version 4.1.0, to {known}; \
         for a later one use the program of that version"
    );
    Ok(TargetSchema {
        version,
        is_older: version < known,
    })
}

fn check_empty(settings: &Settings, role: Role) -> Result<()> {
    if settings.analysis.store.is_none() {
        let file = database_file(&settings.analysis, &settings.data_dir);
        check_database(&file)?;
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

/// The ends of the names that SQLite gives to what belongs to a database. A log that another one left would be written
/// over a restored file.
const FILES_OF_DATABASE: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Refuses a place where a database is, or a part of one.
fn check_database(file: &Path) -> Result<()> {
    let mut files = FILES_OF_DATABASE.iter().map(|suffix| beside(file, suffix));
    if let Some(found) = files.find(|file| exists(file)) {
        let shown = file.display();
        bail!(
            "{} exists: nothing is written over; restore into an empty data folder (--data-dir), or move the whole \
             database away first ({shown}, {shown}-wal and {shown}-shm)",
            found.display()
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
        let partial = restoring_file(&name);
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
    for suffix in FILES_OF_DATABASE {
        // Missing, most of the time.
        let _ = std::fs::remove_file(beside(file, suffix));
    }
}

/// A restore at work.
struct Restoring {
    runtime: Runtime,
    schema: i64,
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

    /// Everything that can fail, a full disk included: after it, only names are given.
    fn complete(&mut self, settings: &Settings, database: Option<&DatabaseFile>) -> Result<()> {
        self.settle()?;
        self.runtime.block_on(self.files.end_file())?;
        self.runtime.block_on(self.filling.writer().complete())?;
        let mut made = vec![self.files.path().to_owned()];
        made.extend(self.spool.iter().map(|spool| spool.path().to_owned()));
        made.extend(database.map(|database| database.partial.clone()));
        give_to_owner(&settings.data_dir, &made)
    }

    /// Gives everything its name, the database last. What has its name when something fails loses it again.
    fn publish(self, settings: &Settings, database: Option<&DatabaseFile>) -> Result<Summary> {
        let summary = Summary {
            schema: self.schema,
            about: self.about,
            filled: self.filled.unwrap_or_default(),
            kept: self.files.kept,
            damaged: self.files.damaged,
            keys: self.keys,
        };
        let mut published = Published::default();
        published.add(self.files.publish(settings)?);
        if let Some(spool) = self.spool {
            published.add(Some(spool.publish()?));
        }
        let finished = self.runtime.block_on(self.filling.into_writer().finish());
        match database {
            Some(DatabaseFile { name, partial }) => {
                finished?;
                check_database(name)?;
                let named = publish(partial, name);
                if !exists(partial) {
                    // Whatever was copied away had this name before.
                    let _ = std::fs::remove_file(copied_away::note_of(name));
                    published.keep();
                }
                named?;
            }
            // A connection that breaks now leaves open whether the database is a store.
            None => {
                let kept = published.keep();
                let kept = kept.iter().map(|path| path.display().to_string());
                let kept = kept.collect::<Vec<_>>().join(" and ");
                finished.with_context(|| {
                    format!(
                        "the database may be unfinished; if no server opens it, drop it, and before the next \
                         restore remove what is in its place: {kept}"
                    )
                })?;
            }
        }
        Ok(summary)
    }

    fn abort(self) {
        self.runtime.block_on(self.filling.into_writer().abort());
    }
}
