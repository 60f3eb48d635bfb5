//! Which secrets of the settings travel in clear text off this machine, said once for each target at
//! the start and at each reload. It is allowed: there are networks that nobody else listens on.

use crate::config::{BaseUrl, JudgePlace, Role, Settings};
use crate::observe::Metrics;
use crate::observe::events::{ClearTextSecret, ClearTextTarget};
use std::net::IpAddr;

/// Says it of every target that the role calls.
pub(super) fn warn(settings: &Settings, role: Role, metrics: &Metrics) {
    for target in targets(settings, role) {
        ClearTextSecret { target }.emit(metrics);
    }
}

fn targets(settings: &Settings, role: Role) -> Vec<ClearTextTarget> {
    let (gateway, analysis) = (&settings.gateway, &settings.analysis);
    let mut called: Vec<(ClearTextTarget, Option<&BaseUrl>)> = Vec::new();
    if role != Role::Analysis {
        let trace = gateway.trace.as_ref();
        let trace = trace.filter(|trace| trace.authorization.is_some());
        called.extend([
            // Whose keys travel there are the clients'.
            (ClearTextTarget::Upstream, gateway.upstream.url.as_ref()),
            (ClearTextTarget::Monitor, gateway.monitor.url.as_ref()),
            (ClearTextTarget::Trace, trace.map(|trace| &trace.endpoint)),
        ]);
    }
    if role != Role::Gateway {
        let judge = analysis.judge.as_ref();
        let judge = judge.filter(|judge| judge.api_key.is_some());
        let judge = judge.and_then(|judge| match &judge.place {
            JudgePlace::Url(url) => Some(url),
            JudgePlace::Upstream => gateway.upstream.url.as_ref(),
        });
        let guard = analysis.checks.guard.as_ref();
        let guard = guard.filter(|guard| guard.api_key.is_some());
        called.extend([
            (ClearTextTarget::Judge, judge),
            (ClearTextTarget::Guard, guard.map(|guard| &guard.url)),
        ]);
    }
    let exposed = called
        .into_iter()
        .filter(|(_, url)| url.is_some_and(leaves));
    exposed.map(|(target, _)| target).collect()
}

/// Whether what is sent there can be read on the way.
fn leaves(url: &BaseUrl) -> bool {
    let is_here = match url.host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => url.host == "localhost" || url.host.ends_with(".localhost"),
    };
    !url.tls && !is_here
}
