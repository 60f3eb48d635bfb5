//! `stream_in_sync: hold_back` (CONTRACT 41): checks a stream of sync mode while it is relayed. Text that
//! cannot be part of a finding passes at once; at a finding the stream ends with the policy's phrase. An
//! unreadable event is never a silent pass (CONTRACT 13, 26). An answer that is no stream has
//! `held/local_check`.

mod event_texts;
mod frame_queue;
mod growing_text;
mod pending_frames;
mod readers;
mod text_window;
mod unseen_run;
mod word_order;

#[cfg(test)]
mod tests;

pub(super) use text_window::Detectors;

use super::answer::{Filtered, Stop, StreamFilter};
use super::block;
use super::capture::{Layout, has_text};
use super::scan_roles::call_texts;
use super::verdict::report_unchecked;
use crate::gateway::error::CallError;
use crate::gateway::limits::MemoryReservation;
use crate::gateway::state::Snapshot;
use crate::observe::{Metrics, UncheckedReason};
use bytes::Bytes;
use event_texts::Event;
use monitor_model::{OnBackendFailure, Policy};
use monitor_wire::json::Request;
use monitor_wire::protocol::{Protocol, Wanted};
use monitor_wire::sse::pieces::Reading;
use monitor_wire::sse::{Frame, Frames};
use pending_frames::PendingFrames;
use pingora_http::ResponseHeader;
use readers::Readers;
use std::sync::Arc;

/// The largest frame that is held and read.
const LARGEST_FRAME: usize = 1 << 20;

/// Whether an answer with this head passes through the filter: a stream, and what has no text. Another one is
/// checked once it is complete.
pub(super) fn is_stream(head: Option<&ResponseHeader>) -> bool {
    head.is_none_or(|head| !has_text(head) || Layout::of(head).event_stream)
}

/// The filter of one stream.
pub(super) struct HoldBack {
    protocol: &'static dyn Protocol,
    /// The model that the call asks for.
    model: String,
    policy: Arc<Policy>,
    metrics: Arc<Metrics>,
    detectors: Detectors,
    /// How many choices the client asked for.
    choices: u64,
    frames: Frames,
    /// A frame has come.
    has_begun: bool,
    readers: Readers,
    pending: PendingFrames,
    /// The answer has no text, or is a compressed stream, so it passes unchanged.
    passes: bool,
    is_unchecked: bool,
    stop: Option<Stop>,
}

impl HoldBack {
    /// The policy that it follows.
    pub(super) fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// What it looks for.
    pub(super) fn detectors(&self) -> &Detectors {
        &self.detectors
    }

    /// The filter of the answer to a request. None where this process has no detectors.
    pub(super) fn new(
        snapshot: &Snapshot,
        policy: &Arc<Policy>,
        protocol: &'static dyn Protocol,
        request: Request<'_>,
    ) -> Option<Self> {
        Some(Self {
            protocol,
            model: request.model().unwrap_or_else(|| "unknown".into()),
            choices: match protocol.names_events() {
                false => request.choices(),
                // Items and blocks are no choices, and there is no limit to them.
                true => u64::MAX,
            },
            detectors: Detectors {
                inspector: snapshot.inspector.clone()?,
                patterns: policy.local_patterns(),
            },
            policy: policy.clone(),
            metrics: snapshot.metrics.clone(),
            frames: Frames::new(LARGEST_FRAME),
            has_begun: false,
            readers: Readers::of(protocol),
            pending: PendingFrames::new(protocol).with_calls(call_texts(policy)),
            passes: false,
            is_unchecked: false,
            stop: None,
        })
    }

    /// The same, whose waiting frames count in the memory of all calls.
    pub(super) fn within(mut self: Box<Self>, memory: MemoryReservation) -> Box<Self> {
        self.pending.set_memory(memory);
        self
    }

    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<u8>) {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let reading = match frame.is_whole {
            true if is_first => self.protocol.read_frame(frame.bytes, Wanted::First),
            true => self.protocol.read_frame(frame.bytes, Wanted::Next),
            false => Reading::Unreadable,
        };
        if let Reading::Said(said) = &reading
            && self.choices < u64::MAX
            && said.choices.iter().any(|one| one.choice >= self.choices)
        {
            // A client that asked for one choice joins the texts of all.
            self.report_unreadable("there are more choices than the call asks for");
            if self.stop.is_some() {
                return;
            }
        }
        let differ = self.readers.differ_at(frame.bytes, &reading);
        if differ.is_some() || self.readers.ends_texts(&reading) {
            self.pending.probe(&self.detectors);
        }
        if let Some(detail) = differ.filter(|_| !self.pending.has_finding()) {
            self.report_unreadable(detail);
            if self.stop.is_some() {
                return;
            }
        }
        let is_readable = match reading {
            Reading::Said(said) => {
                let readers = &self.readers;
                let event = Event {
                    raw: frame.bytes,
                    said,
                    is_new: &|piece| readers.is_new(piece),
                };
                self.pending.push(event, &self.detectors)
            }
            Reading::Unreadable => false,
            Reading::Done => {
                self.pending.finish(&self.detectors);
                self.pending.pass(frame.bytes, true);
                true
            }
            Reading::Nothing => {
                self.pending.pass(frame.bytes, true);
                true
            }
        };
        if !is_readable {
            self.report_unreadable("an event of the stream is unreadable");
            if self.stop.is_some() {
                return;
            }
            self.pending.pass(frame.bytes, frame.is_whole);
        }
        self.keep_bounds();
        if self.stop.is_none() {
            self.release(out);
        }
    }

    /// Lets no more wait than may.
    fn keep_bounds(&mut self) {
        let (is_full, has_memory) = (self.pending.is_full(), self.pending.has_memory());
        let details = [
            (!has_memory, "there is no memory to hold the stream"),
            (
                is_full && self.pending.is_inside_unseen_run(),
                "characters that no reader shows are too many to be held",
            ),
            (
                is_full && self.pending.is_inside_call(),
                "a call of a tool is too large to be held",
            ),
        ];
        for (_, detail) in details.into_iter().filter(|(is_broken, _)| *is_broken) {
            if self.stop.is_none() {
                self.report_unreadable(detail);
            }
        }
        if self.stop.is_none() && (is_full || !has_memory) {
            self.pending.end_call();
            self.pending.finish(&self.detectors);
        }
    }

    /// Moves what the client may see to `out`, and ends the stream at a finding.
    fn release(&mut self, out: &mut Vec<u8>) {
        if self.pending.has_finding() {
            let id = block::new_id();
            let answer = block::phrase_answer(&id, &self.model, &self.policy);
            self.pending.close(&answer, &self.detectors, out);
            self.stop = Some(Stop::Flagged);
        } else {
            self.pending.release(out);
        }
    }

    /// Counts and logs the first unreadable part; the policy decides whether the stream goes on.
    fn report_unreadable(&mut self, detail: &str) {
        if !self.is_unchecked {
            let reason = UncheckedReason::Unreadable;
            report_unchecked(&self.metrics, &self.policy, reason, detail);
        }
        match self.policy.on_backend_failure {
            OnBackendFailure::Open => self.is_unchecked = true,
            OnBackendFailure::Closed => self.stop = Some(Stop::Unreadable),
        }
    }

    fn filtered(&self, bytes: Vec<u8>) -> Filtered {
        Filtered {
            bytes: bytes.into(),
            stop: self.stop,
        }
    }
}

impl StreamFilter for HoldBack {
    /// An answer without text passes, and a stream that cannot be read where the policy says so.
    fn start(&mut self, layout: Layout) -> Result<(), CallError> {
        self.passes = !layout.plain_stream();
        if layout.event_stream && layout.encoded {
            self.report_unreadable("the stream is compressed");
        }
        if layout.event_stream && layout.has_other_charset {
            self.report_unreadable("Content-Type names another charset than UTF-8");
        }
        match self.stop {
            Some(_) => Err(CallError::Unchecked),
            None => Ok(()),
        }
    }

    fn push(&mut self, chunk: Bytes) -> Filtered {
        if self.passes {
            return Filtered::passing(chunk);
        }
        let mut frames = std::mem::replace(&mut self.frames, Frames::new(0));
        let mut out = Vec::with_capacity(chunk.len());
        frames.push(&chunk, |frame| {
            if self.stop.is_none() {
                self.frame(frame, &mut out);
            }
        });
        self.frames = frames;
        self.filtered(out)
    }

    /// An incomplete frame of a stream that broke off is dropped.
    fn finish(&mut self, complete: bool) -> Filtered {
        let mut out = Vec::new();
        if self.passes || self.stop.is_some() {
            return self.filtered(out);
        }
        if let Some(rest) = self.frames.finish().filter(|_| complete) {
            let frame = Frame {
                bytes: &rest,
                is_whole: true,
            };
            self.frame(frame, &mut out);
        }
        if self.stop.is_none() {
            self.pending.finish(&self.detectors);
            // What came of a call in a stream that broke off stays here; the client learns how it ended.
            if complete && self.pending.is_inside_call() && !self.pending.has_finding() {
                self.report_unreadable("a call of a tool has no end");
                self.pending.end_call();
            }
        }
        if self.stop.is_none() {
            self.release(&mut out);
        }
        self.filtered(out)
    }

    fn passed_unchecked(&self) -> bool {
        self.is_unchecked
    }

    fn has_flagged(&self) -> bool {
        self.stop == Some(Stop::Flagged)
    }
}
