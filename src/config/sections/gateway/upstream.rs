//! The keys of a group of model servers: the one that is called, and those that stand by (CONTRACT 9, 20, 34).

use crate::config::reading::collections::list;
use crate::config::reading::reader::Reader;
use crate::config::sections::client_identity::{self, ClientIdentity};
use crate::config::values::units::{self, DAY, Form, HOUR, MILLISECOND};
use crate::config::values::url::{self, BaseUrl};
use std::path::PathBuf;
use std::time::Duration;

/// Model servers of one group, the first one included.
pub(crate) const MOST_UPSTREAMS: usize = 8;

/// The model server, and those in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamSettings {
    /// http or https URL, with or without a path prefix; a trailing `/v1` is not doubled (CONTRACT 9).
    /// None only with the demo model.
    pub url: Option<BaseUrl>,
    /// Called instead, in this order, where those before cannot be.
    pub standby: Vec<BaseUrl>,
    /// GATEWAY_UPSTREAM_TIMEOUT, default 120 s (CONTRACT 20).
    pub timeout: Duration,
    /// For a connection alone; None is `timeout`, or 5 s where another one stands by.
    pub connect_timeout: Option<Duration>,
    /// When a call goes to the next one.
    pub failover_on: FailoverOn,
    /// How those are watched of which there is more than one.
    pub health: HealthSettings,
    /// Which HTTP version to speak.
    pub http2: Http2,
    /// PEM file of a private certificate authority.
    pub ca: Option<PathBuf>,
    /// The client certificate of the gateway, for a model server that asks for one.
    pub client: Option<ClientIdentity>,
}

/// HTTP version towards the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http2 {
    /// ALPN over https, HTTP/1.1 over http.
    Auto,
    /// HTTP/2 always; over http by prior knowledge.
    Always,
    /// HTTP/1.1, whatever the server offers.
    Never,
}

/// When a call goes to the next upstream; never after a byte of an answer has gone to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailoverOn {
    /// No connection: no byte of the request can have been accepted (CONTRACT 22).
    Connect,
    /// Also where the answer is 502, 503 or 504: a model may then be asked twice.
    Unavailable,
}

/// How upstreams are watched.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthSettings {
    /// GET of this path has to be answered with 2xx; None: a connection is enough.
    pub path: Option<String>,
    /// From one check to the next.
    pub interval: Duration,
    /// Of one check.
    pub timeout: Duration,
    /// So many failures in a row, of checks and calls, take one out of use.
    pub unhealthy_after: u32,
    /// So many good checks in a row bring it back.
    pub healthy_after: u32,
}

const HTTP2: &[(&str, Http2)] = &[
    ("auto", Http2::Auto),
    ("always", Http2::Always),
    ("never", Http2::Never),
];
const FAILOVER_ON: &[(&str, FailoverOn)] = &[
    ("connect", FailoverOn::Connect),
    ("unavailable", FailoverOn::Unavailable),
];

/// The keys of one group of model servers: of `upstream`, or of an entry of `upstreams`.
pub(crate) fn read(r: &mut Reader<'_>, section: &str) -> UpstreamSettings {
    let key = |name: &str| format!("{section}.{name}");
    let url = r.read(&key("url"), &url::upstream_url());
    let standby = list(r, &key("standby"), &url::upstream_url());
    let timeout = r.read(&key("timeout"), &units::duration(MILLISECOND..=DAY));
    let connect = &units::duration(MILLISECOND..=HOUR);
    let connect_timeout = r.read(&key("connect_timeout"), connect);
    let failover_on = r.read(&key("failover_on"), &units::word(FAILOVER_ON));
    let health = health(r, &key("health"));
    let http2 = r.read(&key("http2"), &units::word(HTTP2));
    let ca = r.read(&key("ca"), &units::path());
    let client = client_identity::read(r, section);
    UpstreamSettings {
        url,
        standby,
        timeout: timeout.unwrap_or(Duration::from_secs(120)),
        connect_timeout,
        failover_on: failover_on.unwrap_or(FailoverOn::Connect),
        health,
        http2: http2.unwrap_or(Http2::Auto),
        ca,
        client,
    }
}

fn health(r: &mut Reader<'_>, section: &str) -> HealthSettings {
    let key = |name: &str| format!("{section}.{name}");
    let path = r.read(&key("path"), &path());
    let interval = &units::duration(100 * MILLISECOND..=HOUR);
    let interval = r.read(&key("interval"), interval);
    let timeout = &units::duration(MILLISECOND..=HOUR);
    let timeout = r.read(&key("timeout"), timeout);
    let mut times = |name: &str| {
        let times = r.read(&key(name), &units::count(1..=100));
        times.and_then(|times| u32::try_from(times).ok())
    };
    HealthSettings {
        path,
        unhealthy_after: times("unhealthy_after").unwrap_or(3),
        healthy_after: times("healthy_after").unwrap_or(2),
        interval: interval.unwrap_or(Duration::from_secs(10)),
        timeout: timeout.unwrap_or(Duration::from_secs(2)),
    }
}

fn path() -> Form<String> {
    Form::new("a path such as /health", |text| {
        let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
        match text.starts_with('/') && text.bytes().all(plain) {
            true => Ok(text.to_owned()),
            false => Err("is not a path".to_owned()),
        }
    })
}
