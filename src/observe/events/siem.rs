//! Events of the queues of other systems. No line shows an address with a path, a token or the content of an event.

use crate::observe::labels::SiemResult;
use crate::observe::metrics::Metrics;
use log::{info, warn};

/// Events left the queue of a destination.
pub struct SiemEventsLeft<'a> {
    /// The destination's name in the configuration.
    pub destination: &'a str,
    /// How they left it.
    pub result: SiemResult,
    /// Number of events.
    pub events: u64,
}

impl SiemEventsLeft<'_> {
    /// Counts; logs what is lost.
    pub fn emit(&self, metrics: &Metrics) {
        if self.events == 0 {
            return;
        }
        metrics
            .siem
            .left(self.destination, self.result, self.events);
        let (events, destination) = (self.events, self.destination);
        match self.result {
            SiemResult::Dropped => warn!(
                target: "siem",
                "dropped the {events} oldest events for {destination}, which are more than siem.outbox_rows"
            ),
            SiemResult::Refused => warn!(
                target: "siem",
                "{destination} refuses an event for its content: it is left out, {events} now"
            ),
            SiemResult::Sent | SiemResult::Gone => {}
        }
    }
}

/// A destination did not take a batch of events.
pub struct SiemFailed<'a> {
    /// The destination's name in the configuration.
    pub destination: &'a str,
    /// Why, in fixed words.
    pub reason: &'a str,
    /// Whether the attempt before did not fail, or failed for another reason.
    pub is_new: bool,
}

impl SiemFailed<'_> {
    /// Counts; logs what is new.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.siem.failed(self.destination);
        if self.is_new {
            warn!(
                target: "siem",
                "{} does not take events ({}): they wait, and are sent again",
                self.destination,
                self.reason
            );
        }
    }
}

/// A destination takes events again.
pub struct SiemBack<'a> {
    /// The destination's name in the configuration.
    pub destination: &'a str,
}

impl SiemBack<'_> {
    /// Logs that the queue moves again.
    pub fn emit(&self) {
        info!(target: "siem", "{} takes events again", self.destination);
    }
}
