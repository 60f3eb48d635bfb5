//! What is known of a call, as a field behind the message of its record.

use super::rest::Rest;
use super::string;
use monitor_model::CallFacts;

/// Stands for a time that is not known; no time is that long.
const NO_TIME: u64 = u64::MAX;

/// An empty text and a status of 0 stand for what is not known.
pub(super) fn encode(call: &CallFacts, out: &mut Vec<u8>) {
    string(call.provider.as_deref().unwrap_or_default(), out);
    out.extend_from_slice(&call.status.unwrap_or(0).to_le_bytes());
    for time in [call.latency_ms, call.first_byte_ms] {
        out.extend_from_slice(&time.unwrap_or(NO_TIME).to_le_bytes());
    }
    let address = call.client_address.map(|address| address.to_string());
    string(address.as_deref().unwrap_or_default(), out);
}

pub(super) fn decode(rest: &mut Rest<'_>) -> Option<CallFacts> {
    let provider = Some(rest.string()?).filter(|name| !name.is_empty());
    let status = u16::from_le_bytes(rest.take(2)?.try_into().ok()?);
    let mut time = || Some(Some(rest.number()?).filter(|time| *time != NO_TIME));
    let (latency_ms, first_byte_ms) = (time()?, time()?);
    let address = rest.string()?;
    Some(CallFacts {
        provider,
        status: Some(status).filter(|status| *status > 0),
        latency_ms,
        first_byte_ms,
        client_address: match address.is_empty() {
            true => None,
            false => Some(address.parse().ok()?),
        },
    })
}
