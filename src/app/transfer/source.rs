//! What a backup reads: the store of the configuration, or the file of an embedded one.

use crate::analysis::database_file;
use crate::config::Settings;
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
