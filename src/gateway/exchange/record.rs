//! The two registrations of one exchange (§1.2, CONTRACT 3, 5, 7, 11, 17).

use super::capture::Captured;
use crate::backend::{CallFailure, ClosedBy, FileList, Record, RecordContext};
use crate::config::{OnDiskFailure, SpoolSettings};
use crate::gateway::Shared;
use crate::gateway::attachments;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers::Extensions;
use crate::observe::VerdictType;
use crate::spool::Receipt;
use crate::spool::{Lease, Spool};
use monitor_model::{ErrorType, ExchangeId, Stage};
use pingora_core::protocols::http::ServerSession;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// How long a call waits for a disk that refuses.
const DISK_PATIENCE: Duration = Duration::from_secs(2);

/// An exchange and who it is for. Empty where nobody wants to know: no backend and no policies.
pub(super) struct Registration(Option<Open>);

struct Open {
    spool: Option<Spool>,
    /// The latest record taken.
    receipt: AtomicU64,
    context: Arc<RecordContext>,
    unchecked: bool,
    replaced: Option<VerdictType>,
    files: Option<Arc<FileList>>,
}

impl Open {
    fn with_spool(&self) -> Option<(&Self, &Spool)> {
        Some((self, self.spool.as_ref()?))
    }
}

impl Registration {
    /// Begins an exchange; nothing is registered yet.
    pub(super) fn open(shared: &Shared, session: &ServerSession, ctx: &mut CallContext) -> Self {
        if shared.telemetry.is_none() && shared.policies.is_none() {
            return Self(None);
        }
        let Some(access_key) = ctx.key.take() else {
            return Self(None);
        };
        let headers = &session.req_header().headers;
        let said = Extensions::of(headers);
        let fallback = || {
            shared
                .settings
                .monitor
                .application_id
                .map(|id| id.to_string())
        };
        let context = Arc::new(RecordContext {
            exchange: ExchangeId::random(),
            access_key,
            application_id: said.application_id.or_else(fallback),
            user_id: said.user_id,
            session_id: said.session_id,
            trace: ctx.told.as_ref().and_then(|told| told.trace()),
        });
        Self(Some(Open {
            spool: shared.telemetry.clone(),
            receipt: AtomicU64::new(0),
            context,
            unchecked: false,
            replaced: None,
            files: attachments::list(headers, &ctx.request_id),
        }))
    }

    /// X-Application-Id or MONITOR_APPLICATION_ID, as given.
    pub(super) fn application_id(&self) -> Option<&str> {
        self.0.as_ref()?.context.application_id.as_deref()
    }

    /// The exchange's id (CONTRACT 5).
    pub(super) fn exchange(&self) -> ExchangeId {
        let open = self.0.as_ref();
        open.map_or_else(ExchangeId::random, |open| open.context.exchange)
    }

    /// Whether anybody wants the answer.
    pub(super) fn wanted(&self) -> bool {
        self.0.as_ref().is_some_and(|open| open.spool.is_some())
    }

    /// From now on the exchange's records say that it went on without a verdict (CONTRACT 13).
    pub(super) fn goes_unchecked(&mut self) {
        if let Some(open) = &mut self.0 {
            open.unchecked = true;
        }
    }

    /// Marks the answer that is registered next as ended with the policy's phrase (CONTRACT 41).
    pub(super) fn set_replaced(&mut self, kind: VerdictType) {
        if let Some(open) = &mut self.0 {
            open.replaced = Some(kind);
        }
    }

    /// Registers the prompt: accepted by the spool before the upstream call starts.
    /// At most `limit` bytes of it are kept.
    pub(super) fn pre_call(&self, limit: u64, prompt: impl FnOnce() -> String) {
        if self.wanted() {
            self.post(Stage::PreCall, bounded(prompt(), limit), None);
        }
    }

    /// Waits until what was registered so far is on disk (`spool.durability: before_upstream`).
    ///
    /// # Errors
    /// [`CallError::Unregistered`] when the disk refuses and the setting is `closed`.
    pub(super) async fn wait_until_on_disk(
        &self,
        settings: &SpoolSettings,
    ) -> Result<(), CallError> {
        let Some((open, spool)) = self.0.as_ref().and_then(Open::with_spool) else {
            return Ok(());
        };
        let receipt = Receipt(open.receipt.load(Ordering::Relaxed));
        let closed = settings.on_disk_failure == OnDiskFailure::Closed;
        let written = async {
            tokio::select! {
                biased;
                () = spool.wait_durable(receipt) => true,
                // Known to refuse: who is let go on without it waits for nothing.
                () = spool.wait_degraded(), if !closed => false,
            }
        };
        let written = timeout(DISK_PATIENCE, written).await;
        if written.is_err() {
            spool.mark_degraded();
        }
        match written {
            Err(_) if closed => Err(CallError::Unregistered),
            _ => Ok(()),
        }
    }

    /// Registers the answer, whole or with what went wrong.
    pub(super) fn post_call(self, answer: Captured, failure: Option<CallFailure>) {
        self.post(Stage::PostCall, answer, failure);
    }

    /// Registers a call that got no answer at all.
    pub(super) fn post_call_failed(self, error: &CallError) {
        let nothing = Captured {
            text: String::new(),
            incomplete: true,
            heard: None,
        };
        self.post_call(nothing, Some(failure_of(error)));
    }

    /// A record of this exchange, not registered; None where there is no exchange to speak of.
    pub(super) fn record(&self, stage: Stage, said: Captured) -> Option<Record> {
        let open = self.0.as_ref()?;
        Some(Record {
            stage,
            context: open.context.clone(),
            message: said.text,
            incomplete: said.incomplete,
            unchecked: open.unchecked,
            replaced: open.replaced,
            failure: None,
            files: open.files.clone().filter(|_| stage == Stage::PreCall),
            chain: None,
        })
    }

    /// Registers a record without waiting.
    pub(super) fn push(&self, record: Record) {
        if let Some((open, spool)) = self.0.as_ref().and_then(Open::with_spool) {
            let receipt = spool.push(record);
            open.receipt.store(receipt.0, Ordering::Relaxed);
        }
    }

    /// Takes a record that a call of its own is about to deliver; None where nobody wants it.
    pub(super) fn hold(&self, record: Record) -> Option<Lease> {
        let (_, spool) = self.0.as_ref().and_then(Open::with_spool)?;
        Some(spool.lease(record))
    }

    /// Registers a record whose own call came to nothing.
    pub(super) fn give_back(&self, held: Lease) {
        let receipt = held.release();
        if let Some(open) = &self.0 {
            open.receipt.store(receipt.0, Ordering::Relaxed);
        }
    }

    fn post(&self, stage: Stage, said: Captured, failure: Option<CallFailure>) {
        if let Some(mut record) = self.record(stage, said) {
            record.failure = failure;
            self.push(record);
        }
    }
}

/// What the record says of a call that failed before its answer began (CONTRACT 17).
pub(super) fn failure_of(error: &CallError) -> CallFailure {
    let answer = error.answer();
    CallFailure {
        kind: answer
            .as_ref()
            .map_or(ErrorType::GatewayError, |answer| answer.kind)
            .as_str()
            .into(),
        code: answer.as_ref().map_or(0, |answer| answer.status),
        message: answer.map_or_else(
            || "the client left before the answer".into(),
            |answer| answer.message,
        ),
        closed_by: match error {
            CallError::ClientGone => ClosedBy::Client,
            CallError::Connect(_)
            | CallError::Unchecked
            | CallError::Unregistered
            | CallError::Overloaded(_) => ClosedBy::Gateway,
            _ => ClosedBy::Upstream,
        },
    }
}

/// The text, cut at a character where it is over `limit` bytes.
fn bounded(mut text: String, limit: u64) -> Captured {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let incomplete = text.len() > limit;
    text.truncate(text.floor_char_boundary(limit));
    Captured {
        text,
        incomplete,
        heard: None,
    }
}
