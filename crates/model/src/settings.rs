//! Settings that reach below the configuration: what the detection engine and the stores are given.
//! How they are read and checked stands in the program's `config`.

use crate::Secret;
use std::path::PathBuf;

/// The analysis server's PostgreSQL, where gateways find policies (§8.2, CONTRACT 16).
#[derive(Clone, Debug, PartialEq)]
pub struct StoreSettings {
    /// STORE_HOST: a host name, an address without brackets, or the folder of a Unix socket.
    pub host: String,
    /// STORE_PORT, default 5432.
    pub port: u16,
    /// The database's name, STORE_DB.
    pub db: String,
    /// The role that connects, STORE_USER.
    pub user: String,
    /// STORE_PASSWORD; None where the server asks for none.
    pub password: Option<Secret>,
    /// Whether the connection uses TLS, STORE_SSL.
    pub ssl: StoreSsl,
    /// PEM file of a private certificate authority, beside the system's.
    pub ca: Option<PathBuf>,
}

/// TLS towards the policy store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreSsl {
    /// Where the server offers it; its certificate is not checked.
    Auto,
    /// Always, and the certificate has to be good for the host.
    On,
    /// Never, even where the server offers it.
    Off,
}

/// The stages of an analysis that may run. One that rules ask for and that is off is reported in
/// `errors` (CONTRACT 26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Services {
    /// Whether sensitive data is looked for.
    pub dataclean: bool,
    /// Whether the built-in policies run.
    pub guardrails: bool,
    /// Whether custom policies run.
    pub custom_policy: bool,
}

impl Default for Services {
    fn default() -> Self {
        Self {
            dataclean: true,
            guardrails: true,
            custom_policy: true,
        }
    }
}

/// Which messages a second stage of the guardrails is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShownWhen {
    /// Those that the first stage is unsure of.
    #[default]
    GreyZone,
    /// All of them.
    Always,
}
