//! The configuration as the program uses it: every field has a value, in its own unit.

use super::sections::analysis::alerts::AlertSettings;
use super::sections::analysis::checks::ChecksSettings;
use super::sections::analysis::detect::DetectSettings;
use super::sections::analysis::exports::ExportSettings;
use super::sections::analysis::files::{AttachmentSettings, BlobPlace};
use super::sections::analysis::judge::JudgeSettings;
use super::sections::analysis::limits::ApiLimits;
use super::sections::analysis::prices::Prices;
use super::sections::analysis::queue::AnalysisQueue;
use super::sections::analysis::retention::RetentionSettings;
use super::sections::analysis::siem::SiemSettings;
use super::sections::analysis::sign_in::OidcSettings;
use super::sections::cors::CorsSettings;
use super::sections::gateway::files::FilesSettings;
use super::sections::gateway::limits::{Limits, ShutdownSettings, StreamSettings};
use super::sections::gateway::monitor::MonitorSettings;
use super::sections::gateway::spool::{QueueSettings, SpoolSettings};
use super::sections::gateway::trace::TraceSettings;
use super::sections::gateway::upstream::UpstreamSettings;
use super::sections::gateway::upstreams::NamedUpstream;
use super::sections::listen::Listener;
use super::sections::log::LogSettings;
use super::sections::trusted_proxies::TrustedProxies;
use super::values::url::BaseUrl;
use monitor_model::{ApplicationPolicy, Secret, Services, StoreSettings};
use sha2::{Digest, Sha256};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Everything one process needs. Which parts are used depends on the command.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The gateway's part (the top level of the YAML).
    pub gateway: GatewaySettings,
    /// The analysis server's part (`analysis:` in an all-in-one file, the top level in its own file).
    pub analysis: AnalysisSettings,
    /// Where the embedded store and other files live. MONITOR_DATA_DIR, default `./data`.
    pub data_dir: PathBuf,
    /// A crash may leave a core file.
    pub core_files: bool,
    /// Log lines on standard error and the access log.
    pub log: LogSettings,
}

/// The gateway's settings (CONTRACT 34).
#[derive(Clone, Debug, PartialEq)]
pub struct GatewaySettings {
    /// Client-facing listeners. GATEWAY_LISTEN; default port 4100, on loopback in `monitor all` and on every
    /// address in `monitor gateway`.
    pub listen: Vec<Listener>,
    /// Metrics and health. OPERATIONS_LISTEN, default 127.0.0.1:4101.
    pub operations: SocketAddr,
    /// The proxies in front of the gateway.
    pub trusted_proxies: TrustedProxies,
    /// The websites whose pages may call the gateway.
    pub cors: CorsSettings,
    /// UPSTREAM_URL and what belongs to it.
    pub upstream: UpstreamSettings,
    /// Further groups of model servers; the first that takes a call gets it, else `upstream`.
    pub upstreams: Vec<NamedUpstream>,
    /// MONITOR_URL and what belongs to it.
    pub monitor: MonitorSettings,
    /// Keepalive comments in silent streams.
    pub stream: StreamSettings,
    /// Limits on threads, connections, memory and time.
    pub limits: Limits,
    /// How long a stop waits for calls in progress.
    pub shutdown: ShutdownSettings,
    /// Records in memory on their way to the backend.
    pub queue: QueueSettings,
    /// Records on disk that the backend has not taken.
    pub spool: SpoolSettings,
    /// Limits and exceptions for attached files.
    pub files: FilesSettings,
    /// Policies from this file instead of a store, each checked, no id twice.
    pub applications: Vec<ApplicationPolicy>,
    /// Policies from PostgreSQL. None together with `applications`.
    pub store: Option<StoreSettings>,
    /// Traces of calls; None without a collector.
    pub trace: Option<TraceSettings>,
}

/// The analysis server's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalysisSettings {
    /// API and web UI. ANALYSIS_LISTEN; default port 4200, on loopback in `monitor all` and on every address
    /// in `monitor analysis`.
    pub listen: Vec<Listener>,
    /// Metrics and health of a separate analysis server, default 127.0.0.1:4201.
    pub operations: SocketAddr,
    /// The proxies in front of the API and the web UI.
    pub trusted_proxies: TrustedProxies,
    /// The websites whose pages may call the API; the web UI is for itself.
    pub cors: CorsSettings,
    /// SQLite file; None: `<data_dir>/monitor.db`. None together with `store`.
    pub database: Option<PathBuf>,
    /// PostgreSQL instead of the file; in `monitor all` that of the gateway's policies.
    pub store: Option<StoreSettings>,
    /// How long records are kept.
    pub retention: RetentionSettings,
    /// Largest body of one analysis request, default 16 MiB (over it 413): room for a text of
    /// `limits.recorded_bytes` and its escapes.
    pub max_body: u64,
    /// An access key to accept from the first start on, instead of one made and printed once.
    pub first_token: Option<Secret>,
    /// What this deployment offers to the rules of applications and requests (§4.4).
    pub services: Services,
    /// Models in addition to the built-in detection.
    pub detect: DetectSettings,
    /// Where attached files are kept; None is the folder `<data_dir>/blobs`.
    pub blobs: Option<BlobPlace>,
    /// Bounds of attached files (CONTRACT 29).
    pub attachments: AttachmentSettings,
    /// Bounds of what the clients of the API and the web UI may take.
    pub limits: ApiLimits,
    /// Requests per second that one access key may send over HTTP; None: as many as it likes.
    pub requests_per_second: Option<usize>,
    /// Messages that wait to be analyzed.
    pub queue: AnalysisQueue,
    /// Bytes of one message that are analyzed; the rest is reported as not analyzed.
    pub analyzed_bytes: u64,
    /// The judge of custom policies; None: policies are matched by keywords.
    pub judge: Option<JudgeSettings>,
    /// Whether accounts with a password must have a second factor.
    pub require_second_factor: bool,
    /// Another server that people sign in by; None: their passwords alone.
    pub oidc: Option<OidcSettings>,
    /// Servers that are asked in addition to the engine.
    pub checks: ChecksSettings,
    /// What tokens cost, for the records that come in; a reload takes others.
    pub prices: Prices,
    /// Where alerts may be sent, with the rules and channels of the file; a reload takes others.
    pub alerts: AlertSettings,
    /// Where events are sent.
    pub siem: SiemSettings,
    /// Records that are written away once a day.
    pub exports: Vec<ExportSettings>,
    /// Where clients reach the gateway, as the web UI shows it; None: the gateway of the same process, else
    /// the host of the UI with the gateway's port.
    pub gateway_url: Option<BaseUrl>,
    /// The web UI as browsers reach it, such as `https://monitor.example`; None: as the browser says.
    pub public_url: Option<String>,
    /// Whether pages of the web UI that come over TLS tell browsers to use TLS only (HSTS).
    pub hsts: bool,
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

    /// The folder of the spool: `spool.dir`, else `<data_dir>/spool`.
    pub fn spool_dir(&self) -> PathBuf {
        let inside = || self.data_dir.join("spool");
        self.gateway.spool.dir.clone().unwrap_or_else(inside)
    }
}
