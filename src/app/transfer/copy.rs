//! `monitor copy`: the embedded database of a data folder becomes the PostgreSQL database of the configuration, without
//! an archive in between.

use super::filling::Filling;
use super::moment::{moment, now_ms};
use super::place::exists;
use super::target_files::TargetFiles;
use crate::analysis::{blobs_folder, database_file};
use crate::app::process::runtime::backend_runtime;
use crate::config::{BlobPlace, Settings};
use anyhow::{Context, Result, bail, ensure};
use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use monitor_store::{
    BlobHash, BlobStore, PostgresStore, Row, RowSink, SqliteStore, StoreReader, Table,
    TransferError,
};
use std::path::{Path, PathBuf};

/// What to copy.
#[derive(Debug)]
pub struct CopyRequest {
    /// The SQLite file; None: that of the data folder.
    pub from: Option<PathBuf>,
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
    let files = source_files(settings, &from);
    backend_runtime()?.block_on(async {
        let at_ms = now_ms();
        let mut reader = SqliteStore::reader(&from).await?;
        let writer = PostgresStore::writer(store, PostgresStore::SCHEMA).await?;
        let mut filling = Filling::new(writer, Vec::new(), false);
        let copied = copy_all(settings, &mut *reader, &mut filling, files.as_deref()).await;
        reader.close().await;
        let writer = filling.into_writer();
        match copied {
            Ok(copied) => {
                writer.finish().await?;
                Ok(copied.text(&from, at_ms))
            }
            Err(error) => {
                writer.abort().await;
                Err(error)
            }
        }
    })
}

/// The folder of the source's files, if they have to be copied: beside the SQLite file, and not where the
/// configuration has them.
fn source_files(settings: &Settings, from: &Path) -> Option<PathBuf> {
    let folder = from.parent()?.join("blobs");
    let target = blobs_folder(&settings.analysis, &settings.data_dir);
    let is_bucket = matches!(settings.analysis.blobs, Some(BlobPlace::Bucket { .. }));
    let same = |one: &Path, other: &Path| match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    };
    let is_elsewhere = is_bucket || !same(&folder, &target);
    (folder.is_dir() && is_elsewhere).then_some(folder)
}

/// What was copied.
struct Copied {
    records: u64,
    files: Option<u64>,
    missing: u64,
}

impl Copied {
    fn text(&self, from: &Path, at_ms: i64) -> String {
        let files = match self.files {
            None => "files stay where they are".to_owned(),
            Some(count) => format!("files: {count} (missing: {})", self.missing),
        };
        format!(
            "{} copied and checked\nrecords: {}\n{files}\nsnapshot at: {}\nnote: what was stored since then is \
             not in it\n",
            from.display(),
            self.records,
            moment(at_ms)
        )
    }
}

async fn copy_all(
    settings: &Settings,
    reader: &mut dyn StoreReader,
    filling: &mut Filling,
    files: Option<&Path>,
) -> Result<Copied> {
    for table in Table::ALL {
        let mut sink = FillingSink(filling);
        reader.read(table, &mut sink).await?;
    }
    let filled = filling.settle().await?;
    let mut copied = Copied {
        records: filled.records - filled.erased.records,
        files: None,
        missing: 0,
    };
    if let Some(folder) = files {
        let from = BlobStore::local(folder)?;
        let to = TargetFiles::begin(settings)?;
        let mut sink = CopySink {
            from,
            to,
            missing: 0,
        };
        reader.read(Table::Blobs, &mut sink).await?;
        copied.missing = sink.missing;
        copied.files = Some(sink.to.kept);
        sink.to
            .publish(settings)
            .context("the files cannot be put in their place")?;
    }
    Ok(copied)
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
        for row in rows {
            let Ok(hash) = row.bytes("sha256").try_into() else {
                continue;
            };
            let copied = self.copy(BlobHash(hash)).await;
            copied.map_err(|error| TransferError::Sink(error.into()))?;
        }
        Ok(())
    }
}
