//! Sends a message to its channel, by HTTP; `mail` sends letters. An error says what happened, and neither the address
//! nor what the server answered.

use super::address;
use super::channel::{Channel, ChannelKind};
use super::mail;
use super::message::{Message, body};
use crate::config::AlertSettings;
use crate::http_client::{Body, ClientError, HttpClient, whole};
use http::{HeaderValue, Request, header};
use monitor_store::AlertDelivery;
use ring::hmac;
use std::fmt::Write as _;
use std::time::Duration;
use url::Url;

/// The longest time for one attempt.
const LONGEST: Duration = Duration::from_secs(10);
/// The largest answer that is read, in bytes.
const LARGEST: usize = 64 << 10;

/// Sends a delivery.
///
/// # Errors
/// Why the channel did not take it.
pub(super) async fn send(
    channel: &Channel,
    delivery: &AlertDelivery,
    settings: &AlertSettings,
) -> Result<(), String> {
    let message: Message =
        serde_json::from_str(&delivery.message).map_err(|_| "the message cannot be read")?;
    if channel.kind == ChannelKind::Email {
        return mail::send(channel, delivery, &message, settings).await;
    }
    let url = target(channel)?;
    let addresses = address::addresses(&url, settings).await?;
    let request = request(channel, delivery, &url, &message)?;
    let client = HttpClient::pinned(url.scheme() == "https", addresses);
    let client = client.map_err(|_| "the system's certificates cannot be read")?;
    let answer = client.send(request, LARGEST, LONGEST).await;
    let answer = answer.map_err(|error| match error {
        ClientError::Late => "no answer in time",
        _ => "no connection, or it was closed",
    })?;
    match answer.status.is_success() {
        true => Ok(()),
        false => Err(format!("status {}", answer.status.as_u16())),
    }
}

fn target(channel: &Channel) -> Result<Url, &'static str> {
    let url = channel.server()?;
    match channel.kind {
        ChannelKind::Telegram => {
            let base = url.as_str().trim_end_matches('/');
            let token = channel.secret.expose();
            address::parse(&format!("{base}/bot{token}/sendMessage"))
        }
        ChannelKind::Webhook | ChannelKind::Slack | ChannelKind::Teams | ChannelKind::Email => {
            Ok(url)
        }
    }
}

fn request(
    channel: &Channel,
    delivery: &AlertDelivery,
    url: &Url,
    message: &Message,
) -> Result<Request<Body>, &'static str> {
    const UNSENDABLE: &str = "the address cannot be called";
    let body = body(channel, delivery, message).to_string();
    let mut target = url.clone();
    target.set_fragment(None);
    let mut request = Request::post(target.as_str())
        .header(header::CONTENT_TYPE, "application/json")
        .header("x-monitor-delivery", delivery.id.to_string());
    if channel.kind == ChannelKind::Webhook && !channel.secret.expose().is_empty() {
        let timestamp = jiff::Timestamp::now().as_second();
        let signature = signature(channel.secret.expose(), timestamp, &body);
        let signature = HeaderValue::try_from(signature).map_err(|_| UNSENDABLE)?;
        request = request
            .header("x-monitor-timestamp", timestamp)
            .header("x-monitor-signature", signature);
    }
    request.body(whole(body)).map_err(|_| UNSENDABLE)
}

/// HMAC-SHA256 over the time, a dot and the body.
fn signature(secret: &str, timestamp: i64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{timestamp}.{body}").as_bytes());
    let mut text = String::from("sha256=");
    for byte in tag.as_ref() {
        // Writing into a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b10_a_webhook_is_signed_over_the_time_and_the_body() {
        // printf '%s' '1700000000.{}' | openssl dgst -sha256 -hmac key
        assert_eq!(signature("key", 1_700_000_000, "{}"), EXPECTED);
    }

    const EXPECTED: &str =
        "sha256=9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae";
}
