//! The synthesized completion that replaces an answer (§2.4, CONTRACT 12, 15). It carries the verdict, and
//! never the text that was checked.

use super::verdict::Finding;
use crate::gateway::context::CallContext;
use crate::gateway::respond;
use crate::gateway::state::Snapshot;
use crate::observe::Outcome;
use crate::observe::events::Blocked;
use http::header::CONTENT_TYPE;
use monitor_model::{AnalysisResponse, ExchangeId, Policy, Stage};
use monitor_wire::json::Chat;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_http::ResponseHeader;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// The parts of a request that appear in its synthesized answer.
pub(super) struct RequestSummary {
    model: String,
    request_id: String,
}

/// A call whose answer is the policy's phrase.
pub(super) struct Block {
    pub(super) stage: Stage,
    pub(super) request: RequestSummary,
    pub(super) policy: Arc<Policy>,
    pub(super) finding: Box<Finding>,
    /// The upstream's `usage`, where the upstream was called.
    pub(super) usage: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Completion<'a> {
    id: String,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    usage: Usage<'a>,
    metadata: Value,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    message: Message<'a>,
    finish_reason: &'static str,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Usage<'a> {
    Upstream(&'a RawValue),
    None {
        prompt_tokens: u32,
        completion_tokens: u32,
        total_tokens: u32,
    },
}

impl RequestSummary {
    /// The id is the client's `metadata.request_id`, else that of the exchange.
    pub(super) fn new(chat: Chat<'_>, exchange: ExchangeId) -> Self {
        Self {
            model: chat.model().unwrap_or_else(|| "unknown".into()),
            request_id: chat.request_id().unwrap_or_else(|| exchange.to_string()),
        }
    }
}

impl Block {
    /// Sends the completion, and counts and logs the block.
    pub(super) async fn answer(
        self: Box<Self>,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
    ) -> Result<()> {
        Blocked {
            stage: self.stage,
            kind: self.finding.kind,
            request_id: &ctx.request_id,
        }
        .emit(&snapshot.metrics);
        ctx.outcome = Outcome::Blocked;
        ctx.detail = Some(self.finding.kind.as_str());
        let mut head = ResponseHeader::build(200, Some(4))?;
        head.insert_header(CONTENT_TYPE, "application/json")?;
        respond::whole(session, ctx, head, self.body().into()).await
    }

    fn body(&self) -> Vec<u8> {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let completion = Completion {
            id: format!("monitor-guardrails-{}", Uuid::new_v4()),
            object: "chat.completion",
            created: since_epoch.map_or(0, |time| time.as_secs()),
            model: &self.request.model,
            choices: [Choice {
                index: 0,
                message: Message {
                    role: "assistant",
                    content: &self.policy.phrase,
                },
                finish_reason: "stop",
            }],
            usage: match &self.usage {
                Some(usage) => Usage::Upstream(usage),
                None => Usage::None {
                    prompt_tokens: 0,
                    completion_tokens: 0,
                    total_tokens: 0,
                },
            },
            metadata: self.metadata(),
        };
        // Strings, numbers and checked JSON only, so serialization cannot fail.
        serde_json::to_vec(&completion).unwrap_or_default()
    }

    fn metadata(&self) -> Value {
        json!({"monitor": {
            "response_replaced": true,
            "response_replacement": {
                "stage": self.stage.as_str(),
                "type": self.finding.kind.as_str(),
                "request_id": self.request.request_id,
            },
            "prepared_response": prepared_response(&self.finding.analysis),
        }})
    }
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
    use crate::observe::VerdictType;
    use monitor_model::AppMode;

    /// The completion for a prompt in which everything was found.
    fn completion(usage: Option<&str>) -> Value {
        let analysis = json!({
            "request_id": Uuid::nil(), "schema_version": "2.0.0", "status": "success", "errors": ["quoted"],
            "tokens": {"count": 7, "usage_severity": null},
            "guardrails": {"flagged": true, "score": 0.5, "categories": [{"name": "c", "score": 0.5, "flagged": true}]},
            "custom_policy": {
                "flagged": true, "policies": [{"name": "p", "flagged": true, "reason": "quoted"}],
            },
            "dataclean": {"flagged": true, "cleaned_text": "quoted", "types": [{"type": "EMAILS", "count": 2}]},
        });
        let block = Block {
            stage: Stage::PreCall,
            request: RequestSummary {
                model: "m".into(),
                request_id: "r".into(),
            },
            policy: Arc::new(Policy::new(AppMode::Sync, "Not here.")),
            finding: Box::new(Finding {
                kind: VerdictType::Dataclean,
                analysis: serde_json::from_value(analysis).unwrap(),
            }),
            usage: usage.map(|usage| serde_json::from_str(usage).unwrap()),
        };
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
}
