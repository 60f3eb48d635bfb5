//! Every key: its form, its range and its default, each declared once (§8, CONTRACT 34). Conflicts between
//! keys are in `validate`.

use super::reading::reader::Reader;
use super::role::Role;
use super::sections::analysis::{
    alerts, checks, detect, exports, files as analysis_files, judge, limits as analysis_limits,
    prices, queue as analysis_queue, retention, services, siem, sign_in,
};
use super::sections::gateway::{
    applications, files as gateway_files, limits, monitor, spool, trace, upstream, upstreams,
};
use super::sections::listen::{self, Listener};
use super::sections::{cors, log, store, trusted_proxies};
use super::settings::{AnalysisSettings, GatewaySettings, Settings};
use super::sources::{Overrides, Sources};
use super::values::units::{self, GIB, KIB, MIB};
use super::values::url;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// The default host of a gateway or an analysis server that runs alone: it serves other machines.
const EVERYWHERE: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

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
            // For trying the program out; a service for other machines sets its addresses.
            let host = Ipv4Addr::LOCALHOST;
            let gateway = gateway(reader, host);
            let mut analysis = analysis(reader, "analysis.", host);
            analysis.store.clone_from(&gateway.store);
            analysis.limits.header_timeout = gateway.limits.header_timeout;
            analysis.limits.idle_timeout = gateway.limits.idle_timeout;
            (gateway, analysis)
        }
        Role::Gateway => (
            gateway(reader, EVERYWHERE),
            analysis(&mut unset, "", EVERYWHERE),
        ),
        Role::Analysis => {
            let mut gateway = gateway(&mut unset, EVERYWHERE);
            let analysis = analysis(reader, "", EVERYWHERE);
            // A stop is the same in every role.
            gateway.shutdown = limits::shutdown(reader);
            (gateway, analysis)
        }
    };
    Settings {
        gateway,
        analysis,
        data_dir: data_dir(reader),
        core_files: reader.switch("core_files").unwrap_or(false),
        log: log::read(reader, role),
    }
}

/// The data folder, in every role.
pub(super) fn data_dir(r: &mut Reader<'_>) -> PathBuf {
    let data_dir = r.read("data_dir", &units::path());
    data_dir.unwrap_or_else(|| PathBuf::from("./data"))
}

/// `host` is its default address.
fn gateway(r: &mut Reader<'_>, host: Ipv4Addr) -> GatewaySettings {
    GatewaySettings {
        listen: listen::read(r, "listen").unwrap_or_else(|| at(host, 4100)),
        operations: r
            .read("operations", &units::address())
            .unwrap_or(loopback(4101)),
        trusted_proxies: trusted_proxies::read(r, ""),
        cors: cors::read(r, ""),
        upstream: upstream::read(r, "upstream"),
        upstreams: upstreams::read(r),
        monitor: monitor::read(r),
        stream: limits::stream(r),
        limits: limits::read(r),
        shutdown: limits::shutdown(r),
        queue: spool::queue(r),
        spool: spool::read(r),
        files: gateway_files::read(r),
        store: store::read(r),
        applications: applications::read(r, "applications").unwrap_or_default(),
        trace: trace::read(r),
    }
}

/// The analysis server's keys, under `prefix` (with its dot) or at the top level. An all-in-one
/// process has one operations listener, the gateway's, so `analysis.operations` is no key there.
/// `host` is its default address.
fn analysis(r: &mut Reader<'_>, prefix: &str, host: Ipv4Addr) -> AnalysisSettings {
    let key = |name: &str| format!("{prefix}{name}");
    // Read in its place, since problems name the keys in the order of the file.
    let max_body;
    let blobs;
    AnalysisSettings {
        listen: listen::read(r, &key("listen")).unwrap_or_else(|| at(host, 4200)),
        operations: match prefix {
            "" => r.read("operations", &units::address()),
            _ => None,
        }
        .unwrap_or(loopback(4201)),
        trusted_proxies: trusted_proxies::read(r, prefix),
        cors: cors::read(r, prefix),
        database: r.read(&key("database"), &units::path()),
        // In one file with a gateway it is the gateway's.
        store: match prefix {
            "" => store::read(r),
            _ => None,
        },
        retention: retention::read(r, &key("retention.")),
        max_body: {
            let size = r.read(&key("max_body"), &units::size(KIB..=GIB));
            max_body = size.unwrap_or(16 * MIB);
            max_body
        },
        first_token: r.read(&key("first_token"), &units::access_key()),
        services: services::read(r, &key("services.")),
        detect: detect::read(r, &key("detect.")),
        blobs: {
            blobs = r.read(&key("blobs"), &analysis_files::blob_place());
            blobs.clone()
        },
        attachments: analysis_files::attachments(r, &key("attachments.")),
        limits: analysis_limits::read(r, prefix, max_body),
        requests_per_second: r.read(
            &key("limits.requests_per_second"),
            &units::count(1..=1_000_000),
        ),
        queue: analysis_queue::read(r, &key("limits.")),
        analyzed_bytes: r
            .read(&key("limits.analyzed_bytes"), &units::size(64 * KIB..=GIB))
            .unwrap_or(8 * MIB),
        judge: judge::read(r, prefix),
        require_second_factor: r
            .switch(&key("sign_in.require_second_factor"))
            .unwrap_or(false),
        oidc: sign_in::read(r, prefix),
        checks: checks::read(r, prefix),
        prices: prices::read(r, prefix),
        alerts: alerts::read(r, &key("alerts.")),
        siem: siem::read(r, prefix),
        exports: exports::read(r, prefix, blobs.as_ref()),
        gateway_url: r.read(&key("ui.gateway_url"), &url::upstream_url()),
        public_url: r.read(&key("ui.public_url"), &sign_in::public_url()),
        hsts: r.switch(&key("ui.hsts")).unwrap_or(true),
    }
}

fn at(host: Ipv4Addr, port: u16) -> Vec<Listener> {
    vec![Listener {
        address: (host, port).into(),
        tls: None,
        proxy_protocol: false,
    }]
}

fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
