//! `monitor user …`: for people who are locked out of the web UI, on the configured store directly and
//! without a server; the audit log names the command line (CONTRACT 32).
//!
//! A shell seldom has the environment of the service, so a store that is not there is not made, and a link has the
//! address that the running process tells, and a note where browsers may use another one.

use crate::analysis::{Caller, database_file};
use crate::app::deadline::Deadline;
use crate::app::process::start_text;
use crate::app::store::tokens::with_service;
use crate::app::upgrade::{WebAddress, order_web};
use crate::config::{Role, Settings};
use anyhow::{Context, Result, ensure};
use monitor_model::Secret;
use std::time::Duration;
use uuid::Uuid;

/// How long a running process may take to tell its address.
const PATIENCE: Duration = Duration::from_secs(3);
/// How to name the installation of a service in a shell.
const AS_THE_SERVICE: &str = "name the installation as its service does: --config FILE (MONITOR_CONFIG) with --role, \
     --data-dir DIR (MONITOR_DATA_DIR), and for PostgreSQL STORE_HOST, STORE_DB, STORE_USER and STORE_PASSWORD. The \
     units of the package have /etc/monitor/all.yaml and all.env, analysis.yaml and analysis.env; \
     `systemctl show -p Environment,EnvironmentFiles,ExecStart monitor` prints those of a service";

/// A new one-time link.
#[derive(Debug)]
pub struct UserLink {
    /// Its address; it can be read this once.
    pub address: Secret,
    /// What to know where the address may be another one.
    pub note: Option<String>,
}

/// Makes a one-time link by which the owner of an account sets a new password, and may take the second factor away.
///
/// # Errors
/// When no account has this name or it is disabled, or the store is not there or cannot be opened or written.
pub fn link_user(
    settings: &Settings,
    role: Role,
    name: &str,
    removes_factor: bool,
) -> Result<UserLink> {
    let place = match &settings.analysis.store {
        Some(store) => format!("the database {} at {}", store.db, store.host),
        None => {
            let file = database_file(&settings.analysis, &settings.data_dir);
            let shown = file.display();
            ensure!(
                file.exists(),
                "there is no database {shown}: {AS_THE_SERVICE}"
            );
            format!("the database {shown}")
        }
    };
    let link = with_service(settings, async |services| {
        let (people, caller) = (&services.people, Caller::command_line());
        if removes_factor {
            people.remove_second_factor_of(&caller, name).await?;
        }
        people.link_for_name(&caller, name).await
    });
    let link = link.with_context(|| format!("no link was made in {place}"))?;
    let prefix = if role == Role::All { "analysis." } else { "" };
    let elsewhere = format!(
        "where browsers use another one, open the same path there, and set {prefix}ui.public_url"
    );
    let running = order_web(&settings.data_dir, &Deadline::within(PATIENCE));
    let (address, note) = match (running, &settings.analysis.public_url) {
        (Some(WebAddress::Public(url)), _) => (url, None),
        (_, Some(url)) => (url.clone(), None),
        (Some(WebAddress::Listener(url)), None) => {
            let note = format!("the address is that of the running process; {elsewhere}");
            (url, Some(note))
        }
        (None, None) => {
            let url = start_text::analysis_url(settings);
            let note = format!(
                "no process runs with the data folder {}, so the address is that of {prefix}listen \
                 (ANALYSIS_LISTEN) here; {elsewhere}",
                settings.data_dir.display()
            );
            (url, Some(note))
        }
    };
    Ok(UserLink {
        address: Secret::new(start_text::link_under(&address, &link)),
        note,
    })
}

/// Ends the refusal of an erased user's records; gives what to print.
///
/// # Errors
/// When there is no such tombstone, or the store cannot be opened or written.
pub fn readmit_user(settings: &Settings, tombstone: Uuid) -> Result<String> {
    let is_removed = with_service(settings, async |services| {
        services
            .records
            .readmit(&Caller::command_line(), tombstone)
            .await
    })?;
    ensure!(
        is_removed,
        "no erasure has the tombstone {tombstone}: its receipt (tombstone_id) and the audit log (records.erase) name it"
    );
    Ok(format!(
        "tombstone {tombstone} removed: records of this user are stored again; what was erased stays erased"
    ))
}
