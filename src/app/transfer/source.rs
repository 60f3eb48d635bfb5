//! The store of the configuration: a snapshot of it, and how a summary names it with its files.

use crate::analysis::{blobs_folder, database_file};
use crate::config::{BlobPlace, Settings};
use anyhow::{Result, ensure};
use monitor_store::{PostgresStore, SqliteStore, StoreReader};

/// A snapshot of the configured store.
pub(super) async fn open(settings: &Settings) -> Result<Box<dyn StoreReader>> {
    Ok(match &settings.analysis.store {
        Some(store) => PostgresStore::reader(store).await?,
        None => {
            let file = database_file(&settings.analysis, &settings.data_dir);
            ensure!(
                file.exists(),
                "there is no database {}: name the installation with --config, --role and --data-dir, as its service \
                 does; a gateway alone has none and needs no backup (\"A gateway alone\" in docs/operations.md)",
                file.display()
            );
            SqliteStore::reader(&file).await?
        }
    })
}

/// The configured store as a person knows it.
pub(super) fn store_name(settings: &Settings) -> String {
    match &settings.analysis.store {
        Some(store) => format!(
            "the database {} of PostgreSQL at {}:{}",
            store.db, store.host, store.port
        ),
        None => {
            let file = database_file(&settings.analysis, &settings.data_dir);
            format!("the SQLite file {}", file.display())
        }
    }
}

/// Where the configured store has its files.
pub(super) fn files_name(settings: &Settings) -> String {
    match &settings.analysis.blobs {
        Some(BlobPlace::Bucket { name, prefix }) if prefix.is_empty() => {
            format!("the bucket {name}")
        }
        Some(BlobPlace::Bucket { name, prefix }) => format!("the bucket {name}, under {prefix}/"),
        None | Some(BlobPlace::Folder(_)) => {
            let folder = blobs_folder(&settings.analysis, &settings.data_dir);
            folder.display().to_string()
        }
    }
}

/// The schema of this program's store.
pub(super) fn known_schema(settings: &Settings) -> i64 {
    match settings.analysis.store {
        Some(_) => PostgresStore::SCHEMA,
        None => SqliteStore::SCHEMA,
    }
}

/// The oldest schema that a restore can make.
pub(super) fn oldest_schema(settings: &Settings) -> i64 {
    match settings.analysis.store {
        Some(_) => PostgresStore::OLDEST_SCHEMA,
        None => SqliteStore::OLDEST_SCHEMA,
    }
}
