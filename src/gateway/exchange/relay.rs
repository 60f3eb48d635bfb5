//! The answer on its way to the client: each chunk at once and untouched (CONTRACT 18), heartbeats
//! into silence, and the ways an answer can end badly (CONTRACT 19 to 21). What is rare, or comes once at
//! the end, is boxed: the future of a stream is held for as long as the stream.

use super::call::Answering;
use super::capture::{Capture, Layout, Wanted};
use super::record::Registration;
use super::transform::{Stop, Transform};
use super::{client_gone, refusal};
use crate::backend::{CallFailure, ClosedBy};
use crate::gateway::Shared;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::{headers, respond};
use crate::observe::events::{Blocked, HeartbeatSent};
use crate::observe::{Outcome, VerdictType};
use bytes::Bytes;
use monitor_model::{ErrorType, Stage};
use monitor_wire::sse;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_http::ResponseHeader;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};
use tokio::time::{Sleep, sleep};

/// How the body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Complete,
    ClientGone,
    /// The upstream said nothing for longer than GATEWAY_UPSTREAM_TIMEOUT.
    Silent,
    /// The upstream's connection broke.
    Broken,
    /// The gateway ended it.
    Stopped(Stop),
}

/// An answer to relay.
pub(super) struct Answer {
    pub(super) upstream: Answering,
    pub(super) registration: Registration,
    pub(super) transform: Transform,
}

impl Answer {
    /// One that passes as it comes.
    pub(super) fn as_it_is(upstream: Answering, registration: Registration) -> Self {
        Self {
            upstream,
            registration,
            transform: Transform::None,
        }
    }
}

/// Relays head and body, registers what was said, keeps or closes both connections.
pub(super) async fn response_body(
    shared: &Shared,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    answer: Answer,
) -> Result<()> {
    let (upstream, registration) = (answer.upstream, answer.registration);
    let mut transform = answer.transform;
    let Some(mut head) = upstream.head().cloned() else {
        registration.post_call_failed(&CallError::Broken("no head"));
        ctx.cut = true;
        return Ok(());
    };
    if head.status.as_u16() >= 400 {
        return Box::pin(refusal::relay(session, ctx, (upstream, head), registration)).await;
    }
    let layout = Layout::of(&head);
    if let Err(error) = transform.begin(layout) {
        return Box::pin(refuse(session, ctx, (upstream, registration), error)).await;
    }
    let capture = capture(shared, ctx, &head, &registration);
    ctx.status = head.status.as_u16();
    headers::for_client(&mut head, session.req_header().version, &ctx.request_id)?;
    let mut relay = Relay {
        shared,
        session,
        ctx,
        upstream,
        capture,
        transform,
        border: sse::Border::default(),
        layout,
        last_sent: Instant::now(),
    };
    let end = match relay.session.write_response_header(Box::new(head)).await {
        Ok(()) => relay.body().await,
        Err(_) => End::ClientGone,
    };
    relay.close(end, registration).await
}

/// What is kept of the answer as it passes.
fn capture(
    shared: &Shared,
    ctx: &CallContext,
    head: &ResponseHeader,
    registration: &Registration,
) -> Capture {
    let limit = shared.settings.limits.recorded_bytes;
    let wanted = Wanted {
        record: registration.wanted(),
        heard: ctx.listens(),
    };
    Capture::new(head, wanted, limit, &shared.memory)
}

/// Nothing of the answer may pass.
async fn refuse(
    session: &mut ServerSession,
    ctx: &mut CallContext,
    (upstream, registration): (Answering, Registration),
    error: CallError,
) -> Result<()> {
    upstream.abandon();
    registration.post_call_failed(&error);
    respond::error(session, ctx, &error).await
}

struct Relay<'a> {
    shared: &'a Shared,
    session: &'a mut ServerSession,
    ctx: &'a mut CallContext,
    upstream: Answering,
    capture: Capture,
    transform: Transform,
    /// Where the client's stream stands.
    border: sse::Border,
    layout: Layout,
    last_sent: Instant,
}

/// What the wait for the next chunk gave.
enum Next {
    Chunk(Bytes),
    End(End),
}

impl Relay<'_> {
    async fn body(&mut self) -> End {
        let mut alarm = pin!(sleep(self.first_alarm()));
        let mut now = Instant::now();
        loop {
            let chunk = match self.next(&mut now, alarm.as_mut()).await {
                Next::Chunk(chunk) => self.upstream.with_what_is_there(chunk),
                Next::End(end) => return end,
            };
            let out = self.transform.push(chunk);
            if !self.send(&out.bytes, &mut now).await {
                return End::ClientGone;
            }
            if let Some(stop) = out.stop {
                return End::Stopped(stop);
            }
        }
    }

    /// Waits for the upstream while watching the client and the clocks. The read stands through
    /// heartbeats, so none of its bytes can be lost. `now` goes from the last chunk to this one.
    async fn next(&mut self, now: &mut Instant, mut alarm: Pin<&mut Sleep>) -> Next {
        let waiting_since = *now;
        let (silence, heartbeat) = (self.shared.upstream.timeout(), self.heartbeat());
        let mut read = pin!(self.upstream.read());
        let next = loop {
            tokio::select! {
                biased;
                chunk = &mut read => break match chunk {
                    Ok(Some(chunk)) => Next::Chunk(chunk),
                    Ok(None) => Next::End(End::Complete),
                    Err(_) => Next::End(End::Broken),
                },
                () = client_gone(self.session) => break Next::End(End::ClientGone),
                () = &mut alarm => {}
            }
            let waited = waiting_since.elapsed();
            if waited >= silence {
                break Next::End(End::Silent);
            }
            let mut again = silence - waited;
            if let Some(period) = heartbeat {
                if self.last_sent.elapsed() >= period {
                    if self.border.at_border() && !Box::pin(beat(self.shared, self.session)).await {
                        break Next::End(End::ClientGone);
                    }
                    self.last_sent = Instant::now();
                }
                again = again.min(period.saturating_sub(self.last_sent.elapsed()));
            }
            alarm.as_mut().reset(tokio::time::Instant::now() + again);
        };
        *now = Instant::now();
        self.ctx.clock.upstream(waiting_since, *now);
        next
    }

    fn heartbeat(&self) -> Option<Duration> {
        self.layout
            .plain_stream()
            .then_some(self.shared.settings.stream.heartbeat)
    }

    fn first_alarm(&self) -> Duration {
        let silence = self.shared.upstream.timeout();
        self.heartbeat()
            .map_or(silence, |period| period.min(silence))
    }

    /// False when the client is gone. `now` goes from before it to after it.
    async fn send(&mut self, bytes: &Bytes, now: &mut Instant) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let written = self.session.write_response_body(bytes.clone(), false);
        if written.await.is_err() {
            return false;
        }
        let sent = Instant::now();
        self.ctx.clock.client(sent - *now);
        self.ctx.clock.first_byte(sent);
        (*now, self.last_sent) = (sent, sent);
        if self.layout.plain_stream() {
            self.border.push(bytes);
        }
        self.capture.push(bytes);
        true
    }

    /// What the transform still had, once the upstream has said its last word.
    async fn rest(&mut self, end: End) -> End {
        if !matches!(end, End::Complete | End::Silent | End::Broken) {
            return end;
        }
        let out = self.transform.end(end == End::Complete);
        match self.send(&out.bytes, &mut Instant::now()).await {
            true => out.stop.map_or(end, End::Stopped),
            false => End::ClientGone,
        }
    }

    async fn close(mut self, end: End, mut registration: Registration) -> Result<()> {
        let end = self.rest(end).await;
        if self.transform.is_unchecked() {
            registration.goes_unchecked();
            self.ctx.detail = Some("unchecked");
        }
        if end == FOUND {
            found(self.shared, self.ctx);
            registration.set_replaced(VerdictType::Dataclean);
        }
        let end = if end.is_proper() && !self.finish().await {
            End::ClientGone
        } else {
            end
        };
        let mut answer = self.capture.finish();
        self.ctx.heard(answer.heard.take());
        answer.incomplete |= !end.is_proper();
        registration.post_call(answer, end.failure());
        match end {
            End::Complete => Box::pin(self.upstream.release()).await,
            _ => self.upstream.abandon(),
        }
        match end {
            End::Complete | FOUND => return Ok(()),
            End::ClientGone => self.ctx.outcome = Outcome::ClientGone,
            End::Silent | End::Broken => self.ctx.outcome = Outcome::UpstreamBroken,
            End::Stopped(_) => self.ctx.outcome = Outcome::GatewayError,
        }
        let told = self.layout.plain_stream()
            && end != End::ClientGone
            && Box::pin(tell(self.session, end, self.border.at_border()))
                .await
                .is_ok();
        if !told {
            self.ctx.cut = true;
        }
        Ok(())
    }

    async fn finish(&mut self) -> bool {
        let started = Instant::now();
        let finished = self
            .session
            .write_response_body(Bytes::new(), true)
            .await
            .is_ok();
        let now = Instant::now();
        self.ctx.clock.client(now - started);
        self.ctx.clock.first_byte(now);
        finished
    }
}

/// The gateway said all there is to say.
const FOUND: End = End::Stopped(Stop::Found);

impl End {
    /// Nothing is left to be said to the client.
    fn is_proper(self) -> bool {
        matches!(self, Self::Complete | FOUND)
    }

    fn code(self) -> u16 {
        if self == Self::Silent { 504 } else { 502 }
    }

    fn kind(self) -> ErrorType {
        match self {
            Self::Stopped(_) => ErrorType::GatewayError,
            _ => ErrorType::UpstreamError,
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::Complete | FOUND => "",
            Self::ClientGone => "the client left before the answer ended",
            Self::Silent => {
                "the upstream fell silent in the middle of its answer (GATEWAY_UPSTREAM_TIMEOUT)"
            }
            Self::Broken => "the upstream broke off in the middle of its answer",
            Self::Stopped(_) => {
                "the stream cannot be checked, and nothing passes unchecked for this application (on_backend_failure)"
            }
        }
    }

    fn failure(self) -> Option<CallFailure> {
        let closed_by = match self {
            Self::Complete | FOUND => return None,
            Self::ClientGone => ClosedBy::Client,
            Self::Stopped(_) => ClosedBy::Gateway,
            Self::Silent | Self::Broken => ClosedBy::Upstream,
        };
        let (kind, code) = match self {
            Self::ClientGone => (ErrorType::InvalidRequestError, 499),
            _ => (self.kind(), self.code()),
        };
        Some(CallFailure {
            kind: kind.as_str().into(),
            code,
            message: self.message().into(),
            closed_by,
        })
    }
}

/// A stream ended with the policy's phrase.
fn found(shared: &Shared, ctx: &mut CallContext) {
    let kind = VerdictType::Dataclean;
    Blocked {
        stage: Stage::PostCall,
        kind,
        request_id: &ctx.request_id,
    }
    .emit(&shared.metrics);
    ctx.outcome = Outcome::Blocked;
    ctx.detail = Some(kind.as_str());
}

/// A comment frame that says only that the connection lives (§6.2). False: the client is gone.
async fn beat(shared: &Shared, session: &mut ServerSession) -> bool {
    HeartbeatSent.emit(&shared.metrics);
    session
        .write_response_body(Bytes::from_static(sse::writer::HEARTBEAT), false)
        .await
        .is_ok()
}

/// Ends a stream with an error frame (§7.2 row 504, CONTRACT 19); a frame that was cut is closed first.
async fn tell(session: &mut ServerSession, end: End, at_border: bool) -> Result<()> {
    let mut bytes = if at_border {
        Vec::new()
    } else {
        b"\n\n".to_vec()
    };
    bytes.extend_from_slice(&sse::writer::error_frame(
        end.kind(),
        end.message(),
        end.code(),
    ));
    session.write_response_body(bytes.into(), true).await
}
