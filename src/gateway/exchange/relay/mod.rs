//! Relays an answer to the client: each chunk at once and unchanged (CONTRACT 18), heartbeats during silence,
//! and the ways an answer can fail after it has begun (CONTRACT 19 to 21). Whatever is rare, or comes once at
//! the end, is boxed: the relay's future lives as long as the stream.

mod end;
mod upstream_error;

use super::answer::{Answer, Filtered, StreamFilter};
use super::call::UpstreamResponse;
use super::capture::{Capture, Layout, Wanted};
use super::client_gone;
use super::record::Registration;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers;
use crate::gateway::limits::MemoryReservation;
use crate::gateway::respond;
use crate::gateway::state::Snapshot;
use crate::observe::events::{Blocked, HeartbeatSent};
use crate::observe::{Outcome, VerdictType};
use bytes::Bytes;
use end::{End, FLAGGED};
use monitor_model::Stage;
use monitor_wire::sse;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_http::ResponseHeader;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};
use tokio::time::{Sleep, sleep};

/// Relays head and body, registers the answer, and keeps or closes both connections.
pub(super) async fn response_body(
    snapshot: &Snapshot,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    mut answer: Answer,
) -> Result<()> {
    let Some(mut head) = answer.upstream.take_head() else {
        let registration = answer.registration;
        registration.post_call_failed(&CallError::Broken("no response head"));
        ctx.cut = true;
        return Ok(());
    };
    if head.status.as_u16() >= 400 {
        return Box::pin(upstream_error::relay(session, ctx, answer, *head)).await;
    }
    let layout = Layout::of(&head);
    if let Some(filter) = &mut answer.filter
        && let Err(error) = filter.start(layout)
    {
        return Box::pin(answer.refuse(session, ctx, error)).await;
    }
    let capture = capture(snapshot, ctx, &head, &answer.registration);
    ctx.status = head.status.as_u16();
    headers::for_client(&mut head, session.req_header().version, &ctx.request_id)?;
    headers::for_website(&mut head, &ctx.website)?;
    headers::for_budget(&mut head, ctx.budget)?;
    let mut relay = Relay {
        snapshot,
        session,
        ctx,
        upstream: answer.upstream,
        capture,
        filter: answer.filter,
        boundary: sse::FrameBoundary::default(),
        layout,
        last_sent: Instant::now(),
        has_begun: false,
    };
    let end = match relay.session.write_response_header(head).await {
        Ok(()) => {
            if layout.event_stream {
                respond::free_request_head(relay.session)?;
            }
            relay.body().await
        }
        Err(_) => End::ClientGone,
    };
    relay.close(end, answer.registration).await
}

/// The capture for the record and the trace.
fn capture(
    snapshot: &Snapshot,
    ctx: &CallContext,
    head: &ResponseHeader,
    registration: &Registration,
) -> Capture {
    let has_text = ctx.protocol.has_text_answers();
    let wanted = Wanted {
        protocol: ctx.protocol,
        calls: registration.calls(),
        text: has_text && registration.wants_answer(),
        metadata: has_text && ctx.wants_metadata(),
        limit: snapshot.settings.limits.recorded_bytes,
    };
    let reservation = MemoryReservation::new(&snapshot.memory, ctx.tenant.holder);
    Capture::new(head, wanted, reservation)
}

struct Relay<'a> {
    snapshot: &'a Snapshot,
    session: &'a mut ServerSession,
    ctx: &'a mut CallContext,
    upstream: UpstreamResponse,
    capture: Capture,
    filter: Option<Box<dyn StreamFilter>>,
    /// Whether the client's stream is between two frames.
    boundary: sse::FrameBoundary,
    layout: Layout,
    last_sent: Instant,
    /// The client has a part of the stream.
    has_begun: bool,
}

/// The outcome of the wait for the next chunk.
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
                Next::Chunk(chunk) => self.upstream.join_available(chunk),
                Next::End(end) => return end,
            };
            let passed = match &mut self.filter {
                None => Filtered::passing(chunk),
                Some(filter) => filter.push(chunk),
            };
            if !self.send(&passed.bytes, &mut now).await {
                return End::ClientGone;
            }
            if let Some(stop) = passed.stop {
                return End::Stopped(stop);
            }
        }
    }

    /// Waits for the upstream while watching the client and the clocks. The read stays pinned across
    /// heartbeats, so it loses no bytes. `now` is moved from the previous chunk to this one.
    async fn next(&mut self, now: &mut Instant, mut alarm: Pin<&mut Sleep>) -> Next {
        let waiting_since = *now;
        let (silence, heartbeat) = (self.upstream.timeout(), self.heartbeat());
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
                    let is_between_frames = self.boundary.is_at_boundary();
                    if is_between_frames
                        && !Box::pin(beat(self.session, self.ctx, self.has_begun)).await
                    {
                        break Next::End(End::ClientGone);
                    }
                    self.last_sent = Instant::now();
                }
                again = again.min(period.saturating_sub(self.last_sent.elapsed()));
            }
            alarm.as_mut().reset(tokio::time::Instant::now() + again);
        };
        *now = Instant::now();
        self.ctx.clock.add_upstream(waiting_since, *now);
        next
    }

    /// The period of heartbeats; None for an answer that cannot carry them.
    fn heartbeat(&self) -> Option<Duration> {
        self.layout
            .plain_stream()
            .then_some(self.snapshot.settings.stream.heartbeat)
    }

    fn first_alarm(&self) -> Duration {
        let silence = self.upstream.timeout();
        self.heartbeat()
            .map_or(silence, |period| period.min(silence))
    }

    /// Sends bytes to the client; false when the client has left. `now` is moved behind the write.
    async fn send(&mut self, bytes: &Bytes, now: &mut Instant) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let written = self.session.write_response_body(bytes.clone(), false);
        if written.await.is_err() {
            return false;
        }
        let sent = Instant::now();
        self.ctx.clock.add_client(sent - *now);
        self.ctx.clock.mark_first_byte(sent);
        (*now, self.last_sent) = (sent, sent);
        self.has_begun = true;
        if self.layout.plain_stream() {
            self.boundary.push(bytes);
        }
        self.capture.push(bytes);
        true
    }

    /// Sends what the filter still holds after the upstream's last byte.
    async fn flush_filter(&mut self, end: End) -> End {
        let Some(filter) = &mut self.filter else {
            return end;
        };
        if !matches!(end, End::Complete | End::Silent | End::Broken) {
            return end;
        }
        let rest = filter.finish(end == End::Complete);
        match self.send(&rest.bytes, &mut Instant::now()).await {
            true => rest.stop.map_or(end, End::Stopped),
            false => End::ClientGone,
        }
    }

    async fn close(mut self, end: End, mut registration: Registration) -> Result<()> {
        let end = self.flush_filter(end).await;
        if self.filter.as_ref().is_some_and(|f| f.passed_unchecked()) {
            registration.set_unchecked();
            self.ctx.detail = Some("unchecked");
        }
        if end == FLAGGED {
            report_flagged(self.snapshot, self.ctx);
            registration.set_replaced(VerdictType::Dataclean);
        }
        let end = if end.is_proper() && !self.finish().await {
            End::ClientGone
        } else {
            end
        };
        let mut captured = self.capture.finish();
        if self.filter.as_ref().is_some_and(|f| f.has_flagged()) {
            captured.forget_own_tokens();
        }
        self.ctx.count_tokens(captured.usage);
        self.ctx.set_metadata(captured.metadata.take());
        captured.incomplete |= !end.is_proper();
        registration.set_first_byte(self.ctx.clock.first_byte());
        registration.post_call(captured, end.failure());
        match end {
            End::Complete => Box::pin(self.upstream.release()).await,
            _ => self.upstream.abandon(),
        }
        match end {
            End::Complete | FLAGGED => return Ok(()),
            End::ClientGone => self.ctx.outcome = Outcome::ClientGone,
            End::Silent | End::Broken => self.ctx.outcome = Outcome::UpstreamBroken,
            End::Stopped(_) => self.ctx.outcome = Outcome::GatewayError,
        }
        let is_between_frames = self.boundary.is_at_boundary();
        let reported = self.layout.plain_stream()
            && end != End::ClientGone
            && Box::pin(send_error(self.session, self.ctx, end, is_between_frames))
                .await
                .is_ok();
        if !reported {
            self.ctx.cut = true;
        }
        Ok(())
    }

    /// Ends the client's body; false when the client has left.
    async fn finish(&mut self) -> bool {
        let started = Instant::now();
        let finished = self
            .session
            .write_response_body(Bytes::new(), true)
            .await
            .is_ok();
        let now = Instant::now();
        self.ctx.clock.add_client(now - started);
        self.ctx.clock.mark_first_byte(now);
        finished
    }
}

/// Counts and logs a stream that ended with the policy's phrase.
fn report_flagged(snapshot: &Snapshot, ctx: &mut CallContext) {
    let kind = VerdictType::Dataclean;
    Blocked {
        stage: Stage::PostCall,
        kind,
        request_id: &ctx.request_id,
    }
    .emit(&snapshot.metrics);
    ctx.outcome = Outcome::Blocked;
    ctx.detail = Some(kind.as_str());
}

/// Sends a frame that keeps the connection alive (§6.2); false when the client has left.
async fn beat(session: &mut ServerSession, ctx: &CallContext, has_begun: bool) -> bool {
    HeartbeatSent.emit(&ctx.snapshot.metrics);
    // Some libraries fail where the first event is another than that of an answer.
    let frame = match has_begun {
        true => ctx.protocol.heartbeat(),
        false => sse::writer::HEARTBEAT,
    };
    session
        .write_response_body(Bytes::from_static(frame), false)
        .await
        .is_ok()
}

/// Ends a stream with an error frame (§7.2 row 504, CONTRACT 19), behind a frame that was cut if need be.
async fn send_error(
    session: &mut ServerSession,
    ctx: &CallContext,
    end: End,
    is_between_frames: bool,
) -> Result<()> {
    let mut bytes = match is_between_frames {
        true => Vec::new(),
        false => b"\n\n".to_vec(),
    };
    bytes.extend_from_slice(&ctx.protocol.error_frame(&end.error(&ctx.request_id)));
    session.write_response_body(bytes.into(), true).await
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::gateway::docs::openapi_json;
    use monitor_wire::protocol::{Chat, Protocol};

    #[test]
    fn the_openapi_document_shows_the_error_frames_that_are_sent() {
        let document: serde_json::Value = serde_json::from_slice(openapi_json()).unwrap();
        for (name, end) in [("StreamTimeout", End::Silent), ("StreamReset", End::Broken)] {
            let example = &document["components"]["examples"][name]["value"];
            let stream = example.as_str().unwrap().as_bytes();
            assert!(
                stream.ends_with(&Chat.error_frame(&end.error(""))),
                "{name}"
            );
        }
    }
}
