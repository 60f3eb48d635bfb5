//! Post-call replacement (CONTRACT 15, `replace_response`): the answer is held until its check is
//! done and passes byte for byte, or is replaced (§2.4). Only sync mode comes here.

use super::block::{Block, Requested};
use super::call::Answering;
use super::capture::{self, Whole};
use super::check::{Check, Checked, Finding, no_verdict};
use super::collect::{Collected, Failed, collect, has_words};
use super::record::Registration;
use super::relay::{self, Answer};
use super::restored::Restore;
use super::transform::Transform;
use crate::gateway::Shared;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::{headers, respond};
use crate::observe::UncheckedReason;
use bytes::Bytes;
use monitor_model::{OnBackendFailure, Policy, Stage};
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_http::ResponseHeader;
use serde_json::value::RawValue;
use std::sync::Arc;

/// What it takes to replace an answer.
pub(super) struct Replace {
    pub(super) requested: Requested,
    pub(super) policy: Arc<Policy>,
    /// Present where the prompt was redacted (CONTRACT 41).
    pub(super) restore: Option<Restore>,
}

impl Replace {
    /// Collects, checks, and answers the client.
    pub(super) async fn response_body(
        self: Box<Self>,
        shared: &Shared,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        (mut upstream, registration): (Answering, Registration),
    ) -> Result<()> {
        let head = upstream.head().filter(|head| has_words(head)).cloned();
        let Some(head) = head else {
            let answer = Answer::as_it_is(upstream, registration);
            return relay::response_body(shared, session, ctx, answer).await;
        };
        match collect(shared, session, ctx, &mut upstream).await {
            Collected::Whole(body) => {
                upstream.release().await;
                let held = self.held(shared, registration, (head, body));
                held.check(shared, session, ctx).await
            }
            Collected::TooLarge(body) => {
                upstream.put_back(body.into());
                self.unchecked(shared, session, ctx, (upstream, registration))
                    .await
            }
            Collected::Failed(body, error) => {
                let failed = Failed {
                    upstream,
                    registration,
                    head,
                    body,
                    error,
                };
                failed.answer(shared, session, ctx).await
            }
        }
    }

    /// An answer that is there, with its values where the prompt was redacted.
    fn held(
        self: Box<Self>,
        shared: &Shared,
        registration: Registration,
        (mut head, body): (ResponseHeader, Vec<u8>),
    ) -> Held {
        let body = match &self.restore {
            None => body.into(),
            Some(restore) => restore.whole(shared, &mut head, body),
        };
        Held {
            replace: self,
            registration,
            head,
            body,
        }
    }

    /// Too much to hold: passes as in async mode, or not at all.
    async fn unchecked(
        self,
        shared: &Shared,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        (upstream, mut registration): (Answering, Registration),
    ) -> Result<()> {
        let detail = "the answer is larger than limits.recorded_bytes";
        let reason = UncheckedReason::Unreadable;
        no_verdict(&shared.metrics, &self.policy, reason, detail);
        if self.policy.on_backend_failure == OnBackendFailure::Closed {
            upstream.abandon();
            registration.post_call_failed(&CallError::Unchecked);
            return respond::error(session, ctx, &CallError::Unchecked).await;
        }
        ctx.detail = Some("unchecked");
        registration.goes_unchecked();
        let restore = self
            .restore
            .map(|restore| restore.relayed(shared, &upstream));
        let answer = Answer {
            upstream,
            registration,
            transform: restore.unwrap_or(Transform::None),
        };
        relay::response_body(shared, session, ctx, answer).await
    }
}

/// A whole answer that the client has not seen.
struct Held {
    replace: Box<Replace>,
    registration: Registration,
    head: ResponseHeader,
    body: Bytes,
}

impl Held {
    async fn check(
        self,
        shared: &Shared,
        session: &mut ServerSession,
        ctx: &mut CallContext,
    ) -> Result<()> {
        let limit = shared.settings.limits.recorded_bytes;
        let wanted = (limit, ctx.listens());
        let Whole { mut said, usage } = capture::whole(&self.head, &self.body, wanted);
        ctx.heard(said.heard.take());
        let readable = !said.incomplete;
        let policy = &self.replace.policy;
        let mut record = self.registration.record(Stage::PostCall, said);
        if let Some(record) = &mut record {
            // A verdict on a part is none on the whole, and the record leaves with the check.
            record.unchecked |= !readable && policy.on_backend_failure == OnBackendFailure::Open;
        }
        let check = Check {
            policy,
            registration: &self.registration,
            record,
        };
        match check.run(shared, session, ctx).await {
            Checked::Passed if readable => self.pass(session, ctx).await,
            Checked::Passed => {
                let detail = "the answer cannot be read whole";
                let reason = UncheckedReason::Unreadable;
                no_verdict(&shared.metrics, policy, reason, detail);
                self.unchecked(session, ctx).await
            }
            Checked::Flagged(finding) => {
                let block = self.block(finding, usage);
                block.answer(shared, session, ctx).await
            }
            Checked::Unknown | Checked::Late => self.unchecked(session, ctx).await,
            Checked::KeyRefused => respond::error(session, ctx, &CallError::KeyRefused).await,
            Checked::ClientGone => respond::error(session, ctx, &CallError::ClientGone).await,
        }
    }

    /// The phrase in its place.
    fn block(self, finding: Box<Finding>, usage: Option<Box<RawValue>>) -> Box<Block> {
        Box::new(Block {
            stage: Stage::PostCall,
            requested: self.replace.requested,
            policy: self.replace.policy,
            finding,
            usage,
        })
    }

    async fn unchecked(self, session: &mut ServerSession, ctx: &mut CallContext) -> Result<()> {
        if self.replace.policy.on_backend_failure == OnBackendFailure::Closed {
            return respond::error(session, ctx, &CallError::Unchecked).await;
        }
        ctx.detail = Some("unchecked");
        self.pass(session, ctx).await
    }

    async fn pass(mut self, session: &mut ServerSession, ctx: &mut CallContext) -> Result<()> {
        // The whole body is here, so it goes by length whatever the upstream's framing was.
        headers::for_client(&mut self.head, http::Version::HTTP_10, &ctx.request_id)?;
        respond::whole(session, ctx, self.head, self.body).await
    }
}
