//! How the answer to a call reaches the client: as it arrives, once it is complete, or through a filter.

use super::answer::StreamFilter;
use super::held::Hold;
use super::hold_back::{self, HoldBack};
use crate::gateway::limits::MemoryReservation;
use pingora_http::ResponseHeader;

/// How the answer reaches the client.
pub(super) enum AnswerHandling {
    /// As it arrives, through the filter if there is one.
    Relay(Option<Box<dyn StreamFilter>>),
    /// Once it is complete.
    Hold(Box<Hold>),
    /// A stream through the filter; an answer that is none once it is complete.
    HoldBack {
        filter: Box<HoldBack>,
        hold: Box<Hold>,
    },
}

impl AnswerHandling {
    /// Whether the answer is held until the backend has checked it.
    pub(super) fn is_checked(&self) -> bool {
        matches!(self, Self::Hold(hold) if hold.check.is_some())
    }

    /// Relays the answer, or holds it where something happens to the whole of it.
    pub(super) fn holding(hold: Hold) -> Self {
        match hold {
            Hold {
                unredact: None,
                check: None,
                replay: None,
            } => Self::Relay(None),
            hold => Self::Hold(Box::new(hold)),
        }
    }

    /// The same without the check of the answer by the backend.
    pub(super) fn unchecked(self) -> Self {
        match self {
            Self::Hold(hold) => Self::holding(Hold {
                check: None,
                ..*hold
            }),
            other => other,
        }
    }

    /// How an answer with this head is handled. What a filter holds of it counts in the `memory` that it gets.
    pub(super) fn of(
        self,
        head: Option<&ResponseHeader>,
        memory: impl FnOnce() -> MemoryReservation,
    ) -> Self {
        match self {
            Self::HoldBack { filter, hold } => match hold_back::is_stream(head) {
                true => Self::Relay(Some(filter.within(memory()))),
                false => Self::Hold(hold),
            },
            other => other,
        }
    }
}
