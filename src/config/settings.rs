//! The configuration as the program uses it: every field has a value, in its own unit.

pub use super::upstream::{FailoverOn, HealthSettings, Http2, UpstreamSettings};

use super::checks::ChecksSettings;
use super::detect::DetectSettings;
use super::judge::JudgeSettings;
use super::log::LogSettings;
use super::network::Network;
use super::sign_in::OidcSettings;
use super::trace::TraceSettings;
use monitor_model::{ApplicationId, ApplicationPolicy, Secret, Services, StoreSettings};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Everything one process needs. Which parts are used depends on the command.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The gateway's part (the top level of the YAML).
    pub gateway: GatewaySettings,
    /// The analysis server's part (`analysis:` in an all-in-one file, the top level in its own file).
    pub analysis: AnalysisSettings,
    /// Where the embedded store and other files live. MONITOR_DATA_DIR, default `./data`.
    pub data_dir: PathBuf,
    /// `log`.
    pub log: LogSettings,
}

/// The gateway's settings (CONTRACT 34).
#[derive(Clone, Debug, PartialEq)]
pub struct GatewaySettings {
    /// Client-facing listeners. GATEWAY_LISTEN, default 0.0.0.0:4100.
    pub listen: Vec<Listener>,
    /// Metrics and health. OPERATIONS_LISTEN, default 127.0.0.1:4101.
    pub operations: SocketAddr,
    /// UPSTREAM_URL and what belongs to it.
    pub upstream: UpstreamSettings,
    /// MONITOR_URL and what belongs to it.
    pub monitor: MonitorSettings,
    /// Streams.
    pub stream: StreamSettings,
    /// Bounds.
    pub limits: Limits,
    /// Stopping.
    pub shutdown: ShutdownSettings,
    /// Records in memory on their way to the backend.
    pub queue: QueueSettings,
    /// Records on disk that the backend has not taken.
    pub spool: SpoolSettings,
    /// Attached files.
    pub files: FilesSettings,
    /// Policies from this file instead of a store, each checked, no id twice.
    pub applications: Vec<ApplicationPolicy>,
    /// Policies from PostgreSQL. None beside `applications`.
    pub store: Option<StoreSettings>,
    /// Traces of calls; None without a collector.
    pub trace: Option<TraceSettings>,
}

/// One client-facing address.
#[derive(Clone, Debug, PartialEq)]
pub struct Listener {
    /// Address and port; port 0 lets the system choose.
    pub address: SocketAddr,
    /// Certificate and key (PEM files); None is clear text.
    pub tls: Option<TlsFiles>,
}

/// PEM files of one listener.
#[derive(Clone, Debug, PartialEq)]
pub struct TlsFiles {
    /// Certificate chain.
    pub cert: PathBuf,
    /// Private key.
    pub key: PathBuf,
    /// Who may connect; None: everybody.
    pub clients: Option<ClientCheck>,
}

/// Which clients' certificates are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientCheck {
    /// The authorities that vouch for them.
    pub ca: PathBuf,
    /// What becomes of a client without one.
    pub auth: ClientAuth,
}

/// What becomes of a client without a certificate; a wrong one is refused anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// It is refused in the handshake.
    Required,
    /// It is let in.
    Optional,
}

/// A certificate of our own towards a server, PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// Certificate chain.
    pub cert: PathBuf,
    /// Private key.
    pub key: PathBuf,
}

/// An absolute http or https URL without query, fragment or userinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    /// Whether the scheme is https.
    pub tls: bool,
    /// Host name or address, without brackets.
    pub host: String,
    /// Port, the scheme's default when not given.
    pub port: u16,
    /// Path prefix without a trailing slash; empty for none.
    pub prefix: String,
}

/// The monitoring backend as the gateway sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct MonitorSettings {
    /// MONITOR_URL; None sends no telemetry (§1.9), or in process in `monitor all`.
    pub url: Option<BaseUrl>,
    /// MONITOR_TIMEOUT, default 60 s.
    pub timeout: Duration,
    /// MONITOR_APPLICATION_ID.
    pub application_id: Option<ApplicationId>,
    /// PEM file of a private certificate authority.
    pub ca: Option<PathBuf>,
    /// What the gateway shows where it is asked who it is.
    pub client: Option<ClientIdentity>,
}

/// Streams (CONTRACT 18).
#[derive(Clone, Debug, PartialEq)]
pub struct StreamSettings {
    /// GATEWAY_STREAM_HEARTBEAT_SECONDS, default 60 s.
    pub heartbeat: Duration,
}

/// Attached files (§8, CONTRACT 31).
#[derive(Clone, Debug, PartialEq)]
pub struct FilesSettings {
    /// MONITOR_FILES_MAX_BYTES, default 20 MiB: one file.
    pub max_bytes: u64,
    /// MONITOR_FILES_MAX_CONCURRENCY, default 4: files of one call under way at once.
    pub max_concurrency: usize,
    /// MONITOR_FILES_TIMEOUT, default 60 s: one download.
    pub timeout: Duration,
    /// Networks that files may come from although they are not public.
    pub allow_networks: Vec<Network>,
    /// Hosts that files may come from wherever they are, in lower case.
    pub allow_hosts: Vec<String>,
}

/// Bounds of one gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Worker threads; None is one per core.
    pub threads: Option<usize>,
    /// Client connections of all listeners; beyond it nothing is accepted until one closes. None: as many
    /// as there are descriptors for, at most [`Limits::CONNECTIONS`].
    pub connections: Option<usize>,
    /// Bytes of requests and answers in memory for all calls under way; beyond it 503.
    pub buffered_bytes: u64,
    /// Bytes of request bodies in files while they come; beyond it 503. None: [`Limits::spilled`].
    pub spilled_bytes: Option<u64>,
    /// Time for a client to send its request head, and for each silence inside its body.
    pub header_timeout: Duration,
    /// How long an idle kept connection stays open.
    pub idle_timeout: Duration,
    /// Idle upstream connections kept for reuse.
    pub upstream_idle_connections: usize,
    /// How much of an answer is copied for the record; the rest is cut and marked.
    pub recorded_bytes: u64,
}

impl Limits {
    /// Client connections at most where the configuration leaves it to the system (CONTRACT 34).
    pub const CONNECTIONS: usize = 10_000;

    /// Bytes of request bodies in files: four times those in memory, unless it is said.
    pub fn spilled(&self) -> u64 {
        let times = self.buffered_bytes.saturating_mul(4);
        self.spilled_bytes.unwrap_or(times)
    }
}

/// Stopping (CONTRACT 35).
#[derive(Clone, Debug, PartialEq)]
pub struct ShutdownSettings {
    /// The longest time given to calls in flight.
    pub grace: Duration,
    /// The shortest time between readiness going 503 and the listeners closing.
    pub min_drain: Duration,
}

/// The spool (CONTRACT 23).
#[derive(Clone, Debug, PartialEq)]
pub struct SpoolSettings {
    /// Its folder; None is `<data_dir>/spool`.
    pub dir: Option<PathBuf>,
    /// Bytes of its files at most; beyond it the oldest records go, counted.
    pub max_bytes: u64,
    /// How long a record is kept for a backend that does not take it.
    pub max_age: Duration,
    /// Bytes of the records the backend refused for good; beyond it the oldest go, counted.
    pub max_dead_bytes: u64,
    /// When a record counts as registered (CONTRACT 11).
    pub durability: Durability,
    /// What `durability: before_upstream` does while the disk refuses.
    pub on_disk_failure: OnDiskFailure,
}

/// When a record counts as registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Once it is taken; it is on disk within 10 ms.
    Batched,
    /// Once it is on disk, which the upstream call waits for.
    BeforeUpstream,
}

/// What becomes of a call whose record cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDiskFailure {
    /// It goes on; the record waits in memory.
    Open,
    /// It is answered with 502 and does not reach the upstream.
    Closed,
}

/// Records on their way to the backend.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSettings {
    /// Bytes held in memory at most; what is beyond it is read back from the spool.
    pub max_bytes: u64,
    /// Calls to the backend under way at once.
    pub concurrency: usize,
}

/// The analysis server's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalysisSettings {
    /// API and web UI. ANALYSIS_LISTEN, default 0.0.0.0:4200.
    pub listen: Vec<Listener>,
    /// Metrics and health of a separate analysis server, default 127.0.0.1:4201.
    pub operations: SocketAddr,
    /// SQLite file; None is `<data_dir>/monitor.db`. None beside `store`.
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
    /// Models beside the built-in detection.
    pub detect: DetectSettings,
    /// Where attached files are kept; None is the folder `<data_dir>/blobs`.
    pub blobs: Option<BlobPlace>,
    /// Bounds of attached files (CONTRACT 29).
    pub attachments: AttachmentSettings,
    /// Requests per second that one access key may send over HTTP; None: as many as it likes.
    pub requests_per_second: Option<usize>,
    /// Who judges custom policies; None: nobody but their own words.
    pub judge: Option<JudgeSettings>,
    /// Another server that people sign in by; None: their passwords alone.
    pub oidc: Option<OidcSettings>,
    /// Servers that are asked beside the engine.
    pub checks: ChecksSettings,
    /// Where clients reach the gateway, as the web UI shows it; None: the gateway of the same process, else
    /// the host of the UI with the gateway's port.
    pub gateway_url: Option<BaseUrl>,
    /// The web UI as browsers reach it, such as `https://monitor.example`; None: as the browser says.
    pub public_url: Option<String>,
}

/// Where the bytes of attached files are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobPlace {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket of an S3-compatible store; how it is reached stands in the AWS_* variables.
    Bucket {
        /// Its name.
        name: String,
        /// What the keys of all files begin with, without slashes around it; empty for nothing.
        prefix: String,
    },
}

/// Bounds of files that are attached to records; over them 413.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachmentSettings {
    /// Bytes of one file, default 20 MiB.
    pub max_bytes: u64,
    /// Files of one request, default 64.
    pub max_files: usize,
}

/// How long records are kept, whatever their application; None is without that bound (CONTRACT 38).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionSettings {
    /// Days since they were received, default 90.
    pub days: Option<u32>,
    /// Records, default 10,000,000.
    pub rows: Option<u64>,
    /// Bytes of their texts and lists together, default 50 GiB.
    pub bytes: Option<u64>,
}
