//! The synthesized completion that replaces an answer (§2.4, CONTRACT 12, 15). It carries the verdict, and
//! never the text that was checked.

mod body;

pub(super) use body::BlockForm;

use super::verdict::Finding;
use crate::gateway::context::CallContext;
use crate::gateway::headers::REPLACED;
use crate::gateway::respond;
use crate::gateway::state::Snapshot;
use crate::observe::events::Blocked;
use crate::observe::{Outcome, VerdictType};
use body::BlockBody;
use http::header::CONTENT_TYPE;
use monitor_model::{AnalysisResponse, BlockDetails, ExchangeId, Policy, Stage};
use monitor_wire::json::Chat;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_http::ResponseHeader;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;

/// The parts of a request that appear in its synthesized answer.
pub(super) struct RequestSummary {
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
    pub(super) fn new(chat: Chat<'_>, exchange: ExchangeId, form: BlockForm) -> Self {
        Self {
            model: chat.model().unwrap_or_else(|| "unknown".into()),
            request_id: chat.request_id().unwrap_or_else(|| exchange.to_string()),
            form,
        }
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
        match self.request.form {
            BlockForm::Completion => {
                head.insert_header(CONTENT_TYPE, "application/json")?;
                respond::whole(session, ctx, head, self.body().completion().into()).await
            }
            BlockForm::Stream { with_usage } => {
                let events = self.body().events(with_usage);
                respond::stream(session, ctx, head, events.into()).await
            }
        }
    }

    fn body(&self) -> BlockBody<'_> {
        let is_in_metadata = self.policy.block_details == BlockDetails::Metadata;
        BlockBody {
            model: &self.request.model,
            phrase: &self.policy.phrase,
            usage: self.usage.as_deref(),
            monitor: is_in_metadata.then(|| self.monitor()),
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
    use monitor_model::AppMode;

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
            model: "m".into(),
            request_id: id.into(),
            form,
        };
        let policy = Arc::new(Policy::new(AppMode::Sync, "Not here."));
        Block::by_verdict(Stage::PreCall, request, policy, &finding)
    }

    fn completion(usage: Option<&str>) -> Value {
        let mut block = block(BlockForm::Completion, "r");
        block.usage = usage.map(|usage| serde_json::from_str(usage).unwrap());
        serde_json::from_slice(&block.body().completion()).unwrap()
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
        let mut block = block(BlockForm::Completion, "r");
        block.usage = Some(serde_json::from_str(r#"{"total_tokens":9}"#).unwrap());
        for with_usage in [false, true] {
            let stream = String::from_utf8(block.body().events(with_usage)).unwrap();
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
    fn an_id_of_the_clients_cannot_add_to_the_header() {
        let details = |id: &str| block(BlockForm::Completion, id).details();
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
