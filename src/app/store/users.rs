//! `monitor user …`: for people who are locked out of the web UI, on the configured store directly and
//! without a server; the audit log names the command line (CONTRACT 32).

use crate::analysis::Caller;
use crate::app::process::start_text;
use crate::app::store::tokens::with_service;
use crate::config::Settings;
use anyhow::Result;

/// Makes a one-time link by which the owner of an account sets a new password; its address can be
/// read this once.
///
/// # Errors
/// When no account has this name or it is disabled, or the store cannot be opened or written.
pub fn link_user(settings: &Settings, name: &str) -> Result<String> {
    let link = with_service(settings, async |services| {
        services
            .people
            .link_for_name(&Caller::command_line(), name)
            .await
    })?;
    Ok(start_text::link_address(settings, &link))
}
