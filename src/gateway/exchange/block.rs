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
