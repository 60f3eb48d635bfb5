//! One line of the access log: what a call was and how it ended. No body, no key, no query, no user;
//! texts that the client chose are bounded, and JSON escapes them.

use crate::observe::labels::{Outcome, RouteLabel};
use crate::observe::metrics::CallTimes;
use crate::observe::trace::TraceId;
use monitor_model::AppMode;
use serde::Serialize;
use std::net::IpAddr;
use std::time::SystemTime;
use uuid::Uuid;

/// One call as the access log records it.
#[derive(Clone, Debug)]
pub struct AccessLine {
    /// When its head was read.
    pub at: SystemTime,
    /// Value of `X-Request-Id`.
    pub request_id: String,
    /// The trace it belongs to, whether it is sampled or not.
    pub trace_id: Option<TraceId>,
    /// Address of the client, where it is logged.
    pub client: Option<IpAddr>,
    /// The method, where it is a known one.
    pub method: &'static str,
    /// Endpoint of the call.
    pub route: RouteLabel,
    /// The application whose policy applies; None also if the client named something that is not a UUID.
    pub application: Option<Uuid>,
    /// On a monitored route.
    pub mode: Option<AppMode>,
    /// As the client named it, bounded.
    pub model: Option<String>,
    /// The entry of `upstreams` whose server was called; None for `upstream`, or when none was called.
    pub upstream: Option<String>,
    /// The status the client got, 0 for none.
    pub status: u16,
    /// How it ended.
    pub outcome: Outcome,
    /// What went wrong, in fixed words that quote no data.
    pub detail: Option<&'static str>,
    /// Body bytes from the client.
    pub bytes_in: usize,
    /// Body bytes to the client.
    pub bytes_out: usize,
    /// What it took.
    pub times: CallTimes,
    /// Whether anybody can cause it, so that `log.bytes_per_second` bounds it; not part of the line.
    pub is_limited: bool,
}

/// The names in the line, which are there with or without a value.
#[derive(Serialize)]
struct Shape<'a> {
    time: String,
    request_id: &'a str,
    trace_id: Option<String>,
    client: Option<IpAddr>,
    method: &'static str,
    route: &'static str,
    application: Option<Uuid>,
    mode: Option<AppMode>,
    model: Option<&'a str>,
    upstream: Option<&'a str>,
    status: u16,
    outcome: &'static str,
    detail: Option<&'static str>,
    bytes_in: usize,
    bytes_out: usize,
    total_ms: f64,
    first_byte_ms: Option<f64>,
    upstream_ms: Option<f64>,
    backend_ms: Option<f64>,
    overhead_ms: Option<f64>,
}

impl AccessLine {
    pub(super) fn append_to(&self, bytes: &mut Vec<u8>) {
        let times = self.times;
        let shape = Shape {
            time: time(self.at),
            request_id: &self.request_id,
            trace_id: self.trace_id.map(|id| id.to_string()),
            client: self.client,
            method: self.method,
            route: self.route.as_str(),
            application: self.application,
            mode: self.mode,
            model: self.model.as_deref(),
            upstream: self.upstream.as_deref(),
            status: self.status,
            outcome: self.outcome.as_str(),
            detail: self.detail,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            total_ms: millis(times.total),
            first_byte_ms: times.first_byte.map(millis),
            upstream_ms: times.upstream.map(millis),
            backend_ms: times.backend.map(millis),
            overhead_ms: times.overhead.map(millis),
        };
        // Texts and numbers into memory: there is no failing case.
        let _ = serde_json::to_writer(&mut *bytes, &shape);
        bytes.push(b'\n');
    }
}

/// Seconds as milliseconds with three digits behind the point.
fn millis(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e3
}

/// RFC 3339 in UTC with milliseconds.
fn time(at: SystemTime) -> String {
    let at = jiff::Timestamp::try_from(at).unwrap_or_default();
    format!("{at:.3}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_line_is_json_whatever_the_client_chose() {
        let line = AccessLine {
            at: SystemTime::UNIX_EPOCH + Duration::from_millis(1_500),
            request_id: "a\"b".into(),
            trace_id: None,
            client: None,
            method: "POST",
            route: RouteLabel::Chat,
            application: None,
            mode: Some(AppMode::Sync),
            model: Some("m\n\u{1b}[31m".into()),
            upstream: None,
            status: 200,
            outcome: Outcome::Ok,
            detail: None,
            bytes_in: 1,
            bytes_out: 2,
            is_limited: false,
            times: CallTimes {
                total: 0.001_234_5,
                ..CallTimes::default()
            },
        };
        let mut bytes = Vec::new();
        line.append_to(&mut bytes);
        assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert!(!bytes.contains(&0x1b));
        let read: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(read["time"], "1970-01-01T00:00:01.500Z");
        assert_eq!(read["request_id"], "a\"b");
        assert_eq!(read["model"], "m\n\u{1b}[31m");
        assert_eq!(read["mode"], "sync");
        assert_eq!(read["total_ms"], 1.235);
        assert!(read["upstream_ms"].is_null());
    }
}
