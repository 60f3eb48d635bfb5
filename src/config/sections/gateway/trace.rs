//! The keys of `trace`: where spans are sent, and which share of calls has them. Nothing is connected here.

use crate::config::reading::reader::Reader;
use crate::config::values::header;
use crate::config::values::units::{self, Form, MILLISECOND, MINUTE};
use crate::config::values::url::{self, BaseUrl};
use monitor_model::Secret;
use std::path::PathBuf;
use std::time::Duration;

/// Traces of a gateway's calls; there are none without an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSettings {
    /// URL of the collector, which accepts OTLP over HTTP; `/v1/traces` is added.
    pub endpoint: BaseUrl,
    /// `Authorization` towards the collector, as a whole.
    pub authorization: Option<Secret>,
    /// PEM file of a private certificate authority.
    pub ca: Option<PathBuf>,
    /// Share of the calls without a `traceparent` that are traced; the others' caller decides.
    pub ratio: f64,
    /// Whether the upstream gets `traceparent`.
    pub propagate_upstream: bool,
    /// Attribute `service.name` of every span.
    pub service_name: String,
    /// Attribute `gen_ai.provider.name` of model calls; None is that of the API that the client speaks.
    pub provider: Option<String>,
    /// Spans that may wait for the collector; further ones are dropped and counted.
    pub queue: usize,
    /// Spans of one export, at most.
    pub batch: usize,
    /// How long an export waits to be filled.
    pub interval: Duration,
    /// Longest time for one export.
    pub timeout: Duration,
}

/// None without an endpoint. What belongs to one is checked in any case.
pub(crate) fn read(r: &mut Reader<'_>) -> Option<TraceSettings> {
    let endpoint = r.read("trace.endpoint", &url::base_url());
    let authorization = r.read("trace.authorization", &header::secret());
    let ca = r.read("trace.ca", &units::path());
    let ratio = r.read("trace.ratio", &ratio());
    let propagate_upstream = r.switch("trace.propagate_upstream");
    let service_name = r.read("trace.service_name", &units::text());
    let provider = r.read("trace.provider", &units::text());
    let queue = r.read("trace.queue", &units::count(1..=1_000_000));
    let batch = r.read("trace.batch", &units::count(1..=10_000));
    let times = units::duration(10 * MILLISECOND..=MINUTE);
    let interval = r.read("trace.interval", &times);
    let timeout = r.read("trace.timeout", &times);
    let Some(endpoint) = endpoint else {
        let without = authorization.is_some() || ca.is_some() || propagate_upstream == Some(true);
        let told = r.has_problem("trace.endpoint");
        let text = "is not set, but other trace keys are; allowed: the collector's URL";
        r.refuse_if("trace.endpoint", without && !told, text);
        return None;
    };
    let text = "is used over https only; allowed: trace.endpoint with https, or no ca";
    r.refuse_if("trace.ca", ca.is_some() && !endpoint.tls, text);
    Some(TraceSettings {
        endpoint,
        authorization,
        ca,
        ratio: ratio.unwrap_or(0.1),
        propagate_upstream: propagate_upstream.unwrap_or(false),
        service_name: service_name.unwrap_or_else(|| "monitor-gateway".to_owned()),
        provider,
        queue: queue.unwrap_or(4_096),
        batch: batch.unwrap_or(512),
        interval: interval.unwrap_or(1_000 * MILLISECOND),
        timeout: timeout.unwrap_or(10_000 * MILLISECOND),
    })
}

fn ratio() -> Form<f64> {
    Form::new("a number from 0 to 1", |text| {
        let ratio = text.parse().ok();
        ratio
            .filter(|ratio| (0.0..=1.0).contains(ratio))
            .ok_or_else(|| format!("{} is not a share", units::quote(text)))
    })
}
