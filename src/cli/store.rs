//! Which store a command works on, and `monitor migrate`.

pub(super) mod transfer;

use super::failure::Failure;
use super::load::{file_or_variable, load};
use super::output::print;
use crate::app;
use crate::config::{Overrides, Role, Settings};
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The store that a command works on.
#[derive(Debug, Args)]
pub(super) struct StoreArgs {
    /// Configuration file (YAML) [env: MONITOR_CONFIG].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Role that the configuration file is for.
    #[arg(long, value_enum, default_value_t = DatabaseRole::All)]
    role: DatabaseRole,
    /// Data folder, with the database [env: MONITOR_DATA_DIR].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
}

impl StoreArgs {
    /// Loads the settings that name the store.
    pub(super) fn settings(&self) -> Result<Settings, Failure> {
        if self.role == DatabaseRole::Gateway {
            return Err(Failure::Runtime(anyhow!(GATEWAY_ALONE)));
        }
        let overrides = Overrides {
            data_dir: self.data_dir.clone(),
            ..Overrides::default()
        };
        let file = file_or_variable(self.config.clone());
        Ok(load(self.role.into(), file, &overrides)?)
    }

    /// The role that the configuration file is for.
    pub(super) fn role(&self) -> Role {
        self.role.into()
    }
}

/// What to do instead with a gateway that runs alone.
const GATEWAY_ALONE: &str = "--role gateway: a gateway alone has no store, so there is nothing for this command. Until \
     records are delivered they are in its spool: `monitor spool status` says what waits. Before its machine goes, end \
     its traffic and wait until nothing waits, and keep its configuration and the key files of spool.encryption; \
     \"A gateway alone\" in docs/operations.md has the rest";

/// The roles that have a database, and the one that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DatabaseRole {
    /// For `monitor all`.
    All,
    /// For `monitor analysis`.
    Analysis,
    /// Refused, with what to do instead.
    #[value(hide = true)]
    Gateway,
}

impl From<DatabaseRole> for Role {
    fn from(role: DatabaseRole) -> Self {
        match role {
            DatabaseRole::All => Self::All,
            DatabaseRole::Analysis => Self::Analysis,
            DatabaseRole::Gateway => Self::Gateway,
        }
    }
}

pub(super) fn migrate(args: StoreArgs) -> Result<(), Failure> {
    let settings = args.settings()?;
    print(format!("{}\n", app::migrate(&settings)?).as_bytes())
}
