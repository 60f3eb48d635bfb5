//! What a gateway knows of the call whose answer a record is: who answered, how, and how long that took. Clients of the
//! analysis API may send the same.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::net::IpAddr;

/// The key of `additional_parameters` with the facts of the call.
pub const CALL_PARAMETER: &str = "call";
/// The most bytes of a provider's name.
const LONGEST_PROVIDER: usize = 255;
/// The longest time of a call that is taken, 49 days.
const LONGEST_MS: u64 = u32::MAX as u64;

const PROVIDER: &str = "provider";
const STATUS: &str = "status";
const LATENCY: &str = "latency_ms";
const FIRST_BYTE: &str = "first_byte_ms";
const CLIENT_ADDRESS: &str = "client_address";

/// The facts of a call, each as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFacts {
    /// The model server: an entry of `upstreams`, or the address of the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The HTTP status of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// From the head of the request to the end of the answer, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// From the head of the request to the first byte of the answer, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<u64>,
    /// The client's address; only where `monitor.record_client_address` asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_address: Option<IpAddr>,
}

impl CallFacts {
    /// The facts in `additional_parameters`, and the names of those that are not understood. Other callers may use the
    /// key for something else: only an object has facts.
    pub fn read(parameters: &Map<String, Value>) -> (Option<Self>, Vec<&'static str>) {
        let Some(Value::Object(given)) = parameters.get(CALL_PARAMETER) else {
            return (None, Vec::new());
        };
        let mut odd = Vec::new();
        let facts = Self {
            provider: field(given, PROVIDER, &mut odd, provider),
            status: field(given, STATUS, &mut odd, status),
            latency_ms: field(given, LATENCY, &mut odd, time),
            first_byte_ms: field(given, FIRST_BYTE, &mut odd, time),
            client_address: field(given, CLIENT_ADDRESS, &mut odd, address),
        };
        let known = (facts != Self::default()).then_some(facts);
        (known, odd)
    }
}

/// A fact; null is none, and what is not understood is noted.
fn field<T>(
    given: &Map<String, Value>,
    name: &'static str,
    odd: &mut Vec<&'static str>,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Option<T> {
    let value = given.get(name).filter(|value| !value.is_null())?;
    let read = read(value);
    if read.is_none() {
        odd.push(name);
    }
    read
}

/// A name or an address: no text, so that nothing of a message can be in it.
fn provider(value: &Value) -> Option<String> {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:[]".contains(&byte);
    let name = value.as_str()?;
    let fits = (1..=LONGEST_PROVIDER).contains(&name.len()) && name.bytes().all(is_sign);
    fits.then(|| name.to_owned())
}

fn status(value: &Value) -> Option<u16> {
    let status = u16::try_from(value.as_u64()?).ok()?;
    (100..=999).contains(&status).then_some(status)
}

fn time(value: &Value) -> Option<u64> {
    value.as_u64().filter(|time| *time <= LONGEST_MS)
}

fn address(value: &Value) -> Option<IpAddr> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(call: &Value) -> (Option<CallFacts>, Vec<&'static str>) {
        CallFacts::read(json!({ CALL_PARAMETER: call }).as_object().unwrap())
    }

    #[test]
    fn facts_come_back_as_they_were_written() {
        let call = json!({"provider": "gpu-1.example:8443", "status": 200, "latency_ms": 1_200,
            "first_byte_ms": 80, "client_address": "2001:db8::1"});
        let (facts, odd) = read(&call);
        let facts = facts.unwrap();
        assert!(odd.is_empty());
        assert_eq!(facts.status, Some(200));
        assert_eq!(json!(facts), call);
        let back: CallFacts = serde_json::from_value(call).unwrap();
        assert_eq!(back, facts);
    }

    #[test]
    fn what_is_not_understood_is_named_and_the_rest_is_taken() {
        let (facts, odd) = read(
            &json!({"provider": "my mail is ann@example.org", "status": 99,
            "latency_ms": -1, "first_byte_ms": 7, "client_address": "here", "own": {}}),
        );
        assert_eq!(odd, [PROVIDER, STATUS, LATENCY, CLIENT_ADDRESS]);
        let expected = CallFacts {
            first_byte_ms: Some(7),
            ..CallFacts::default()
        };
        assert_eq!(facts, Some(expected));
    }

    #[test]
    fn something_else_under_this_name_has_no_facts() {
        for other in [
            json!(null),
            json!("hello"),
            json!([1]),
            json!({}),
            json!({"own": 1, "status": null}),
        ] {
            assert_eq!(read(&other), (None, Vec::new()), "{other}");
        }
        assert_eq!(CallFacts::read(&Map::new()), (None, Vec::new()));
    }
}
