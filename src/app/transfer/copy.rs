//! `monitor copy`: the embedded database of a data folder becomes the PostgreSQL database of the configuration, without
//! an archive in between.

use super::filling::Filling;
use super::moment::{moment, now_ms};
use super::place::{Published, exists, give_to_owner, give_to_owner_of};
use super::source::{files_name, store_name};
use super::target_files::TargetFiles;
use crate::analysis::{blobs_folder, database_file, open_blobs};
use crate::app::process::runtime::backend_runtime;
use crate::app::store::copied_away;
use crate::config::{BlobPlace, Settings};
use anyhow::{Context, Error, Result, bail, ensure};
use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use monitor_store::{
    BlobHash, BlobStore, PostgresStore, Row, RowSink, SqliteStore, StoreReader, StoreWriter, Table,
    TransferError,
};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What to copy.
#[derive(Debug)]
pub struct CopyRequest {
    /// The SQLite file; None: that of the data folder.
    pub from: Option<PathBuf>,
    /// The folder of its files; None: `blobs` beside it.
    pub files: Option<PathBuf>,
}

/// Copies a SQLite file into the configured PostgreSQL database; gives what to print. A running server goes on, and
/// what it stores from now on is not copied.
///
/// # Errors
/// When the database is not empty, or something cannot be read or written. Then no program opens the database.
pub fn copy(settings: &Settings, request: &CopyRequest) -> Result<String> {
    let Some(store) = &settings.analysis.store else {
        let file = database_file(&settings.analysis, &settings.data_dir);
        bail!(
            "the configured store is the SQLite file {}: name the PostgreSQL database to copy to (`store` in the \
             configuration, or STORE_HOST, STORE_DB, STORE_USER and STORE_PASSWORD)",
            file.display()
        );
    };
    let own = || settings.data_dir.join("monitor.db");
    let from = request.from.clone().unwrap_or_else(own);
    ensure!(
        exists(&from),
        "there is no SQLite file {}: name it with --from",
        from.display()
    );
    let files = SourceFiles::find(settings, &from, request.files.as_deref())?;
    backend_runtime()?.block_on(async {
        let at_ms = now_ms();
        let mut reader = SqliteStore::reader(&from).await?;
        files.check(settings, &mut *reader).await?;
        let writer = PostgresStore::writer(store, PostgresStore::SCHEMA).await?;
        let mut filling = Filling::new(writer, Vec::new(), false);
        let copied = copy_all(settings, &mut *reader, &mut filling, &files).await;
        reader.close().await;
        let writer = filling.into_writer();
        match copied {
            Ok(copied) => {
                let summary = copied.summary;
                copied.publish(settings, writer).await?;
                Ok(summary.text(settings, &from, at_ms))
            }
            Err(error) => {
                writer.abort().await;
                Err(error)
            }
        }
    })
}

/// Where the bytes of the source's files are.
enum SourceFiles {
    /// Where the configuration has them.
    InPlace,
    /// In this folder, from which they are copied.
    Folder(PathBuf),
    /// In no folder that is known: not in this one, which was looked for.
    Unknown(PathBuf),
}

impl SourceFiles {
    fn find(settings: &Settings, from: &Path, named: Option<&Path>) -> Result<Self> {
        let beside = || from.parent().unwrap_or(Path::new(".")).join("blobs");
        let folder = named.map_or_else(beside, Path::to_owned);
        let target = blobs_folder(&settings.analysis, &settings.data_dir);
        let is_bucket = matches!(settings.analysis.blobs, Some(BlobPlace::Bucket { .. }));
        let same = |one: &Path, other: &Path| match (one.canonicalize(), other.canonicalize()) {
            (Ok(one), Ok(other)) => one == other,
            _ => one == other,
        };
        Ok(match folder.is_dir() {
            _ if !is_bucket && same(&folder, &target) => Self::InPlace,
            true => Self::Folder(folder),
            false if named.is_some() => bail!("--files: {} is no folder", folder.display()),
            false => Self::Unknown(folder),
        })
    }

    /// Before anything is written: whether the files of the store can be where nobody says they are.
    async fn check(&self, settings: &Settings, reader: &mut dyn StoreReader) -> Result<()> {
        let Self::Unknown(folder) = self else {
            return Ok(());
        };
        let found = look_for_files(settings, reader).await?;
        ensure!(
            found.missing == 0,
            "{} files of the store are neither in {} nor in {}: name the folder that has them with --files (an empty \
             one to go without them)",
            found.missing,
            folder.display(),
            files_name(settings)
        );
        Ok(())
    }
}

/// Looks which files of the store are where the configuration has them.
async fn look_for_files(settings: &Settings, reader: &mut dyn StoreReader) -> Result<FileCounts> {
    let is_bucket = matches!(settings.analysis.blobs, Some(BlobPlace::Bucket { .. }));
    let folder = blobs_folder(&settings.analysis, &settings.data_dir);
    // A folder that is not there is not made: it would be this user's, and not the service's.
    let target = (is_bucket || folder.is_dir())
        .then(|| open_blobs(&settings.analysis, &settings.data_dir))
        .transpose()?;
    let mut sink = LookingSink {
        target,
        counts: FileCounts::default(),
    };
    reader.read(Table::Blobs, &mut sink).await?;
    Ok(sink.counts)
}

/// Files that are there, that are not, and whose bytes have another hash than their name says.
#[derive(Clone, Copy, Debug, Default)]
struct FileCounts {
    found: u64,
    missing: u64,
    damaged: u64,
}

/// What was copied.
#[derive(Clone, Copy)]
struct Summary {
    records: u64,
    files: FileCounts,
    has_moved_files: bool,
}

impl Summary {
    fn text(&self, settings: &Settings, from: &Path, at_ms: i64) -> String {
        let FileCounts {
            found,
            missing,
            damaged,
        } = self.files;
        let (place, target) = (files_name(settings), store_name(settings));
        let mut text = format!(
            "{} copied and checked\nstore: {target}\nrecords: {}\n",
            from.display(),
            self.records
        );
        let _ = match self.has_moved_files {
            false => writeln!(
                text,
                "files stay where they are, in {place}: {found} (missing: {missing})"
            ),
            true => writeln!(
                text,
                "files: {found} in {place} (missing: {missing}, damaged: {damaged})"
            ),
        };
        let at = moment(at_ms);
        let _ = writeln!(
            text,
            "snapshot at: {at}\nnote: what was stored since then is not in it"
        );
        if missing + damaged > 0 {
            let _ = writeln!(
                text,
                "note: {missing} files were missing and {damaged} were damaged where they came from; downloads of them \
                 fail"
            );
        }
        let noted = copied_away::leave_note(from, &target, &at);
        let noted = noted.and_then(|note| give_to_owner_of(from, &note));
        if let Err(error) = noted {
            let _ = writeln!(
                text,
                "note: where it went cannot be noted beside {}: {error}",
                from.display()
            );
        }
        text
    }
}

/// A copy whose files have no names yet.
struct Copied {
    summary: Summary,
    files: Option<TargetFiles>,
}

impl Copied {
    /// Gives the files their place, then makes the database a store. If it does not become one, the files go again.
    async fn publish(self, settings: &Settings, mut writer: Box<dyn StoreWriter>) -> Result<()> {
        let completed = writer.complete().await.map_err(Error::from);
        let completed = completed.and_then(|()| {
            let mut published = Published::default();
            if let Some(files) = self.files {
                give_to_owner(&settings.data_dir, &[files.path().to_owned()])?;
                let placed = files.publish(settings);
                published.add(placed.context("the files cannot be put in their place")?);
            }
            Ok(published)
        });
        match completed {
            Ok(published) => {
                // A connection that breaks now leaves open whether the database is a store.
                published.keep();
                Ok(writer.finish().await?)
            }
            Err(error) => {
                writer.abort().await;
                Err(error)
            }
        }
    }
}

async fn copy_all(
    settings: &Settings,
    reader: &mut dyn StoreReader,
    filling: &mut Filling,
    files: &SourceFiles,
) -> Result<Copied> {
    for table in Table::ALL {
        let mut sink = FillingSink(filling);
        reader.read(table, &mut sink).await?;
    }
    let filled = filling.settle().await?;
    let records = filled.records - filled.erased.records;
    let SourceFiles::Folder(folder) = files else {
        let summary = Summary {
            records,
            files: look_for_files(settings, reader).await?,
            has_moved_files: false,
        };
        return Ok(Copied {
            summary,
            files: None,
        });
    };
    let mut sink = CopySink {
        from: BlobStore::local(folder)?,
        to: TargetFiles::begin(settings)?,
        missing: 0,
    };
    reader.read(Table::Blobs, &mut sink).await?;
    let summary = Summary {
        records,
        files: FileCounts {
            found: sink.to.kept,
            missing: sink.missing,
            damaged: sink.to.damaged,
        },
        has_moved_files: true,
    };
    Ok(Copied {
        summary,
        files: Some(sink.to),
    })
}

/// Counts which files of rows are there.
struct LookingSink {
    target: Option<BlobStore>,
    counts: FileCounts,
}

#[async_trait]
impl RowSink for LookingSink {
    async fn take(&mut self, _: Table, rows: Vec<Row>) -> Result<(), TransferError> {
        for hash in rows.iter().filter_map(file_of) {
            let found = match &self.target {
                Some(target) => target.read(hash).await,
                None => Ok(None),
            };
            match found.map_err(|error| TransferError::Sink(error.into()))? {
                Some(_) => self.counts.found += 1,
                None => self.counts.missing += 1,
            }
        }
        Ok(())
    }
}

/// The file of a row.
fn file_of(row: &Row) -> Option<BlobHash> {
    row.bytes("sha256").try_into().map(BlobHash).ok()
}

struct FillingSink<'f>(&'f mut Filling);

#[async_trait]
impl RowSink for FillingSink<'_> {
    async fn take(&mut self, table: Table, rows: Vec<Row>) -> Result<(), TransferError> {
        Ok(self.0.write(table, rows).await?)
    }
}

/// Copies the files of rows.
struct CopySink {
    from: BlobStore,
    to: TargetFiles,
    missing: u64,
}

impl CopySink {
    async fn copy(&mut self, hash: BlobHash) -> Result<()> {
        let Some(mut bytes) = self.from.read(hash).await? else {
            self.missing += 1;
            return Ok(());
        };
        self.to.begin_file(hash).await?;
        while let Some(piece) = bytes.try_next().await? {
            self.to.write(piece.to_vec()).await?;
        }
        self.to.end_file().await
    }
}

#[async_trait]
impl RowSink for CopySink {
    async fn take(&mut self, _: Table, rows: Vec<Row>) -> Result<(), TransferError> {
        for hash in rows.iter().filter_map(file_of) {
            let copied = self.copy(hash).await;
            copied.map_err(|error| TransferError::Sink(error.into()))?;
        }
        Ok(())
    }
}
