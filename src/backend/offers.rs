//! What a backend takes besides single records without parts, as its answers say.

use crate::http_client::Answer;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The response header of a backend that takes batches; its value is 1.
const BATCHES: &str = "x-monitor-batch";
/// The response header of a backend that takes calls of tools and their results; its value is 1. Another backend may
/// store them as they come, also for an application that keeps no originals.
const TOOLS: &str = "x-monitor-tools";

const UNKNOWN: u8 = 0;
const NOT_TAKEN: u8 = 1;
const TAKEN: u8 = 2;

/// The offers of the latest answers.
#[derive(Default)]
pub(super) struct Offers {
    batches: AtomicBool,
    tools: AtomicU8,
}

impl Offers {
    pub(super) fn note(&self, answer: &Answer) {
        self.batches
            .store(is_offered(answer, BATCHES), Ordering::Relaxed);
        self.note_tools(answer);
    }

    /// An error without the offer may be that of a proxy, and changes nothing.
    pub(super) fn note_tools(&self, answer: &Answer) {
        let tools = match is_offered(answer, TOOLS) {
            true => TAKEN,
            false if answer.status.is_success() => NOT_TAKEN,
            false => return,
        };
        self.tools.store(tools, Ordering::Relaxed);
    }

    pub(super) fn takes_batches(&self) -> bool {
        self.batches.load(Ordering::Relaxed)
    }

    /// Whether calls of tools and their results are taken; None before an answer tells.
    pub(super) fn takes_tools(&self) -> Option<bool> {
        match self.tools.load(Ordering::Relaxed) {
            UNKNOWN => None,
            tools => Some(tools == TAKEN),
        }
    }
}

fn is_offered(answer: &Answer, name: &str) -> bool {
    let offer = answer.headers.get(name);
    offer.is_some_and(|value| value == "1")
}
