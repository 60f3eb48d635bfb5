//! Every key: its form, its range and its default, each declared once (§8, CONTRACT 34). What two
//! keys must not say together stands in `validate`.

use super::reader::{Reader, Sources};
use super::settings::{
    AnalysisSettings, AttachmentSettings, ClientIdentity, GatewaySettings, Limits, Listener,
    MonitorSettings, RetentionSettings, Settings, ShutdownSettings, StreamSettings,
};
use super::{
    Overrides, Role, applications, checks, detect, files, judge, listen, log, remote, sign_in,
    spool, store, trace, units, upstream, url,
};
use monitor_model::Services;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const MILLISECOND: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// Reads what the role knows; the other part keeps its defaults.
pub(super) fn read(reader: &mut Reader<'_>, role: Role) -> Settings {
    let overrides = Overrides::default();
    let mut unset = Reader::new(Sources {
        role,
        document: None,
        overrides: &overrides,
        env: &|_| None,
    });
    let (gateway, analysis) = match role {
        Role::All => {
            let (gateway, mut analysis) = (gateway(reader), analysis(reader, "analysis."));
            analysis.store.clone_from(&gateway.store);
            (gateway, analysis)
        }
        Role::Gateway => (gateway(reader), analysis(&mut unset, "")),
        Role::Analysis => (gateway(&mut unset), analysis(reader, "")),
    };
    let data_dir = reader.read("data_dir", &units::path());
    let data_dir = data_dir.unwrap_or_else(|| PathBuf::from("./data"));
    Settings {
        gateway,
        analysis,
        data_dir,
        log: log::read(reader, role),
    }
}

fn gateway(r: &mut Reader<'_>) -> GatewaySettings {
    GatewaySettings {
        listen: listen::read(r, "listen").unwrap_or_else(|| everywhere(4100)),
        operations: r
            .read("operations", &units::address())
            .unwrap_or(loopback(4101)),
        upstream: upstream::read(r),
        monitor: monitor(r),
        stream: StreamSettings {
            heartbeat: r
                .read(
                    "stream.heartbeat",
                    &units::duration(10 * MILLISECOND..=HOUR),
                )
                .unwrap_or(seconds(60)),
        },
        limits: limits(r),
        shutdown: shutdown(r),
        queue: spool::queue(r),
        spool: spool::read(r),
        files: files::read(r),
        store: store::read(r),
        applications: applications::read(r, "applications").unwrap_or_default(),
        trace: trace::read(r),
    }
}

fn shutdown(r: &mut Reader<'_>) -> ShutdownSettings {
    ShutdownSettings {
        grace: r
            .read("shutdown.grace", &units::duration(Duration::ZERO..=DAY))
            .unwrap_or(seconds(300)),
        min_drain: r
            .read(
                "shutdown.min_drain",
                &units::duration(Duration::ZERO..=HOUR),
            )
            .unwrap_or(Duration::ZERO),
    }
}

fn monitor(r: &mut Reader<'_>) -> MonitorSettings {
    MonitorSettings {
        url: r.read("monitor.url", &url::base_url()),
        timeout: r
            .read("monitor.timeout", &units::duration(MILLISECOND..=HOUR))
            .unwrap_or(seconds(60)),
        application_id: r.read("monitor.application_id", &units::application_id()),
        ca: r.read("monitor.ca", &units::path()),
        client: client(r, "monitor"),
    }
}

/// What the gateway shows a server that asks who it is: both files or none.
pub(super) fn client(r: &mut Reader<'_>, section: &str) -> Option<ClientIdentity> {
    let names = ["client_cert", "client_key"].map(|name| format!("{section}.{name}"));
    let [cert, key] = names.each_ref().map(|name| r.read(name, &units::path()));
    let (missing, there) = match (&cert, &key) {
        (Some(_), None) => (&names[1], &names[0]),
        (None, Some(_)) => (&names[0], &names[1]),
        _ => {
            return Some(ClientIdentity {
                cert: cert?,
                key: key?,
            });
        }
    };
    let text = format!("is not set, but {there} is; allowed: both or none");
    remote::refuse(r, missing, true, &text);
    None
}

fn limits(r: &mut Reader<'_>) -> Limits {
    let held = || units::size(64 * KIB..=16 * 1_024 * GIB);
    let threads = r.read("limits.threads", &units::count_or_auto(1..=1_024));
    let connections = units::count_or_auto(1..=10_000_000);
    let connections = r.read("limits.connections", &connections);
    let buffered_bytes = r.read("limits.buffered_bytes", &held());
    let spilled_bytes = r.read("limits.spilled_bytes", &held());
    let header_timeout = units::duration(10 * MILLISECOND..=HOUR);
    let header_timeout = r.read("limits.header_timeout", &header_timeout);
    let idle_timeout = units::duration(10 * MILLISECOND..=DAY);
    let idle_timeout = r.read("limits.idle_timeout", &idle_timeout);
    let idle = units::count(0..=1_000_000);
    let upstream_idle_connections = r.read("limits.upstream_idle_connections", &idle);
    let recorded_bytes = r.read("limits.recorded_bytes", &units::size(1..=GIB));
    Limits {
        threads: threads.flatten(),
        connections: connections.flatten(),
        buffered_bytes: buffered_bytes.unwrap_or(512 * MIB),
        spilled_bytes,
        header_timeout: header_timeout.unwrap_or(seconds(10)),
        idle_timeout: idle_timeout.unwrap_or(seconds(75)),
        upstream_idle_connections: upstream_idle_connections.unwrap_or(1_024),
        recorded_bytes: recorded_bytes.unwrap_or(8 * MIB),
    }
}

/// The analysis server's keys, under `prefix` (with its dot) or at the top level. An all-in-one
/// process has one operations listener, the gateway's, so `analysis.operations` is no key there.
fn analysis(r: &mut Reader<'_>, prefix: &str) -> AnalysisSettings {
    let key = |name: &str| format!("{prefix}{name}");
    AnalysisSettings {
        listen: listen::read(r, &key("listen")).unwrap_or_else(|| everywhere(4200)),
        operations: match prefix {
            "" => r.read("operations", &units::address()),
            _ => None,
        }
        .unwrap_or(loopback(4201)),
        database: r.read(&key("database"), &units::path()),
        // In one file with a gateway it is the gateway's.
        store: match prefix {
            "" => store::read(r),
            _ => None,
        },
        retention: retention(r, &key("retention.")),
        max_body: r
            .read(&key("max_body"), &units::size(KIB..=GIB))
            .unwrap_or(16 * MIB),
        first_token: r.read(&key("first_token"), &units::access_key()),
        services: services(r, &key("services.")),
        detect: detect::read(r, &key("detect.")),
        blobs: r.read(&key("blobs"), &url::blob_place()),
        attachments: attachments(r, &key("attachments.")),
        requests_per_second: r.read(
            &key("limits.requests_per_second"),
            &units::count(1..=1_000_000),
        ),
        judge: judge::read(r, prefix),
        oidc: sign_in::read(r, prefix),
        checks: checks::read(r, prefix),
        gateway_url: r.read(&key("ui.gateway_url"), &url::upstream_url()),
        public_url: r.read(&key("ui.public_url"), &sign_in::public_url()),
    }
}

fn attachments(r: &mut Reader<'_>, prefix: &str) -> AttachmentSettings {
    let max_bytes = r.read(&format!("{prefix}max_bytes"), &units::size(1..=GIB));
    let max_files = r.read(&format!("{prefix}max_files"), &units::count(1..=1_000));
    AttachmentSettings {
        max_bytes: max_bytes.unwrap_or(20 * MIB),
        max_files: max_files.unwrap_or(64),
    }
}

fn services(r: &mut Reader<'_>, prefix: &str) -> Services {
    let mut is_on = |name: &str| r.switch(&format!("{prefix}{name}")).unwrap_or(true);
    Services {
        dataclean: is_on("dataclean"),
        guardrails: is_on("guardrails"),
        custom_policy: is_on("custom_policy"),
    }
}

fn retention(r: &mut Reader<'_>, prefix: &str) -> RetentionSettings {
    let days = bound(r, &format!("{prefix}days"), &units::count(1..=36_500));
    let rows = bound(r, &format!("{prefix}rows"), &units::count(1..=1 << 50));
    let bytes = bound(r, &format!("{prefix}bytes"), &units::size(MIB..=1 << 60));
    RetentionSettings {
        days: days.map_or(Some(90), |days| u32::try_from(days?).ok()),
        rows: rows.map_or(Some(10_000_000), |rows| u64::try_from(rows?).ok()),
        bytes: bytes.unwrap_or(Some(50 * GIB)),
    }
}

/// A bound that `null` takes away: None where nothing is said.
fn bound<T>(r: &mut Reader<'_>, key: &str, form: &units::Form<T>) -> Option<Option<T>> {
    let read = r.read(key, form);
    match r.is_null(key) {
        true => Some(None),
        false => read.map(Some),
    }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn everywhere(port: u16) -> Vec<Listener> {
    vec![Listener {
        address: (Ipv4Addr::UNSPECIFIED, port).into(),
        tls: None,
    }]
}

fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
