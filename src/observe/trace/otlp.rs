//! Spans as a collector accepts them: OTLP as JSON (`ExportTraceServiceRequest`, OTLP 1.x). Ids are
//! hexadecimal, times and whole numbers are text, kinds and states are numbers.

use super::{Attribute, Event, Span, Value};
use monitor_model::GATEWAY_VERSION;
use serde_json::{Value as Json, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// `Status.code` of a span that failed.
const ERROR: u8 = 2;
/// The instrumentation scope of the spans.
const SCOPE: &str = "monitor-gateway";

/// The resource that produces the spans.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Attribute `service.name`: trace.service_name.
    pub service_name: String,
    /// `service.instance.id`: this process.
    pub instance: uuid::Uuid,
}

/// The body of one export.
pub fn encode(resource: &Resource, spans: &[Span]) -> Vec<u8> {
    let attributes = [
        Attribute {
            name: "service.name",
            value: Value::from(resource.service_name.clone()),
        },
        Attribute {
            name: "service.version",
            value: GATEWAY_VERSION.into(),
        },
        Attribute {
            name: "service.instance.id",
            value: resource.instance.to_string().into(),
        },
    ];
    let attributes: Vec<Json> = attributes.iter().map(attribute).collect();
    let spans: Vec<Json> = spans.iter().map(span).collect();
    let request = json!({"resourceSpans": [{
        "resource": {"attributes": attributes},
        "scopeSpans": [{
            "scope": {"name": SCOPE, "version": GATEWAY_VERSION},
            "spans": spans,
        }],
    }]});
    request.to_string().into_bytes()
}

fn span(span: &Span) -> Json {
    let attributes: Vec<Json> = span.attributes.iter().map(attribute).collect();
    let mut shown = json!({
        "traceId": span.trace.to_string(),
        "spanId": span.id.to_string(),
        "name": span.name,
        "kind": span.kind as u8,
        "startTimeUnixNano": nanos(span.from),
        "endTimeUnixNano": nanos(span.to),
        "attributes": attributes,
    });
    if let Some(parent) = span.parent {
        shown["parentSpanId"] = parent.to_string().into();
    }
    if !span.events.is_empty() {
        shown["events"] = span.events.iter().map(event).collect();
    }
    if span.failed {
        shown["status"] = json!({"code": ERROR});
    }
    shown
}

fn event(event: &Event) -> Json {
    let attributes: Vec<Json> = event.attributes.iter().map(attribute).collect();
    json!({"timeUnixNano": nanos(event.at), "name": event.name, "attributes": attributes})
}

fn attribute(Attribute { name, value }: &Attribute) -> Json {
    let value = match value {
        Value::Text(text) => json!({"stringValue": text}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::Fraction(number) => json!({"doubleValue": number}),
        Value::Flag(flag) => json!({"boolValue": flag}),
        Value::Texts(texts) => {
            let texts = texts.iter().map(|text| json!({"stringValue": text}));
            json!({"arrayValue": {"values": texts.collect::<Vec<_>>()}})
        }
    };
    json!({"key": name, "value": value})
}

fn nanos(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{SpanKind, TraceContext};
    use super::*;
    use std::time::Duration;

    fn span() -> Span {
        let header = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let context = TraceContext::parse(header).unwrap();
        let mut one = Span {
            trace: context.trace,
            id: context.span,
            parent: Some(context.span),
            name: "chat m".into(),
            kind: SpanKind::Client,
            from: UNIX_EPOCH + Duration::from_nanos(1_700_000_000_000_000_001),
            to: UNIX_EPOCH + Duration::from_nanos(1_700_000_000_000_000_009),
            attributes: Vec::new(),
            events: vec![Event {
                name: "gen_ai.evaluation.result",
                at: UNIX_EPOCH + Duration::from_nanos(5),
                attributes: vec![Attribute {
                    name: "f",
                    value: "y".into(),
                }],
            }],
            failed: true,
        };
        one.tell("a", Some("x"));
        one.tell("b", Some(7_u64));
        one.tell("c", Some(0.5));
        one.tell("d", Some(true));
        one.tell("e", None::<u64>);
        one
    }

    #[test]
    fn a_span_is_written_as_the_protocol_has_it() {
        let one = span();
        let resource = Resource {
            service_name: "s".into(),
            instance: uuid::Uuid::nil(),
        };
        let read: Json = serde_json::from_slice(&encode(&resource, &[one])).unwrap();
        let all = &read["resourceSpans"][0];
        assert_eq!(
            all["resource"]["attributes"][0],
            json!({"key": "service.name", "value": {"stringValue": "s"}})
        );
        assert_eq!(
            all["scopeSpans"][0]["spans"][0],
            json!({
                "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
                "spanId": "00f067aa0ba902b7",
                "parentSpanId": "00f067aa0ba902b7",
                "name": "chat m",
                "kind": 3,
                "startTimeUnixNano": "1700000000000000001",
                "endTimeUnixNano": "1700000000000000009",
                "attributes": [
                    {"key": "a", "value": {"stringValue": "x"}},
                    {"key": "b", "value": {"intValue": "7"}},
                    {"key": "c", "value": {"doubleValue": 0.5}},
                    {"key": "d", "value": {"boolValue": true}},
                ],
                "events": [{
                    "timeUnixNano": "5",
                    "name": "gen_ai.evaluation.result",
                    "attributes": [{"key": "f", "value": {"stringValue": "y"}}],
                }],
                "status": {"code": 2},
            })
        );
    }
}
