//! `monitor token …`: the same actions as the API's, on the configured store directly and without a
//! server; the audit log names the command line (CONTRACT 30, 32).

use crate::analysis::{
    ApiError, Caller, CreatedToken, NewToken, Rotation, Services, database_file,
};
use crate::app::process::runtime::backend_runtime;
use crate::app::process::start_text;
use crate::app::store::copied_away;
use crate::config::Settings;
use anyhow::Result;
use monitor_model::ApplicationId;
use monitor_store::{Token, TokenId};
use std::path::PathBuf;

/// Tokens read at once.
const PAGE: u32 = 200;

/// Makes a token; its value can be read this once.
///
/// # Errors
/// When the store cannot be opened or written, or a field is wrong.
pub fn create_token(settings: &Settings, new: NewToken) -> Result<CreatedToken> {
    with_service(settings, async |services| {
        services
            .admin
            .create_token(&Caller::command_line(), new)
            .await
    })
}

/// Every token, newest first, or those bound to one application.
///
/// # Errors
/// When the store cannot be opened or read.
pub fn list_tokens(settings: &Settings, application: Option<ApplicationId>) -> Result<Vec<Token>> {
    with_service(settings, async |services| {
        let caller = Caller::command_line();
        let (mut tokens, mut before) = (Vec::new(), None);
        loop {
            let page = services
                .admin
                .list_tokens(&caller, application, before, PAGE);
            let (more, next) = page.await?;
            tokens.extend(more);
            before = next;
            if before.is_none() {
                return Ok(tokens);
            }
        }
    })
}

/// Revokes a token.
///
/// # Errors
/// When no token has this id, or the store cannot be opened or written.
pub fn revoke_token(settings: &Settings, id: TokenId) -> Result<Token> {
    with_service(settings, async |services| {
        services
            .admin
            .revoke_token(&Caller::command_line(), id)
            .await
    })
}

/// Replaces a token by a new one; the value can be read this once.
///
/// # Errors
/// When no token has this id, it is no longer valid, or the store cannot be opened or written.
pub fn rotate_token(settings: &Settings, id: TokenId, rotation: Rotation) -> Result<CreatedToken> {
    with_service(settings, async |services| {
        let caller = Caller::command_line();
        services.admin.rotate_token(&caller, id, rotation).await
    })
}

/// Does something with the configured store, without a server.
pub(crate) fn with_service<T>(
    settings: &Settings,
    work: impl AsyncFnOnce(&Services) -> Result<T, ApiError>,
) -> Result<T> {
    copied_away::warn(settings);
    let new = new_database(settings);
    let runtime = backend_runtime()?;
    runtime.block_on(async {
        let (services, first) = Services::open(&settings.analysis, &settings.data_dir).await?;
        if let Some(file) = new {
            eprintln!(
                "note: there was no store at {}: a new, empty one was made. A service with another data folder or \
                 database does not know its keys (--data-dir, --config, STORE_*)",
                file.display()
            );
        }
        if let Some(key) = start_text::new_key(settings, &first) {
            eprintln!("first access key (shown only once): {}", key.expose());
        }
        let done = work(&services).await;
        services.shutdown().await;
        Ok(done?)
    })
}

/// The SQLite file of the configuration, if opening the store is going to make it.
fn new_database(settings: &Settings) -> Option<PathBuf> {
    let file = database_file(&settings.analysis, &settings.data_dir);
    (settings.analysis.store.is_none() && !file.exists()).then_some(file)
}
