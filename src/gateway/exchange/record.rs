//! Registers one exchange with the backend (§1.2, CONTRACT 3, 5, 7, 11, 17): the prompt before the upstream
//! call, the answer after it.

use super::capture::Captured;
use super::named_user;
use crate::backend::{CallFailure, ClosedBy, FileList, Record, RecordContext};
use crate::config::{OnDiskFailure, SpoolSettings};
use crate::gateway::attachments;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers::{self, Extensions};
use crate::gateway::state::Snapshot;
use crate::gateway::upstream::ModelServer;
use crate::observe::VerdictType;
use crate::spool::Receipt;
use crate::spool::{Lease, Spool};
use monitor_model::{ApplicationId, CallFacts, ErrorType, ExchangeId, Stage, model_name};
use monitor_wire::json::{CallTexts, Prompt, Request};
use monitor_wire::sse::Usage;
use pingora_core::protocols::http::ServerSession;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long a call waits for a failing disk.
const DISK_WAIT: Duration = Duration::from_secs(2);

/// Registers one exchange. Empty without a backend and policies: nothing is registered then.
pub(super) struct Registration(Option<Open>);

struct Open {
    spool: Option<Spool>,
    /// The receipt of the latest record in the spool.
    receipt: AtomicU64,
    context: Arc<RecordContext>,
    unchecked: bool,
    replaced: Option<VerdictType>,
    is_stored_response: bool,
    calls: CallTexts,
    files: Option<Arc<FileList>>,
    /// The model that the request asks for.
    model: Option<String>,
    /// When the call began.
    begun: Instant,
    /// The model server that answers.
    server: Option<Arc<ModelServer>>,
    /// The status of its answer.
    status: Option<u16>,
    /// From the beginning to the first byte of the answer.
    first_byte: Option<Duration>,
    /// The address of the client, if it is recorded.
    client: Option<IpAddr>,
}

impl Open {
    fn with_spool(&self) -> Option<(&Self, &Spool)> {
        Some((self, self.spool.as_ref()?))
    }

    /// What is known of the call when its record is made.
    fn facts(&self, stage: Stage) -> Option<CallFacts> {
        let client = CallFacts {
            client_address: self.client,
            ..CallFacts::default()
        };
        match stage {
            Stage::PreCall => self.client.map(|_| client),
            Stage::PostCall => Some(CallFacts {
                provider: self.server.as_ref().map(|server| server.provider()),
                status: self.status,
                latency_ms: Some(millis(self.begun.elapsed())),
                first_byte_ms: self.first_byte.map(millis),
                ..client
            }),
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Registration {
    /// That of a call of which nothing is registered.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Opens an exchange; nothing is registered yet. Only a monitored call has a request that is read.
    pub(super) fn open(
        snapshot: &Snapshot,
        session: &ServerSession,
        ctx: &mut CallContext,
        request: Option<Request<'_>>,
    ) -> Self {
        if snapshot.spool.is_none() && snapshot.policies.is_none() {
            return Self(None);
        }
        let Some(access_key) = ctx.access_key.take() else {
            return Self(None);
        };
        let head = &session.req_header().headers;
        let ids = Extensions::of(head);
        let context = Arc::new(RecordContext {
            exchange: ExchangeId::random(),
            access_key,
            application_id: ctx.application_id(ids.application_id),
            user_id: ids
                .user_id
                .or_else(|| named_user::of(ctx.protocol, request?)),
            session_id: ids.session_id.or_else(|| {
                let named = ctx.protocol.session_header();
                headers::id(head, named?)
            }),
            trace: ctx.trace.as_ref().and_then(|trace| trace.context()),
        });
        Self(Some(Open {
            spool: snapshot.spool.clone(),
            receipt: AtomicU64::new(0),
            context,
            unchecked: false,
            replaced: None,
            is_stored_response: false,
            calls: CallTexts::Whole,
            files: attachments::list(head, &ctx.request_id),
            model: request.and_then(asked_model),
            begun: ctx.clock.started(),
            server: None,
            status: None,
            first_byte: None,
            client: ctx
                .client
                .filter(|_| snapshot.settings.monitor.record_client_address),
        }))
    }

    /// X-Application-Id or MONITOR_APPLICATION_ID, unparsed.
    pub(super) fn application_id(&self) -> Option<&str> {
        self.0.as_ref()?.context.application_id.as_deref()
    }

    /// The same as an id, for the log.
    pub(super) fn application(&self) -> Option<ApplicationId> {
        self.application_id()?.parse().ok()
    }

    /// The exchange's id (CONTRACT 5).
    pub(super) fn exchange(&self) -> ExchangeId {
        let open = self.0.as_ref();
        open.map_or_else(ExchangeId::random, |open| open.context.exchange)
    }

    /// Whether the answer is registered.
    pub(super) fn wants_answer(&self) -> bool {
        self.0.as_ref().is_some_and(|open| open.spool.is_some())
    }

    /// What the policy has checked of calls of tools.
    pub(super) fn calls(&self) -> CallTexts {
        self.0.as_ref().map(|open| open.calls).unwrap_or_default()
    }

    /// Sets what the policy has checked of calls of tools.
    pub(super) fn set_calls(&mut self, calls: CallTexts) {
        if let Some(open) = &mut self.0 {
            open.calls = calls;
        }
    }

    /// Marks further records of the exchange as forwarded without a verdict (CONTRACT 13).
    pub(super) fn set_unchecked(&mut self) {
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

    /// Marks the answer as one that the model server keeps, and whose call was counted when it was made.
    pub(super) fn set_stored_response(&mut self) {
        if let Some(open) = &mut self.0 {
            open.is_stored_response = true;
        }
    }

    /// Notes the model server that answers.
    pub(super) fn set_server(&mut self, server: &Arc<ModelServer>) {
        if let Some(open) = &mut self.0 {
            open.server = Some(server.clone());
        }
    }

    /// Notes the status of the answer.
    pub(super) fn set_status(&mut self, status: u16) {
        if let Some(open) = &mut self.0 {
            open.status = Some(status).filter(|status| *status >= 100);
        }
    }

    /// Notes how long the first byte of the answer took.
    pub(super) fn set_first_byte(&mut self, after: Option<Duration>) {
        if let Some(open) = &mut self.0 {
            open.first_byte = after;
        }
    }

    /// Registers at most `limit` bytes of the prompt. The spool has accepted it when this returns, before the
    /// upstream call starts.
    pub(super) fn pre_call(&self, limit: u64, prompt: impl FnOnce() -> Prompt) {
        if self.wants_answer() {
            self.post(Stage::PreCall, Captured::of_prompt(prompt(), limit), None);
        }
    }

    /// Waits until all records so far are on disk (`spool.durability: before_upstream`).
    ///
    /// # Errors
    /// [`CallError::Unregistered`] when the disk fails and `spool.on_disk_failure` is `closed`.
    pub(super) async fn wait_until_on_disk(
        &self,
        settings: &SpoolSettings,
    ) -> Result<(), CallError> {
        let Some((open, spool)) = self.0.as_ref().and_then(Open::with_spool) else {
            return Ok(());
        };
        let receipt = Receipt(open.receipt.load(Ordering::Relaxed));
        let closed = settings.on_disk_failure == OnDiskFailure::Closed;
        if receipt.is_over_share() {
            return match closed {
                true => Err(CallError::Unregistered),
                false => Ok(()),
            };
        }
        let written = async {
            tokio::select! {
                biased;
                () = spool.wait_durable(receipt) => true,
                // A disk that is known to fail is not waited for, where the call may go on without it.
                () = spool.wait_degraded(), if !closed => false,
            }
        };
        let written = timeout(DISK_WAIT, written).await;
        if written.is_err() {
            spool.mark_degraded();
        }
        match written {
            Err(_) if closed => Err(CallError::Unregistered),
            _ => Ok(()),
        }
    }

    /// Registers the answer, or the part of it before a failure.
    pub(super) fn post_call(self, answer: Captured, failure: Option<CallFailure>) {
        self.post(Stage::PostCall, answer, failure);
    }

    /// Registers a call that got no answer.
    pub(super) fn post_call_failed(self, error: &CallError) {
        let empty = Captured {
            incomplete: true,
            ..Captured::default()
        };
        self.post_call(empty, Some(failure_of(error)));
    }

    /// A record of this exchange that is not registered yet; None where the exchange is not registered.
    pub(super) fn record(&self, stage: Stage, captured: Captured) -> Option<Record> {
        let open = self.0.as_ref()?;
        let mut tools = captured
            .tools
            .within(room_for_tools(captured.part_breaks.len()));
        tools.are_unchecked = stage == Stage::PostCall && !open.calls.have_arguments();
        let model = match stage {
            Stage::PreCall => None,
            Stage::PostCall => captured.model.or_else(|| open.model.clone()),
        };
        Some(Record {
            stage,
            context: open.context.clone(),
            message: Arc::new(captured.text),
            tools,
            part_breaks: captured.part_breaks,
            incomplete: captured.incomplete,
            unchecked: open.unchecked,
            replaced: open.replaced,
            failure: None,
            files: open.files.clone().filter(|_| stage == Stage::PreCall),
            model,
            usage: captured.usage.map(Usage::tokens).unwrap_or_default(),
            is_stored_response: open.is_stored_response && stage == Stage::PostCall,
            call: open.facts(stage),
            chain: None,
        })
    }

    /// Puts a record into the spool without waiting for the disk.
    pub(super) fn push(&self, record: Record) {
        if let Some((open, spool)) = self.0.as_ref().and_then(Open::with_spool) {
            let receipt = spool.push(record);
            open.receipt.store(receipt.0, Ordering::Relaxed);
        }
    }

    /// Leases a record to a check that delivers it itself; None without a spool.
    pub(super) fn lease(&self, record: Record) -> Option<Lease> {
        let (_, spool) = self.0.as_ref().and_then(Open::with_spool)?;
        Some(spool.lease(record))
    }

    /// Registers a leased record that its check has not delivered.
    pub(super) fn release(&self, lease: Lease) {
        let receipt = lease.release();
        if let Some(open) = &self.0 {
            open.receipt.store(receipt.0, Ordering::Relaxed);
        }
    }

    fn post(&self, stage: Stage, captured: Captured, failure: Option<CallFailure>) {
        if let Some(mut record) = self.record(stage, captured) {
            if let (Some(call), Some(failure)) = (&mut record.call, &failure) {
                // A failure before the answer has a status of its own; a client that has left got none.
                let own = Some(failure.code).filter(|code| *code >= 100);
                call.status = call.status.or(own);
            }
            record.failure = failure;
            self.push(record);
        }
    }
}

fn asked_model(request: Request<'_>) -> Option<String> {
    let mut model = request.model()?;
    let length = model_name(&model)?.len();
    model.truncate(length);
    Some(model)
}

/// Bytes of `additional_parameters` that are left for calls and results of tools beside so many places: a backend refuses
/// more than 64 KiB, and counts eight for a number.
fn room_for_tools(part_breaks: usize) -> usize {
    const TOGETHER: usize = 56 << 10;
    TOGETHER.saturating_sub(size_of::<u64>() * part_breaks)
}

/// The failure in the record of a call that failed before its answer began (CONTRACT 17).
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
