//! The synthesized completion that replaces an answer (§2.4, CONTRACT 12, 15). It carries the verdict, and
//! never the text that was checked.

use super::verdict::Finding;
use crate::gateway::context::CallContext;
use crate::gateway::headers::REPLACED;
use crate::gateway::respond::{self, SHOULD_RETRY};
use crate::gateway::state::Snapshot;
use crate::observe::events::Blocked;
use crate::observe::{Outcome, VerdictType};
use http::header::CONTENT_TYPE;
use monitor_model::{AnalysisResponse, BlockDetails, ExchangeId, Policy, Stage};
use monitor_wire::json::Request;
use monitor_wire::protocol::{OwnAnswer, Protocol};
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_http::ResponseHeader;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// The form in which a client can read an answer that the gateway makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockForm {
    /// A whole answer (§2.4).
    Whole,
    /// The events of a stream, for a client that asked for one and may get it.
    Stream {
        /// Whether the last event holds the usage, as `stream_options.include_usage` asks for.
        with_usage: bool,
    },
}

/// The parts of a request that appear in its synthesized answer.
pub(super) struct RequestSummary {
    protocol: &'static dyn Protocol,
    model: String,
    request_id: String,
    /// The form that its client can read.
    form: BlockForm,
}

/// A call whose answer is the policy's phrase.
pub(super) struct Block {
    pub(super) stage: Stage,
    pub(super) request: RequestSummary,
    pub(super) policy: Arc<Policy>,
    /// What was found.
    pub(super) kind: VerdictType,
    /// What the check says of it, `prepared_response` (§2.4).
    pub(super) verdict: Value,
    /// The upstream's `usage`, where the upstream was called.
    pub(super) usage: Option<Box<RawValue>>,
}

impl RequestSummary {
    /// The id is the client's `metadata.request_id`, else that of the exchange.
    pub(super) fn new(
        request: Request<'_>,
        protocol: &'static dyn Protocol,
        exchange: ExchangeId,
        form: BlockForm,
    ) -> Self {
        let id = request.request_id();
        Self {
            protocol,
            model: request.model().unwrap_or_else(|| "unknown".into()),
            request_id: id.unwrap_or_else(|| exchange.to_string()),
            form,
        }
    }
}

/// The id of an answer of the gateway's.
pub(super) fn new_id() -> String {
    format!("monitor-guardrails-{}", Uuid::new_v4())
}

/// The policy's phrase as an answer of now.
pub(super) fn phrase_answer<'a>(id: &'a str, model: &'a str, policy: &'a Policy) -> OwnAnswer<'a> {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    OwnAnswer {
        id,
        created: since_epoch.map_or(0, |time| time.as_secs()),
        model,
        text: &policy.phrase,
        usage: None,
        with_usage: false,
        monitor: None,
    }
}

impl Block {
    /// The call is blocked by a verdict of the backend.
    pub(super) fn by_verdict(
        stage: Stage,
        request: RequestSummary,
        policy: Arc<Policy>,
        finding: &Finding,
    ) -> Self {
        Self {
            stage,
            request,
            policy,
            kind: finding.kind,
            verdict: prepared_response(&finding.analysis),
            usage: None,
        }
    }

    /// Sends the completion, and counts and logs the block.
    pub(super) async fn answer(
        self: Box<Self>,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
    ) -> Result<()> {
        Blocked {
            stage: self.stage,
            kind: self.kind,
            request_id: &ctx.request_id,
        }
        .emit(&snapshot.metrics);
        ctx.outcome = Outcome::Blocked;
        ctx.detail = Some(self.kind.as_str());
        let mut head = ResponseHeader::build(200, Some(6))?;
        if self.policy.block_details == BlockDetails::Header {
            head.insert_header(REPLACED, self.details())?;
        }
        if self.request.protocol.takes_advice() {
            head.insert_header(SHOULD_RETRY, "false")?;
        }
        let body = self.body();
        match self.request.form {
            BlockForm::Whole => {
                head.insert_header(CONTENT_TYPE, "application/json")?;
                respond::whole(session, ctx, head, body.into()).await
            }
            BlockForm::Stream { .. } => respond::stream(session, ctx, head, body.into()).await,
        }
    }

    /// The phrase in the client's form.
    fn body(&self) -> Vec<u8> {
        let RequestSummary {
            protocol,
            model,
            form,
            ..
        } = &self.request;
        let is_in_metadata = self.policy.block_details == BlockDetails::Metadata;
        let id = new_id();
        let answer = OwnAnswer {
            usage: self.usage.as_deref(),
            with_usage: *form == BlockForm::Stream { with_usage: true },
            monitor: is_in_metadata.then(|| self.monitor()),
            ..phrase_answer(&id, model, &self.policy)
        };
        match form {
            BlockForm::Whole => protocol.own_answer(&answer),
            BlockForm::Stream { .. } => protocol.own_stream(&answer),
        }
    }

    /// What the answer says of itself, `metadata.monitor`.
    fn monitor(&self) -> Value {
        json!({
            "response_replaced": true,
            "response_replacement": {
                "stage": self.stage.as_str(),
                "type": self.kind.as_str(),
                "request_id": self.request.request_id,
            },
            "prepared_response": self.verdict,
        })
    }

    /// The header's value. An id of the client's is percent-encoded, and left out where it is too long for one.
    fn details(&self) -> String {
        let (stage, kind) = (self.stage.as_str(), self.kind.as_str());
        let mut details = format!("stage={stage}; type={kind}");
        let id = percent_encoded(&self.request.request_id);
        if id.len() <= LONGEST_ID {
            details += "; request_id=";
            details += &id;
        }
        details
    }
}

/// The most bytes of a request's id in a header.
const LONGEST_ID: usize = 512;

/// A text in which every byte but letters, digits and `-._~` is written as `%XX` (RFC 3986 section 2.3).
fn percent_encoded(text: &str) -> String {
    let bytes = text.bytes().take(LONGEST_ID + 1);
    bytes.fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out += &format!("%{byte:02X}"),
        }
        out
    })
}

/// Flags, scores, types and counts. The backend's texts are left out: a masked message quotes the message,
/// and a reason may.
fn prepared_response(analysis: &AnalysisResponse) -> Value {
    let policies = analysis.custom_policy.policies.iter();
    let policies: Vec<Value> = policies
        .map(|policy| json!({"name": policy.name, "flagged": policy.flagged}))
        .collect();
    json!({
        "analysis_id": analysis.request_id,
        "status": analysis.status,
        "guardrails": {
            "flagged": analysis.guardrails.flagged,
            "score": analysis.guardrails.score,
            "categories": analysis.guardrails.categories,
        },
        "custom_policy": {"flagged": analysis.custom_policy.flagged, "policies": policies},
        "dataclean": {
            "flagged": analysis.dataclean.flagged,
            "types": analysis.dataclean.types,
        },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::gateway::docs::openapi_json;
    use monitor_model::AppMode;
    use monitor_wire::protocol::Chat;

    /// A call whose prompt had everything found in it.
    fn block(form: BlockForm, id: &str) -> Block {
        let analysis = json!({
            "request_id": uuid::Uuid::nil(), "schema_version": "2.0.0", "status": "success", "errors": ["quoted"],
            "tokens": {"count": 7, "usage_severity": null},
            "guardrails": {"flagged": true, "score": 0.5, "categories": [{"name": "c", "score": 0.5, "flagged": true}]},
            "custom_policy": {
                "flagged": true, "policies": [{"name": "p", "flagged": true, "reason": "quoted"}],
            },
            "dataclean": {"flagged": true, "cleaned_text": "quoted", "types": [{"type": "EMAILS", "count": 2}]},
        });
        let finding = Finding {
            kind: VerdictType::Dataclean,
            analysis: serde_json::from_value(analysis).unwrap(),
        };
        let request = RequestSummary {
            protocol: &Chat,
            model: "m".into(),
            request_id: id.into(),
            form,
        };
        let policy = Arc::new(Policy::new(AppMode::Sync, "Not here."));
        Block::by_verdict(Stage::PreCall, request, policy, &finding)
    }

    fn completion(usage: Option<&str>) -> Value {
        let mut block = block(BlockForm::Whole, "r");
        block.usage = usage.map(|usage| serde_json::from_str(usage).unwrap());
        serde_json::from_slice(&block.body()).unwrap()
    }

    #[test]
    fn section_2_4_a_block_is_a_completion_with_the_phrase_and_the_verdict() {
        let body = completion(None);
        assert_eq!(body["object"], "chat.completion");
        assert_eq!(body["model"], "m");
        assert_eq!(body["choices"][0]["message"]["content"], "Not here.");
        assert_eq!(body["choices"][0]["finish_reason"], "stop");
        assert_eq!(body["usage"]["total_tokens"], 0);
        let monitor = &body["metadata"]["monitor"];
        let replacement = json!({"stage": "pre_call", "type": "dataclean", "request_id": "r"});
        assert_eq!(monitor["response_replaced"], true);
        assert_eq!(monitor["response_replacement"], replacement);
        let prepared = &monitor["prepared_response"];
        assert_eq!(prepared["guardrails"]["categories"][0]["name"], "c");
        let policies = json!([{"name": "p", "flagged": true}]);
        assert_eq!(prepared["custom_policy"]["policies"], policies);
        assert_eq!(prepared["dataclean"]["types"][0]["count"], 2);
    }

    #[test]
    fn a_block_quotes_nothing_that_was_checked_and_keeps_the_upstreams_usage() {
        let body = completion(Some(r#"{"total_tokens":9}"#));
        assert!(!body.to_string().contains("quoted"), "{body}");
        assert_eq!(body["usage"], json!({"total_tokens": 9}));
    }

    #[test]
    fn contract_43_the_events_of_a_block_have_one_id_and_the_verdict_once() {
        for with_usage in [false, true] {
            let mut block = block(BlockForm::Stream { with_usage }, "r");
            block.usage = Some(serde_json::from_str(r#"{"total_tokens":9}"#).unwrap());
            let stream = String::from_utf8(block.body()).unwrap();
            let events = stream.strip_suffix("data: [DONE]\n\n").unwrap();
            let events = events.split_terminator("\n\n");
            let events: Vec<Value> = events
                .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
                .collect();
            assert_eq!(events.len(), 2 + usize::from(with_usage));
            assert!(events.iter().all(|event| event["id"] == events[0]["id"]));
            let delta = json!({"role": "assistant", "content": "Not here."});
            assert_eq!(events[0]["choices"][0]["delta"], delta);
            let monitor = &events[0]["metadata"]["monitor"];
            assert_eq!(monitor["response_replaced"], true);
            assert!(events[1].get("metadata").is_none());
            assert_eq!(events[1]["choices"][0]["finish_reason"], "stop");
            assert_eq!(events[0].get("usage").is_some(), with_usage);
            let last = events.last().unwrap();
            assert!(!with_usage || last["usage"] == json!({"total_tokens": 9}));
        }
    }

    #[test]
    fn the_openapi_document_shows_the_stream_of_a_block() {
        let events = |stream: &str| -> Vec<Value> {
            let events = stream.strip_suffix("data: [DONE]\n\n").unwrap();
            let events = events.split_terminator("\n\n");
            let events = events.map(|event| event.strip_prefix("data: ").unwrap());
            events
                .map(|event| serde_json::from_str(event).unwrap())
                .collect()
        };
        let document: Value = serde_json::from_slice(openapi_json()).unwrap();
        let example = &document["components"]["examples"]["StreamBlocked"]["value"];
        let shown = events(example.as_str().unwrap());
        let answer = OwnAnswer {
            id: shown[0]["id"].as_str().unwrap(),
            created: shown[0]["created"].as_u64().unwrap(),
            model: shown[0]["model"].as_str().unwrap(),
            text: shown[0]["choices"][0]["delta"]["content"].as_str().unwrap(),
            usage: None,
            with_usage: true,
            monitor: Some(shown[0]["metadata"]["monitor"].clone()),
        };
        let sent = Chat.own_stream(&answer);
        assert_eq!(events(std::str::from_utf8(&sent).unwrap()), shown);
    }

    #[test]
    fn an_id_of_the_clients_cannot_add_to_the_header() {
        let details = |id: &str| block(BlockForm::Whole, id).details();
        let known = "stage=pre_call; type=dataclean";
        assert_eq!(details("mine-7"), format!("{known}; request_id=mine-7"));
        let odd = details("a; b\r\nX: \u{e9}");
        assert_eq!(
            odd,
            format!("{known}; request_id=a%3B%20b%0D%0AX%3A%20%C3%A9")
        );
        assert_eq!(details(&"x".repeat(513)), known);
        assert_eq!(details(&" ".repeat(171)), known);
    }
}
