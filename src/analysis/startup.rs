//! Opens the store and, at the first start only, creates the first application and the first token
//! (CONTRACT 30 and 32).

use super::access::token_cache::{self, TokenCache};
use super::admin::applications::{bare_application, first_rules};
use super::clock::now_ms;
use super::found_values::random_key;
use super::people::first_link::first_link;
use super::people::oidc::Provider;
use super::start_error::StartError;
use crate::config::{AnalysisSettings, BlobPlace};
use monitor_model::{ApplicationId, Secret};
use monitor_store::{
    BlobStore, Migrated, PostgresStore, Scope, Scopes, SqliteStore, Store, StoreEngine,
};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DATABASE: &str = "monitor.db";
const BLOBS: &str = "blobs";

/// Shown to the operator at startup.
#[derive(Clone, Debug)]
pub struct FirstRun {
    /// The first application; `monitor all` uses it for MONITOR_APPLICATION_ID.
    pub application_id: ApplicationId,
    /// The first token: the one just created at the first start, or else the configured one.
    pub access_key: Option<Secret>,
    /// The one-time link that sets the first administrator's password, as long as there is none.
    pub sign_in_link: Option<Secret>,
}

/// Opens the configured database; missing folders are created for their owner only.
pub(super) async fn open_store(
    settings: &AnalysisSettings,
    data_dir: &Path,
) -> Result<Arc<dyn Store>, StartError> {
    match &settings.store {
        Some(store) => {
            private_folder(data_dir)?;
            Ok(Arc::new(PostgresStore::open(store).await?))
        }
        None => Ok(Arc::new(open_file(settings, data_dir).await?)),
    }
}

/// The file of the embedded database.
pub fn database_file(settings: &AnalysisSettings, data_dir: &Path) -> PathBuf {
    let own = || data_dir.join(DATABASE);
    settings.database.clone().unwrap_or_else(own)
}

/// What the embedded database is called while a restore fills it.
pub(crate) fn restoring_file(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".restoring");
    PathBuf::from(name)
}

/// The folder of attached files: all of them, or with a bucket only those on their way to it.
pub fn blobs_folder(settings: &AnalysisSettings, data_dir: &Path) -> PathBuf {
    match &settings.blobs {
        Some(BlobPlace::Folder(folder)) => folder.clone(),
        None | Some(BlobPlace::Bucket { .. }) => data_dir.join(BLOBS),
    }
}

/// Opens the storage of attached files.
///
/// # Errors
/// [`StartError`] when its folder cannot be used.
pub fn open_blobs(settings: &AnalysisSettings, data_dir: &Path) -> Result<BlobStore, StartError> {
    let own = data_dir.join(BLOBS);
    let (path, opened) = match &settings.blobs {
        None => (&own, BlobStore::local(&own)),
        Some(BlobPlace::Folder(folder)) => (folder, BlobStore::local(folder)),
        Some(BlobPlace::Bucket { name, prefix }) => (&own, BlobStore::bucket(name, prefix, &own)),
    };
    opened.map_err(|error| StartError::Folder {
        path: path.clone(),
        reason: error.to_string(),
    })
}

/// The client of the configured identity provider; nothing is connected yet.
pub(super) fn open_provider(settings: &AnalysisSettings) -> Result<Option<Provider>, StartError> {
    let provider = settings.oidc.clone().map(Provider::new);
    provider.transpose().map_err(StartError::SignIn)
}

/// Brings the schema of the configured database up to date and does nothing else.
///
/// # Errors
/// [`StartError`] when it cannot be opened or written, or is of a later version.
pub async fn migrate(settings: &AnalysisSettings, data_dir: &Path) -> Result<Migrated, StartError> {
    if let Some(store) = &settings.store {
        return Ok(PostgresStore::migrate(store).await?);
    }
    let store = open_file(settings, data_dir).await?;
    store.close().await;
    Ok(store.migrated())
}

async fn open_file(
    settings: &AnalysisSettings,
    data_dir: &Path,
) -> Result<SqliteStore, StartError> {
    let path = database_file(settings, data_dir);
    let restoring = restoring_file(&path);
    if !path.exists() && restoring.exists() {
        return Err(StartError::Restoring(restoring));
    }
    for folder in [Some(data_dir), path.parent()].into_iter().flatten() {
        if !folder.as_os_str().is_empty() {
            private_folder(folder)?;
        }
    }
    Ok(SqliteStore::open(&path).await?)
}

fn private_folder(path: &Path) -> Result<(), StartError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| StartError::Folder {
            path: path.into(),
            reason: error.to_string(),
        })
}

/// Creates the first application and the first token where there are none. Of servers that start at once over one
/// database, one does.
pub(super) async fn first_run(
    store: &dyn Store,
    tokens: &TokenCache,
    settings: &AnalysisSettings,
) -> Result<FirstRun, StartError> {
    let lock = store.lock_first_start().await?;
    let first_run = create_missing(store, tokens, settings).await;
    lock.release().await;
    first_run
}

async fn create_missing(
    store: &dyn Store,
    tokens: &TokenCache,
    settings: &AnalysisSettings,
) -> Result<FirstRun, StartError> {
    let application_id = match store.first_application().await? {
        Some(first) => first.id,
        None => add_default_application(store).await?,
    };
    let access_key = match &settings.first_token {
        Some(key) => Some(key.clone()),
        // An earlier start may have stopped before it created the token.
        None if !store.has_tokens().await? => {
            Some(token_cache::random_value().map_err(|_| StartError::Random)?)
        }
        None => None,
    };
    if let Some(key) = &access_key {
        let first = token_cache::new_token("first", Scopes::of(&Scope::FULL), None);
        tokens.add(key, first, None).await?;
    }
    if store.value_keys().await?.is_empty() {
        let secret = random_key().map_err(|_| StartError::Random)?;
        store.add_value_key(secret, now_ms(), None).await?;
    }
    Ok(FirstRun {
        application_id,
        access_key,
        sign_in_link: first_link(store, settings.oidc.is_some()).await?,
    })
}

async fn add_default_application(store: &dyn Store) -> Result<ApplicationId, StartError> {
    let id = ApplicationId::random();
    let first = bare_application(id, "default".to_owned(), first_rules());
    store.add_application(first, "first start", None).await?;
    Ok(id)
}
