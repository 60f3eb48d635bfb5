//! `monitor backup`: the spool, then a snapshot of the store, then the files that it names. In this order nothing is
//! missed: a record that leaves the spool meanwhile is in the snapshot, and a file is there before its link is.

mod file_list;
mod sinks;
mod staged_spool;
mod unnamed_file;

use super::archive::manifest::{About, Content, Counts, FORMAT};
use super::archive::reader::ArchiveReader;
use super::archive::writer::ArchiveWriter;
use super::moment::{moment, now_ms};
use super::place::PartialFile;
use super::source::{self, files_name, store_name};
use crate::analysis::open_blobs;
use crate::app::process::runtime::backend_runtime;
use crate::app::store::copied_away;
use crate::config::key_file::{self, FileKey, Owners};
use crate::config::{Role, Settings};
use anyhow::{Context, Result, anyhow};
use file_list::FileList;
use monitor_model::GATEWAY_VERSION;
use monitor_store::{StoreReader, Table};
use sinks::{ArchiveSink, FileSink, UserTombstones};
use staged_spool::StagedSpool;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What to back up, and where to.
#[derive(Debug)]
pub struct BackupRequest {
    /// The archive to write.
    pub file: PathBuf,
    /// Encrypts it with the key in this file.
    pub key_file: Option<PathBuf>,
    /// Only the tombstones of erased users.
    pub erasures_only: bool,
}

/// Writes an archive of the configured store and checks it; gives what to print. A running server goes on.
///
/// # Errors
/// When something cannot be read or written, or the archive does not hold what was written. Then there is none.
pub fn backup(settings: &Settings, role: Role, request: &BackupRequest) -> Result<String> {
    copied_away::warn(settings);
    let key = read_key(request.key_file.as_deref(), &settings.data_dir)?;
    let (partial, file) = PartialFile::begin(&request.file)?;
    let spool = match role == Role::All && !request.erasures_only {
        true => Some(StagedSpool::copy(settings, &request.file)?),
        false => None,
    };
    let writing = write(settings, request, key.as_ref(), file, spool.as_ref());
    let written = backend_runtime()?.block_on(writing);
    let unwritten = || format!("{} is not written", request.file.display());
    let written = written.with_context(unwritten)?;
    eprintln!("checking what was written");
    let read = ArchiveReader::open(partial.path(), key.as_ref())?.read(|_| Ok(()))?;
    if read != written.counts {
        return Err(anyhow!("the archive does not hold what was written to it"));
    }
    partial.publish()?;
    Ok(written.text(settings, request, spool.as_ref()))
}

/// The key of an archive.
pub(super) fn read_key(file: Option<&Path>, data_dir: &Path) -> Result<Option<FileKey>> {
    let key = file.map(|file| key_file::read(file, Owners::of_folder(data_dir)));
    let key = key
        .transpose()
        .map_err(|error| anyhow!("--key-file: {error}"))?;
    Ok(key)
}

/// What was written.
struct Written {
    counts: Counts,
    at_ms: i64,
    missing: u64,
    damaged: u64,
}

async fn write(
    settings: &Settings,
    request: &BackupRequest,
    key: Option<&FileKey>,
    file: File,
    spool: Option<&StagedSpool>,
) -> Result<Written> {
    let mut reader = source::open(settings).await?;
    let about = about(&*reader, request);
    let mut archive = ArchiveWriter::begin(file, key, &about)?;
    let expected = reader.records().await?;
    let mut tables = ArchiveSink::new(archive, expected);
    match request.erasures_only {
        true => {
            let mut users = UserTombstones(&mut tables);
            reader.read(Table::Tombstones, &mut users).await?;
        }
        false => {
            for table in Table::ALL {
                reader.read(table, &mut tables).await?;
            }
        }
    }
    archive = tables.end();
    let mut list = FileList::begin(&request.file)?;
    if !request.erasures_only {
        reader.read(Table::Blobs, &mut list).await?;
    }
    // The files take long and are none of the snapshot's.
    reader.close().await;
    let (mut missing, mut damaged) = (0, 0);
    if !request.erasures_only {
        let blobs = open_blobs(&settings.analysis, &settings.data_dir)?;
        let mut files = FileSink::new(archive, blobs);
        for hash in list.read()? {
            files.add(hash?).await?;
        }
        (missing, damaged) = (files.missing, files.damaged);
        archive = files.end();
    }
    if let Some(spool) = spool {
        spool.write(&mut archive, key.is_some())?;
    }
    Ok(Written {
        counts: archive.finish()?,
        at_ms: about.at_ms,
        missing,
        damaged,
    })
}

fn about(reader: &dyn StoreReader, request: &BackupRequest) -> About {
    About {
        format: FORMAT,
        content: match request.erasures_only {
            true => Content::Erasures,
            false => Content::Everything,
        },
        version: GATEWAY_VERSION.to_owned(),
        store: reader.kind().to_owned(),
        schema: reader.schema(),
        at_ms: now_ms(),
    }
}

impl Written {
    fn text(
        &self,
        settings: &Settings,
        request: &BackupRequest,
        spool: Option<&StagedSpool>,
    ) -> String {
        let (file, at) = (request.file.display(), moment(self.at_ms));
        let mut text = format!(
            "{file} written and checked\nstore: {}\n",
            store_name(settings)
        );
        if !request.erasures_only {
            let _ = writeln!(text, "files from: {}", files_name(settings));
        }
        if spool.is_some() {
            let _ = writeln!(text, "spool: {}", settings.spool_dir().display());
        }
        let _ = writeln!(text, "{}snapshot at: {at}", self.counts);
        if let Some(StagedSpool { copied, .. }) = spool {
            let _ = writeln!(text, "records that wait in the spool: {}", copied.records);
        }
        for note in self.notes(settings, request, spool) {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }

    /// What a person should know of that is not in the archive.
    fn notes(
        &self,
        settings: &Settings,
        request: &BackupRequest,
        spool: Option<&StagedSpool>,
    ) -> Vec<String> {
        let unreadable = spool.map_or(0, |spool| spool.copied.unreadable);
        let has_keys = settings.gateway.spool.encryption.key_file.is_some();
        let lacks_keys = spool.is_some() && has_keys && request.key_file.is_none();
        let notes = [
            (unreadable > 0).then(|| {
                format!("{unreadable} parts of the spool cannot be read and are not in it (`monitor spool status`)")
            }),
            (self.missing > 0).then(|| {
                let missing = self.missing;
                format!("{missing} files were removed meanwhile, or are missing from the storage of files")
            }),
            (self.damaged > 0).then(|| {
                let damaged = self.damaged;
                format!("{damaged} files are damaged in the storage of files; a restore leaves them out")
            }),
            lacks_keys.then(|| {
                "the keys of the spool are in encrypted backups only: keep the files that spool.encryption names, or \
                 name a --key-file"
                    .to_owned()
            }),
        ];
        notes.into_iter().flatten().collect()
    }
}
