//! `stream_in_sync: hold_back` (CONTRACT 41): a stream of sync mode behind a checked window. What
//! cannot be part of a find goes on at once; at a find the stream ends with the policy's phrase. What
//! cannot be read is never a silent pass (CONTRACT 13, 26). Not the check of a whole answer.

mod tail;
mod waiting;

#[cfg(test)]
mod tests;

use super::capture::Layout;
use super::check::no_verdict;
use super::transform::{Out, Stop};
use crate::gateway::Shared;
use crate::gateway::error::CallError;
use crate::observe::{Metrics, UncheckedReason};
use bytes::Bytes;
use monitor_model::{OnBackendFailure, Policy};
use monitor_wire::sse::pieces::{Reading, read};
use monitor_wire::sse::{Frame, Frames};
use std::sync::Arc;
use tail::Judge;
use waiting::Waiting;

/// A larger frame is not held and not read.
const MOST_FRAME: usize = 1 << 20;

/// One stream on its way.
pub(super) struct HoldBack {
    policy: Arc<Policy>,
    metrics: Arc<Metrics>,
    judge: Judge,
    frames: Frames,
    waiting: Waiting,
    /// The answer is no event stream, or one that cannot be read.
    passes: bool,
    is_unchecked: bool,
    stop: Option<Stop>,
}

impl HoldBack {
    /// None where nothing can judge.
    pub(super) fn new(shared: &Shared, policy: &Arc<Policy>) -> Option<Self> {
        Some(Self {
            judge: Judge {
                inspector: shared.inspector.clone()?,
                patterns: policy.local_patterns(),
            },
            policy: policy.clone(),
            metrics: shared.metrics.clone(),
            frames: Frames::new(MOST_FRAME),
            waiting: Waiting::default(),
            passes: false,
            is_unchecked: false,
            stop: None,
        })
    }

    /// Learns what comes. An answer that is no event stream passes as in sync mode without streams.
    ///
    /// # Errors
    /// When nothing of the answer may pass.
    pub(super) fn begin(&mut self, layout: Layout) -> Result<(), CallError> {
        self.passes = !layout.plain_stream();
        if layout.event_stream && layout.encoded {
            self.unreadable("the stream is compressed");
        }
        match self.stop {
            Some(_) => Err(CallError::Unchecked),
            None => Ok(()),
        }
    }

    /// Whether something went on without having been judged.
    pub(super) fn is_unchecked(&self) -> bool {
        self.is_unchecked
    }

    pub(super) fn push(&mut self, chunk: Bytes) -> Out {
        if self.passes {
            return Out::passing(chunk);
        }
        let mut frames = std::mem::replace(&mut self.frames, Frames::new(0));
        let mut out = Vec::with_capacity(chunk.len());
        frames.push(&chunk, |frame| {
            if self.stop.is_none() {
                self.frame(frame, &mut out);
            }
        });
        self.frames = frames;
        self.out(out)
    }

    /// The upstream's body is over. Of one that broke off, a frame that is not whole is left out.
    pub(super) fn end(&mut self, whole: bool) -> Out {
        let mut out = Vec::new();
        if self.passes || self.stop.is_some() {
            return self.out(out);
        }
        if let Some(rest) = self.frames.finish().filter(|_| whole) {
            let frame = Frame {
                bytes: &rest,
                is_whole: true,
            };
            self.frame(frame, &mut out);
        }
        if self.stop.is_none() {
            self.waiting.finish(&self.judge);
            self.show(&mut out);
        }
        self.out(out)
    }

    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<u8>) {
        let reading = match frame.is_whole {
            true => read(frame.bytes),
            false => Reading::Unreadable,
        };
        let taken = match reading {
            Reading::Said(said) => self.waiting.push(frame.bytes, said, &self.judge),
            Reading::Unreadable => false,
            Reading::Done => {
                self.waiting.finish(&self.judge);
                self.waiting.pass(frame.bytes, true);
                true
            }
            Reading::Nothing => {
                self.waiting.pass(frame.bytes, true);
                true
            }
        };
        if !taken {
            self.unreadable("an event of the stream cannot be read");
            if self.stop.is_some() {
                return;
            }
            self.waiting.pass(frame.bytes, frame.is_whole);
        }
        if self.waiting.is_over() {
            self.waiting.finish(&self.judge);
        }
        self.show(out);
    }

    fn show(&mut self, out: &mut Vec<u8>) {
        if self.waiting.is_cut() {
            self.waiting.close(&self.policy.phrase, out);
            self.stop = Some(Stop::Found);
        } else {
            self.waiting.show(out);
        }
    }

    /// Counted and said once; the policy tells what follows.
    fn unreadable(&mut self, detail: &str) {
        if !self.is_unchecked {
            no_verdict(
                &self.metrics,
                &self.policy,
                UncheckedReason::Unreadable,
                detail,
            );
        }
        match self.policy.on_backend_failure {
            OnBackendFailure::Open => self.is_unchecked = true,
            OnBackendFailure::Closed => self.stop = Some(Stop::Unreadable),
        }
    }

    fn out(&self, bytes: Vec<u8>) -> Out {
        Out {
            bytes: bytes.into(),
            stop: self.stop,
        }
    }
}
