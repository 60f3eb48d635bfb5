//! The HTTP event collector of Splunk: batches of JSON events. Its 200 is the acknowledgement.

use super::event::{Event, Subject};
use super::ocsf::ocsf;
use crate::http_client::{Body, HttpClient, whole};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request, StatusCode, Uri};
use monitor_model::Secret;
use serde::Deserialize;
use serde_json::json;
use std::io;
use std::time::Duration;

/// The path of the collector below its address.
const PATH: &str = "/services/collector/event";
/// Largest answer that is read.
const MAX_ANSWER: usize = 64 << 10;

/// What Splunk says of an event that is not as it expects: no data, invalid data format, no event, a blank event,
/// indexed fields that cannot be handled. Its other refusals are about the token or the index: they end when somebody
/// mends the configuration.
const CONTENT: [u32; 5] = [5, 6, 12, 13, 15];

/// Why a batch was not taken.
pub(super) enum SendError {
    /// It has to be sent again, for this reason, in fixed words.
    Later(String),
    /// An event of it is refused for its content.
    Content,
}

/// The answer of a collector.
#[derive(Deserialize)]
struct Answer {
    code: u32,
}

/// Posts batches to the HTTP event collector of a Splunk, with its token.
pub(super) struct HecSender {
    client: HttpClient,
    uri: Uri,
    authorization: HeaderValue,
}

impl HecSender {
    /// # Errors
    /// When the address is no URI, or the token cannot be sent in a header.
    pub(super) fn new(client: HttpClient, url: &str, token: &Secret) -> io::Result<Self> {
        let mut authorization = HeaderValue::try_from(format!("Splunk {}", token.expose()))
            .map_err(|_| io::Error::other("the token cannot be sent in a header"))?;
        authorization.set_sensitive(true);
        Ok(Self {
            client,
            uri: format!("{url}{PATH}").parse().map_err(io::Error::other)?,
            authorization,
        })
    }

    /// # Errors
    /// Why the batch was not taken.
    pub(super) async fn send(&self, events: &[Event], within: Duration) -> Result<(), SendError> {
        let bodies: Vec<String> = events.iter().map(body).collect();
        let body = Bytes::from(bodies.join("\n"));
        let again = body.clone();
        let request = self.request(body).map_err(SendError::Later)?;
        let sent =
            self.client
                .send_repeatable(request, || self.request(again).ok(), MAX_ANSWER, within);
        let answer = sent.await;
        let answer = answer.map_err(|error| SendError::Later(error.to_string()))?;
        match answer.status {
            StatusCode::OK => Ok(()),
            StatusCode::PAYLOAD_TOO_LARGE => Err(SendError::Content),
            StatusCode::BAD_REQUEST if is_about_content(answer.body.as_deref().ok()) => {
                Err(SendError::Content)
            }
            other => Err(SendError::Later(format!(
                "it answers with status {}",
                other.as_u16()
            ))),
        }
    }

    fn request(&self, body: Bytes) -> Result<Request<Body>, String> {
        Request::post(self.uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, self.authorization.clone())
            .body(whole(body))
            .map_err(|_| "the request cannot be made".to_owned())
    }
}

fn is_about_content(answer: Option<&[u8]>) -> bool {
    let answer = answer.map(serde_json::from_slice::<Answer>);
    answer.is_some_and(|answer| answer.is_ok_and(|answer| CONTENT.contains(&answer.code)))
}

fn body(event: &Event) -> String {
    let (seconds, millis) = (event.at_ms.div_euclid(1_000), event.at_ms.rem_euclid(1_000));
    let kind = match event.subject {
        Subject::Verdict(_) => "monitor:verdict",
        Subject::Audit(_) => "monitor:audit",
    };
    let whole = json!({
        "time": format!("{seconds}.{millis:03}"),
        "source": "monitor-gateway",
        "sourcetype": kind,
        "event": ocsf(event),
    });
    whole.to_string()
}
