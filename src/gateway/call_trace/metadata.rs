//! What a request asks of the model, and what an answer says about itself: the attributes of the model call, bounded.

use crate::gateway::auth::access_key;
use http::HeaderMap;
use monitor_model::Secret;
use monitor_wire::json::Request;
use monitor_wire::protocol::{Protocol, StreamAnswer};
use monitor_wire::sse;
use pingora_core::protocols::http::ServerSession;
use ring::hmac;

/// The longest reported text in bytes, such as the name of a model; the client or the upstream chose it.
const LONGEST_TEXT: usize = 128;
/// The most choices whose ends are reported, and the most texts that end an answer.
const MOST_TEXTS: usize = 16;

/// What a request asks of the model, and the conversation that it belongs to.
#[derive(Default)]
pub(super) struct RequestMetadata {
    /// The connection of the client is encrypted.
    pub(super) is_tls: bool,
    /// A keyed hash of the session's id: the client may put anything there, a name too.
    pub(super) conversation: Option<String>,
    pub(super) max_tokens: Option<u64>,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) stop_sequences: Vec<String>,
    /// None for the one that is the default.
    pub(super) choices: Option<u64>,
    /// A value of `gen_ai.output.type`.
    pub(super) output_type: Option<&'static str>,
}

/// What an answer says about itself.
#[derive(Default)]
pub(crate) struct AnswerMetadata {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) finish_reasons: Vec<String>,
    pub(super) usage: Option<sse::Usage>,
    /// An event of the stream says that the answer failed.
    pub(super) is_failed: bool,
}

impl RequestMetadata {
    pub(super) fn of_connection(session: &ServerSession) -> Self {
        let digest = session.digest();
        Self {
            is_tls: digest.is_some_and(|digest| digest.ssl_digest.is_some()),
            ..Self::default()
        }
    }

    /// The attribute `url.scheme`.
    pub(super) fn scheme(&self) -> &'static str {
        match self.is_tls {
            true => "https",
            false => "http",
        }
    }

    /// Reads what the request asks for; `session` is the id of its session.
    pub(super) fn read(
        &mut self,
        request: Request<'_>,
        headers: &HeaderMap,
        session: Option<String>,
    ) {
        let stops = request.stops(MOST_TEXTS).into_iter();
        self.stop_sequences = stops.map(|stop| truncated(stop.into_owned())).collect();
        self.max_tokens = request.token_limit();
        self.temperature = request.number("temperature");
        self.top_p = request.number("top_p");
        self.choices = request.answers().filter(|choices| *choices != 1);
        self.output_type = request.output_format().and_then(|format| match &*format {
            "text" => Some("text"),
            "json_object" | "json_schema" => Some("json"),
            _ => None,
        });
        let key = access_key(headers).ok();
        self.conversation = session
            .zip(key)
            .map(|(session, key)| keyed_hash(&key, &session));
    }
}

impl AnswerMetadata {
    /// Of a whole answer, whose body this is.
    pub(crate) fn of_whole(
        protocol: &dyn Protocol,
        body: &[u8],
        model: Option<String>,
        usage: Option<sse::Usage>,
    ) -> Self {
        let end = protocol.answer_end(body, MOST_TEXTS);
        Self {
            id: end.id,
            model,
            finish_reasons: end.finish_reasons,
            usage,
            is_failed: false,
        }
        .bounded()
    }

    pub(crate) fn set_usage(&mut self, usage: Option<sse::Usage>) {
        self.usage = usage;
    }

    /// Whether this is why it ended.
    pub(crate) fn ended_by(&self, reason: &str) -> bool {
        self.finish_reasons.iter().any(|known| known == reason)
    }

    /// Of a stream that has ended.
    pub(crate) fn of_stream(text: &dyn StreamAnswer) -> Self {
        let reasons = text.finish_reasons().into_iter().take(MOST_TEXTS);
        Self {
            id: text.id().map(str::to_owned),
            model: text.model().map(str::to_owned),
            finish_reasons: reasons.map(str::to_owned).collect(),
            usage: text.usage(),
            is_failed: text.error_seen(),
        }
        .bounded()
    }

    /// Long texts are truncated: the model server chose them.
    fn bounded(self) -> Self {
        Self {
            id: self.id.map(truncated),
            model: self.model.map(truncated),
            finish_reasons: self.finish_reasons.into_iter().map(truncated).collect(),
            ..self
        }
    }
}

/// The first 32 hexadecimal digits of its HMAC-SHA256 with the access key: whoever reads traces and has no access key
/// cannot try names, and all gateways that a client calls give the same.
fn keyed_hash(key: &Secret, session: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.expose().as_bytes());
    let digest = hmac::sign(&key, session.as_bytes());
    let digits = digest.as_ref().iter().take(16);
    digits.map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn truncated(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST_TEXT));
    text
}
