//! Configuration: command line, environment, YAML file and defaults become one [`Settings`], or a
//! list of everything that is wrong. Reads the one file it is given; opens no socket and starts
//! nothing (§8, CONTRACT 32 to 34).
//!
//! A setting is declared once, in `schema`: its key, its range and its default. Its variable, where
//! it has one, stands in [`env`].

mod applications;
mod checks;
mod detect;
mod entries;
pub mod env;
mod files;
mod judge;
mod listen;
mod log;
mod network;
pub mod pem;
mod problem;
mod reader;
mod remote;
mod schema;
pub mod settings;
mod sign_in;
mod spool;
mod store;
mod suggest;
mod trace;
mod units;
mod upstream;
mod url;
mod validate;
mod yaml;

pub use checks::{ChecksSettings, GuardSettings, GuardTemplate, PresidioSettings};
pub use detect::{ClassifierSettings, DetectSettings, ModelBounds, TaggerSettings};
pub use judge::{JudgePlace, JudgeSettings, ResponseFormat};
pub use log::{AccessLogPlace, AccessLogSettings, LogFormat, LogSettings};
pub use network::Network;
pub use problem::{Origin, Problem, Problems};
pub use remote::CallLimits;
pub use settings::{
    AnalysisSettings, AttachmentSettings, BaseUrl, BlobPlace, ClientAuth, ClientCheck,
    ClientIdentity, Durability, FilesSettings, GatewaySettings, Http2, Limits, Listener,
    MonitorSettings, OnDiskFailure, QueueSettings, RetentionSettings, Settings, ShutdownSettings,
    SpoolSettings, StreamSettings, TlsFiles, UpstreamSettings,
};
pub use sign_in::{OidcSettings, SignInRole};
pub use trace::TraceSettings;
pub use units::duration_from_text;

pub use monitor_model::{Services, ShownWhen, StoreSettings, StoreSsl};

use reader::{Reader, Sources};
use sha2::{Digest, Sha256};
use std::path::Path;

/// What a process does; it decides which keys and variables are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `monitor all`: the gateway's keys at the top level, the analysis server's under `analysis:`.
    All,
    /// `monitor gateway`.
    Gateway,
    /// `monitor analysis`: its keys at the top level.
    Analysis,
}

impl Role {
    /// The command that plays this role.
    pub fn command(self) -> &'static str {
        match self {
            Self::All => "monitor all",
            Self::Gateway => "monitor gateway",
            Self::Analysis => "monitor analysis",
        }
    }
}

/// What the command line sets, as it was typed; it wins over everything else.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--listen`: the gateway's listeners, or the analysis server's in `monitor analysis`.
    pub listen: Option<String>,
    /// `--upstream-url`.
    pub upstream_url: Option<String>,
    /// `--monitor-url`.
    pub monitor_url: Option<String>,
    /// `--data-dir`.
    pub data_dir: Option<String>,
}

/// Where variables come from: name in, value out. The process hands over its own environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads and checks everything (CONTRACT 33).
///
/// Every source that sets a key is checked, also where another source wins. An empty variable and
/// a YAML `null` count as not set.
///
/// # Errors
/// All problems at once, each with its place.
pub fn load(
    role: Role,
    file: Option<&Path>,
    overrides: &Overrides,
    env: Environment<'_>,
) -> Result<Settings, Problems> {
    let (document, mut problems) = match file.map(yaml::Document::read) {
        None => (None, Vec::new()),
        Some(Ok((document, duplicates))) => (Some(document), duplicates),
        Some(Err(problem)) => (None, vec![problem]),
    };
    let sources = Sources {
        role,
        document: document.as_ref(),
        overrides,
        env,
    };
    let mut reader = Reader::new(sources);
    let settings = schema::read(&mut reader, role);
    // A file that cannot be read may hold what seems to be missing.
    if file.is_none() || document.is_some() {
        validate::contradictions(&settings, role, &mut reader);
    }
    problems.extend(reader.finish());
    if problems.is_empty() {
        Ok(settings)
    } else {
        Err(Problems::new(problems))
    }
}

/// Every YAML key that a role knows, in the order of declaration, as `section.key`.
pub fn known_keys(role: Role) -> Vec<String> {
    let overrides = Overrides::default();
    let sources = Sources {
        role,
        document: None,
        overrides: &overrides,
        env: &|_| None,
    };
    let mut reader = Reader::new(sources);
    schema::read(&mut reader, role);
    reader.known()
}

impl Settings {
    /// Twelve hexadecimal digits over the effective configuration without its secrets: two
    /// processes that print the same run with the same settings (CONTRACT 35 `/status`).
    pub fn hash(&self) -> String {
        // Secret prints a fixed word, so no secret reaches the digest.
        let digest = Sha256::digest(format!("{self:?}"));
        digest[..6]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
