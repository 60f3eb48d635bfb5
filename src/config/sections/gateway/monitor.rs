//! The keys of `monitor`: the analysis backend as the gateway calls it.

use crate::config::reading::reader::Reader;
use crate::config::sections::client_identity::{self, ClientIdentity};
use crate::config::values::units::{self, HOUR, MILLISECOND, SECOND};
use crate::config::values::url::{self, BaseUrl};
use monitor_model::ApplicationId;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What happens to a call whose access key the backend does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownKey {
    /// It goes to the model server, and the backend refuses its records.
    Forward,
    /// 401; nothing of the call is read or kept.
    Refuse,
}

/// What happens to a call that names an application that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownApplication {
    /// It goes to the model server unchecked, and the backend refuses its records.
    Async,
    /// It counts as a call of MONITOR_APPLICATION_ID.
    Default,
    /// 403; nothing of the call is read or kept.
    Refuse,
}

const UNKNOWN_KEY: &[(&str, UnknownKey)] = &[
    ("forward", UnknownKey::Forward),
    ("refuse", UnknownKey::Refuse),
];
const UNKNOWN_APPLICATION: &[(&str, UnknownApplication)] = &[
    ("async", UnknownApplication::Async),
    ("default", UnknownApplication::Default),
    ("refuse", UnknownApplication::Refuse),
];

/// The monitoring backend as the gateway sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct MonitorSettings {
    /// MONITOR_URL; None sends no telemetry (§1.9), or in process in `monitor all`.
    pub url: Option<BaseUrl>,
    /// MONITOR_TIMEOUT, default 60 s.
    pub timeout: Duration,
    /// MONITOR_APPLICATION_ID: the application of calls that name none.
    pub application_id: Option<ApplicationId>,
    /// Calls with an access key that the backend does not know; None: see [`Self::callers`].
    pub unknown_key: Option<UnknownKey>,
    /// Calls that name an application that is not known; None: see [`Self::callers`].
    pub unknown_application: Option<UnknownApplication>,
    /// Whether records have the address of the client.
    pub record_client_address: bool,
    /// PEM file of a private certificate authority.
    pub ca: Option<PathBuf>,
    /// The client certificate of the gateway, for a backend that asks for one.
    pub client: Option<ClientIdentity>,
}

/// The treatment of unknown callers that is in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerRules {
    /// Of unknown access keys.
    pub key: UnknownKey,
    /// Of unknown applications.
    pub application: UnknownApplication,
}

impl MonitorSettings {
    /// The treatment of unknown callers. A process that has the access keys and applications itself refuses
    /// them unless told otherwise; a gateway alone forwards, as §5.1 says.
    pub fn callers(&self, has_access_keys: bool) -> CallerRules {
        let (key, application) = match has_access_keys {
            true => (UnknownKey::Refuse, UnknownApplication::Refuse),
            false => (UnknownKey::Forward, UnknownApplication::Async),
        };
        CallerRules {
            key: self.unknown_key.unwrap_or(key),
            application: self.unknown_application.unwrap_or(application),
        }
    }
}

impl CallerRules {
    /// Whether every caller is treated the same.
    pub fn let_all_pass(&self) -> bool {
        *self
            == Self {
                key: UnknownKey::Forward,
                application: UnknownApplication::Async,
            }
    }
}

impl fmt::Display for CallerRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = UNKNOWN_KEY.iter().find(|(_, it)| *it == self.key);
        let application = UNKNOWN_APPLICATION
            .iter()
            .find(|(_, it)| *it == self.application);
        let (key, application) = (
            key.map_or("", |(word, _)| word),
            application.map_or("", |(word, _)| word),
        );
        write!(f, "access key: {key}, application: {application}")
    }
}

pub(crate) fn read(r: &mut Reader<'_>) -> MonitorSettings {
    MonitorSettings {
        url: r.read("monitor.url", &url::backend_url()),
        timeout: r
            .read("monitor.timeout", &units::duration(MILLISECOND..=HOUR))
            .unwrap_or(60 * SECOND),
        application_id: r.read("monitor.application_id", &units::application_id()),
        unknown_key: r.read("monitor.unknown_key", &units::word(UNKNOWN_KEY)),
        unknown_application: r.read(
            "monitor.unknown_application",
            &units::word(UNKNOWN_APPLICATION),
        ),
        record_client_address: r.switch("monitor.record_client_address").unwrap_or(false),
        ca: r.read("monitor.ca", &units::path()),
        client: client_identity::read(r, "monitor"),
    }
}
