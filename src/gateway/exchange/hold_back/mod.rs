//! `stream_in_sync: hold_back` (CONTRACT 41): checks a stream of sync mode while it is relayed. Text that
//! cannot be part of a finding passes at once; at a finding the stream ends with the policy's phrase. An
//! unreadable event is never a silent pass (CONTRACT 13, 26). An answer that is no stream has
//! `held/local_check`.

mod growing_text;
mod pending_frames;
mod text_window;
mod unseen_run;

#[cfg(test)]
mod tests;

pub(super) use text_window::Detectors;

use super::answer::{Filtered, Stop, StreamFilter};
use super::capture::{Layout, has_text};
use super::verdict::report_unchecked;
use crate::gateway::error::CallError;
use crate::gateway::state::Snapshot;
use crate::observe::{Metrics, UncheckedReason};
use bytes::Bytes;
use monitor_model::{OnBackendFailure, Policy};
use monitor_wire::sse::pieces::{Reading, read, read_first};
use monitor_wire::sse::{Frame, Frames};
use pending_frames::PendingFrames;
use pingora_http::ResponseHeader;
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
    policy: Arc<Policy>,
    metrics: Arc<Metrics>,
    detectors: Detectors,
    /// How many choices the client asked for.
    choices: u64,
    frames: Frames,
    /// A frame has come.
    has_begun: bool,
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

    /// The filter of an answer with so many `choices`. None where this process has no detectors.
    pub(super) fn new(snapshot: &Snapshot, policy: &Arc<Policy>, choices: u64) -> Option<Self> {
        Some(Self {
            choices,
            detectors: Detectors {
                inspector: snapshot.inspector.clone()?,
                patterns: policy.local_patterns(),
            },
            policy: policy.clone(),
            metrics: snapshot.metrics.clone(),
            frames: Frames::new(LARGEST_FRAME),
            has_begun: false,
            pending: PendingFrames::default(),
            passes: false,
            is_unchecked: false,
            stop: None,
        })
    }

    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<u8>) {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let reading = match frame.is_whole {
            true if is_first => read_first(frame.bytes),
            true => read(frame.bytes),
            false => Reading::Unreadable,
        };
        if let Reading::Said(said) = &reading
            && said.choices.iter().any(|one| one.choice >= self.choices)
        {
            // A client that asked for one choice joins the texts of all.
            self.report_unreadable("there are more choices than the call asks for");
            if self.stop.is_some() {
                return;
            }
        }
        let is_readable = match reading {
            Reading::Said(said) => self.pending.push(frame.bytes, said, &self.detectors),
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
        if self.pending.is_full() {
            if self.pending.is_inside_unseen_run() {
                self.report_unreadable("characters that no reader shows are too many to be held");
                if self.stop.is_some() {
                    return;
                }
            }
            self.pending.finish(&self.detectors);
        }
        self.release(out);
    }

    /// Moves what the client may see to `out`, and ends the stream at a finding.
    fn release(&mut self, out: &mut Vec<u8>) {
        if self.pending.has_finding() {
            self.pending.close(&self.policy.phrase, out);
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
            self.release(&mut out);
        }
        self.filtered(out)
    }

    fn passed_unchecked(&self) -> bool {
        self.is_unchecked
    }
}
