//! The keys of `monitor`: the analysis backend as the gateway calls it.

use crate::config::reading::reader::Reader;
use crate::config::sections::client_identity::{self, ClientIdentity};
use crate::config::values::units::{self, HOUR, MILLISECOND, SECOND};
use crate::config::values::url::{self, BaseUrl};
use monitor_model::ApplicationId;
use std::path::PathBuf;
use std::time::Duration;

/// The monitoring backend as the gateway sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct MonitorSettings {
    /// MONITOR_URL; None sends no telemetry (§1.9), or in process in `monitor all`.
    pub url: Option<BaseUrl>,
    /// MONITOR_TIMEOUT, default 60 s.
    pub timeout: Duration,
    /// MONITOR_APPLICATION_ID: the application of calls that name none.
    pub application_id: Option<ApplicationId>,
    /// PEM file of a private certificate authority.
    pub ca: Option<PathBuf>,
    /// The client certificate of the gateway, for a backend that asks for one.
    pub client: Option<ClientIdentity>,
}

pub(crate) fn read(r: &mut Reader<'_>) -> MonitorSettings {
    MonitorSettings {
        url: r.read("monitor.url", &url::base_url()),
        timeout: r
            .read("monitor.timeout", &units::duration(MILLISECOND..=HOUR))
            .unwrap_or(60 * SECOND),
        application_id: r.read("monitor.application_id", &units::application_id()),
        ca: r.read("monitor.ca", &units::path()),
        client: client_identity::read(r, "monitor"),
    }
}
