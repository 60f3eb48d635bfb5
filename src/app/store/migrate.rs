//! `monitor migrate`: the schema of the configured database, brought up to date before anything starts
//! over it (CONTRACT 32). Every start does the same.

use crate::analysis;
use crate::app::process::runtime::backend_runtime;
use crate::app::store::copied_away;
use crate::config::Settings;
use anyhow::Result;

/// Migrates the database and gives the line that says what was done.
///
/// # Errors
/// When the database cannot be opened or written, or is of a later version.
pub fn migrate(settings: &Settings) -> Result<String> {
    copied_away::warn(settings);
    let migrated =
        backend_runtime()?.block_on(analysis::migrate(&settings.analysis, &settings.data_dir))?;
    Ok(match migrated.from == migrated.to {
        true => format!("schema version {}, nothing to do", migrated.to),
        false => format!("schema version {} -> {}", migrated.from, migrated.to),
    })
}
