//! Configuration: command line, environment, YAML file and defaults become one [`Settings`], or a
//! list of everything that is wrong. Reads the one file it is given; opens no socket and starts
//! nothing (§8, CONTRACT 32 to 34).
//!
//! A setting is declared once, in `schema`: its key, its range and its default. Its variable, where
//! it has one, is in [`env`].

pub mod env;
pub mod key_file;
pub(crate) mod log_filter;
pub mod pem;
mod problem;
mod reading;
mod role;
mod schema;
mod sections;
mod settings;
mod sources;
mod validate;
mod values;

pub use problem::{Origin, Problem, Problems};
pub use role::Role;
pub use sections::analysis::alerts::AlertSettings;
pub use sections::analysis::alerts::channel::{
    AlertChannelKind, AlertChannelSettings, MailSettings, MailTls,
};
pub(crate) use sections::analysis::alerts::channel::{TELEGRAM, web_address};
pub(crate) use sections::analysis::alerts::rule::HIGHEST_COUNT;
pub use sections::analysis::alerts::rule::{AlertRuleKind, AlertRuleSettings};
pub(crate) use sections::analysis::alerts::{
    channel_id as alert_channel_id, rule_id as alert_rule_id,
};
pub use sections::analysis::checks::{
    ChecksSettings, GuardSettings, GuardTemplate, PresidioSettings,
};
pub use sections::analysis::detect::{
    ClassifierSettings, DetectSettings, ModelBounds, TaggerSettings,
};
pub use sections::analysis::exports::{ExportPlace, ExportSettings};
pub use sections::analysis::files::{AttachmentSettings, BlobPlace};
pub use sections::analysis::judge::{JudgePlace, JudgeSettings, ResponseFormat};
pub use sections::analysis::limits::ApiLimits;
pub use sections::analysis::prices::{ModelPrice, Prices, TokenPrice};
pub use sections::analysis::queue::AnalysisQueue;
pub use sections::analysis::retention::RetentionSettings;
pub use sections::analysis::siem::{
    DestinationKind, DestinationSettings, EventFormat, SiemSettings,
};
pub use sections::analysis::sign_in::{OidcSettings, SignInRole};
pub use sections::call_limits::CallLimits;
pub use sections::client_identity::ClientIdentity;
pub use sections::cors::CorsSettings;
pub use sections::gateway::files::FilesSettings;
pub use sections::gateway::limits::{Limits, ShutdownSettings, StreamSettings};
pub use sections::gateway::monitor::{
    CallerRules, MonitorSettings, UnknownApplication, UnknownKey,
};
pub use sections::gateway::spool::{
    Durability, OnDiskFailure, QueueSettings, SpoolEncryption, SpoolSettings,
};
pub use sections::gateway::trace::TraceSettings;
pub use sections::gateway::upstream::{FailoverOn, HealthSettings, Http2, UpstreamSettings};
pub use sections::gateway::upstreams::NamedUpstream;
pub use sections::listen::{ClientAuth, ClientCheck, Listener, TlsFiles};
pub use sections::log::{AccessLogPlace, AccessLogSettings, LogFormat, LogSettings};
pub use sections::trusted_proxies::{ClientHeader, TrustedProxies};
pub use settings::{AnalysisSettings, GatewaySettings, Settings};
pub use sources::{Environment, Overrides};
pub use values::call_match::{CallMatch, ModelPattern, ModelRoute};
pub use values::network::Network;
pub use values::units::duration_from_text;
pub use values::url::BaseUrl;

pub use monitor_model::{Services, ShownWhen, StoreSettings, StoreSsl};

use reading::document::Document;
use reading::reader::Reader;
use sources::Sources;
use std::path::{Path, PathBuf};

/// Reads and checks everything (CONTRACT 33).
///
/// Every source that sets a key is checked, even if another source wins. An empty variable and
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
    let (document, mut problems) = match file.map(Document::read) {
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
    // A file that cannot be read may contain what seems to be missing.
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

/// The data folder alone, which has the same key, variable and flag in every role. Nothing else of the
/// file is checked, and a file is not read where a flag or a variable names the folder: whoever asks the running process
/// gets its answer about the file.
///
/// # Errors
/// When the file cannot be read, or its value is not a path.
pub fn data_dir(
    file: Option<&Path>,
    overrides: &Overrides,
    env: Environment<'_>,
) -> Result<PathBuf, Problems> {
    let is_named = overrides.data_dir.is_some() || env("MONITOR_DATA_DIR").is_some();
    let document = file.filter(|_| !is_named).map(Document::read).transpose();
    let document = document.map_err(|problem| Problems::new(vec![problem]))?;
    let mut reader = Reader::new(Sources {
        role: Role::All,
        document: document.as_ref().map(|(document, _)| document),
        overrides,
        env,
    });
    let data_dir = schema::data_dir(&mut reader);
    let problems = reader.into_problems();
    match problems.is_empty() {
        true => Ok(data_dir),
        false => Err(Problems::new(problems)),
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
