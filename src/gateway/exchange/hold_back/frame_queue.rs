//! The frames that wait, in their order, and the memory that they take, which counts with that of all calls.

use super::event_texts::TextKey;
use super::growing_text::PieceSpan;
use crate::gateway::limits::MemoryReservation;
use monitor_wire::sse::pieces::Named;
use std::collections::VecDeque;

/// What a waiting frame takes beside its bytes and its pieces.
const OF_FRAME: usize = 256;

pub(super) struct PendingFrame {
    pub(super) raw: Vec<u8>,
    pub(super) is_whole: bool,
    pub(super) pieces: Vec<PiecePosition>,
    pub(super) choices: Vec<Named>,
    pub(super) begins_call: Option<u64>,
}

/// The position of a piece in its text.
pub(super) struct PiecePosition {
    pub(super) key: TextKey,
    pub(super) span: PieceSpan,
    /// The index of the piece in its frame.
    pub(super) index: usize,
    pub(super) choice: u64,
}

impl PendingFrame {
    /// The bytes of memory that it takes.
    fn taken(&self) -> usize {
        let pieces = self.pieces.len() * size_of::<PiecePosition>();
        let choices = self.choices.len() * size_of::<Named>();
        OF_FRAME + self.raw.len() + pieces + choices
    }
}

/// The frames of one stream that wait.
#[derive(Default)]
pub(super) struct FrameQueue {
    frames: VecDeque<PendingFrame>,
    /// Bytes of the frames as they came.
    bytes: usize,
    /// Bytes of memory that they take.
    taken: usize,
    /// Where these count; None where nothing is counted.
    memory: Option<MemoryReservation>,
    lacks_memory: bool,
}

impl FrameQueue {
    /// Counts the frames here.
    pub(super) fn set_memory(&mut self, memory: MemoryReservation) {
        self.memory = Some(memory);
    }

    pub(super) fn push(&mut self, frame: PendingFrame) {
        self.bytes += frame.raw.len();
        self.taken += frame.taken();
        self.frames.push_back(frame);
        self.count();
    }

    pub(super) fn front(&self) -> Option<&PendingFrame> {
        self.frames.front()
    }

    pub(super) fn pop(&mut self) -> Option<PendingFrame> {
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.raw.len();
        self.taken -= frame.taken();
        self.count();
        Some(frame)
    }

    /// The bytes of all frames.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the memory of all calls has room for the frames.
    pub(super) fn has_memory(&self) -> bool {
        !self.lacks_memory
    }

    fn count(&mut self) {
        let memory = self.memory.as_mut();
        self.lacks_memory = memory.is_some_and(|memory| memory.fit(self.taken).is_err());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{FrameQueue, PendingFrame};
    use crate::gateway::limits::{MemoryBudget, MemoryReservation};

    fn frame(bytes: usize) -> PendingFrame {
        PendingFrame {
            raw: vec![b'x'; bytes],
            is_whole: true,
            pieces: Vec::new(),
            choices: Vec::new(),
            begins_call: None,
        }
    }

    #[test]
    fn waiting_frames_take_memory_and_give_it_back() {
        let budget = MemoryBudget::unmeasured(1 << 20);
        let mut queue = FrameQueue::default();
        queue.set_memory(MemoryReservation::new(&budget, 1));
        for _ in 0..100 {
            queue.push(frame(5_000));
        }
        assert!(queue.has_memory() && budget.figures().bytes >= 500_000);
        for _ in 0..90 {
            queue.pop().unwrap();
        }
        assert!(budget.figures().bytes < 250_000);
        // Small frames take more than their bytes.
        for _ in 0..4_000 {
            queue.push(frame(10));
        }
        assert!(!queue.has_memory());
        while queue.pop().is_some() {}
        assert!(queue.has_memory());
        assert_eq!((queue.bytes(), budget.figures().bytes), (0, 0));
    }
}
