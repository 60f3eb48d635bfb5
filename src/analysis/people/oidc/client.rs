//! HTTP calls to an identity provider: limited in time and size, over TLS unless the provider is on this
//! machine. Does not interpret the answers.

use super::OidcError;
use crate::http_client::{Body, ClientError, HttpClient, whole};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request};
use monitor_model::Secret;
use serde_json::Value;
use std::time::Duration;

/// The timeout of a call.
const LONGEST: Duration = Duration::from_secs(10);
/// The largest answer that is read, in bytes.
const LARGEST: usize = 256 << 10;
/// The longest error code of a provider that is repeated.
const LONGEST_WORD: usize = 40;

/// The client of one provider.
pub(super) struct Http {
    client: HttpClient,
    scheme: &'static str,
}

impl Http {
    /// Calls only addresses with the scheme of the issuer.
    pub(super) fn new(issuer: &str) -> std::io::Result<Self> {
        let is_tls = issuer.starts_with("https://");
        Ok(Self {
            client: HttpClient::pooled(is_tls, None)?,
            scheme: if is_tls { "https://" } else { "http://" },
        })
    }

    /// Whether an address may be called.
    pub(super) fn takes(&self, address: &str) -> bool {
        address.starts_with(self.scheme)
    }

    pub(super) async fn get(&self, address: &str) -> Result<Value, OidcError> {
        self.call(Request::get(address), String::new()).await
    }

    /// Posts a form, with the client's name and secret in a header if the provider wants them there.
    pub(super) async fn post(
        &self,
        address: &str,
        form: String,
        client: Option<(&str, &Secret)>,
    ) -> Result<Value, OidcError> {
        let mut request =
            Request::post(address).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some((id, secret)) = client {
            request = request.header(AUTHORIZATION, basic(id, secret)?);
        }
        self.call(request, form).await
    }

    async fn call(
        &self,
        request: http::request::Builder,
        body: String,
    ) -> Result<Value, OidcError> {
        let request = request
            .header(ACCEPT, "application/json")
            .body(whole(body))
            .map_err(|_| OidcError::Unreachable("its address cannot be asked"))?;
        self.answer(request).await
    }

    async fn answer(&self, request: Request<Body>) -> Result<Value, OidcError> {
        let answer = self.client.send(request, LARGEST, LONGEST).await;
        let answer = answer.map_err(|error| match error {
            ClientError::Late => OidcError::Unreachable("it did not answer in time"),
            _ => OidcError::Unreachable("no connection, or it was closed"),
        })?;
        let status = answer.status;
        let body = answer.body;
        let body =
            body.map_err(|_| OidcError::Unreachable("its answer is incomplete or too large"))?;
        let value = serde_json::from_slice::<Value>(&body);
        match (status.is_success(), value) {
            (true, Ok(value)) => Ok(value),
            (true, Err(_)) => Err(OidcError::Answer("is not JSON")),
            (false, value) => {
                let value = value.unwrap_or_default();
                let word = value.get("error").and_then(Value::as_str);
                Err(OidcError::Refused(status.as_u16(), plain_word(word)))
            }
        }
    }
}

/// A provider's error code, if it is plain: it appears on a page and in the log.
pub(super) fn plain_word(word: Option<&str>) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c == '_';
    let word = word.filter(|word| word.len() <= LONGEST_WORD && word.chars().all(is_plain));
    word.unwrap_or_default().to_owned()
}

/// RFC 6749 2.3.1: both are form-encoded first.
fn basic(id: &str, secret: &Secret) -> Result<HeaderValue, OidcError> {
    let encoded =
        |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(id), encoded(secret.expose()));
    let value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)));
    let mut value = value.map_err(|_| OidcError::Unreachable("the secret cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}
