//! The keys of `limits` of an analysis server: what the clients of the API and the web UI may take.

use crate::config::reading::reader::Reader;
use crate::config::sections::gateway::limits;
use crate::config::values::units::{self, GIB, KIB, MIB};
use std::time::Duration;

/// Bounds of the analysis API and the web UI.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiLimits {
    /// Time for a client to send its request head, and for each silence inside its body.
    pub header_timeout: Duration,
    /// How long a client may take nothing of its answer.
    pub idle_timeout: Duration,
    /// Bytes of requests and answers in memory; beyond it 503.
    pub buffered_bytes: u64,
    /// How much of it one client address may take.
    pub client_bytes: u64,
    /// Connections of one client address; a further one is closed.
    pub client_connections: usize,
    /// Valid access keys that are bound to one application.
    pub application_keys: usize,
    /// Changes within ten minutes by those who are bound to one application.
    pub application_changes: usize,
    /// Earlier versions of one application that are kept.
    pub application_versions: usize,
    /// Bytes of them together.
    pub application_version_bytes: u64,
}

impl Default for ApiLimits {
    fn default() -> Self {
        let times = limits::Times::default();
        Self {
            header_timeout: times.header,
            idle_timeout: times.idle,
            buffered_bytes: 256 * MIB,
            client_bytes: 32 * MIB,
            client_connections: 512,
            application_keys: 1_000,
            application_changes: 1_200,
            application_versions: 1_000,
            application_version_bytes: 64 * MIB,
        }
    }
}

/// Reads them; `prefix` ends in a dot or is empty. Beside a gateway its times hold for every listener.
pub(crate) fn read(r: &mut Reader<'_>, prefix: &str, max_body: u64) -> ApiLimits {
    let key = |name: &str| format!("{prefix}limits.{name}");
    let bytes = || units::size(64 * KIB..=16 * 1_024 * GIB);
    let times = match prefix {
        "" => limits::times(r),
        _ => limits::Times::default(),
    };
    let buffered_bytes = r.read(&key("buffered_bytes"), &bytes());
    let default = ApiLimits::default();
    // Several of the largest bodies fit in any case.
    let several = default.buffered_bytes.max(4 * max_body);
    let buffered_bytes = buffered_bytes.unwrap_or(several);
    let client_bytes = r.read(&key("client_bytes"), &bytes());
    let client_bytes =
        client_bytes.unwrap_or(default.client_bytes.max(2 * max_body).min(buffered_bytes));
    let connections = units::count(1..=1_000_000);
    let client_connections = r.read(&key("client_connections"), &connections);
    let keys = units::count(1..=100_000);
    let application_keys = r.read(&key("application_keys"), &keys);
    let changes = units::count(1..=1_000_000);
    let application_changes = r.read(&key("application_changes"), &changes);
    let versions = units::count(1..=100_000);
    let application_versions = r.read(&key("application_versions"), &versions);
    let version_bytes = units::size(64 * KIB..=1_024 * GIB);
    let application_version_bytes = r.read(&key("application_version_bytes"), &version_bytes);
    let text = "is less than max_body, so a request of that size could never be read; allowed: at least max_body";
    r.refuse_if(&key("buffered_bytes"), buffered_bytes < max_body, text);
    r.refuse_if(
        &key("client_bytes"),
        client_bytes < max_body.min(buffered_bytes),
        text,
    );
    ApiLimits {
        header_timeout: times.header,
        idle_timeout: times.idle,
        buffered_bytes,
        client_bytes,
        client_connections: client_connections.unwrap_or(default.client_connections),
        application_keys: application_keys.unwrap_or(default.application_keys),
        application_changes: application_changes.unwrap_or(default.application_changes),
        application_versions: application_versions.unwrap_or(default.application_versions),
        application_version_bytes: application_version_bytes
            .unwrap_or(default.application_version_bytes),
    }
}
