//! How many jobs run and wait, and for how long.

use crate::fair_queue::claim::Urgency;
use crate::fair_queue::fair_order::JobClass;
use std::time::Duration;

/// Each such amount of cost adds a second to the wait.
const COST_OF_A_SECOND: u64 = 1 << 20;

/// Deferred jobs wait this many times longer.
const DEFERRED_PATIENCE: u32 = 3;

/// How many jobs run and wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TurnLimits {
    /// Jobs that run at the same time.
    pub(crate) places: usize,
    /// Those of the places that only awaited short jobs take.
    pub(crate) reserved: usize,
    /// Jobs of at most this cost are short.
    pub(crate) short: u64,
    /// The cost of all jobs that wait.
    pub(crate) waiting_cost: u64,
    /// One access key may have 1/parts of it.
    pub(crate) parts: u64,
    /// How long an awaited job without cost waits at most.
    pub(crate) longest_wait: Duration,
}

impl TurnLimits {
    /// One job at a time, whatever it costs, and no bound of those that wait.
    pub(crate) fn one_at_a_time(longest_wait: Duration) -> Self {
        Self {
            places: 1,
            reserved: 0,
            short: 0,
            waiting_cost: u64::MAX,
            parts: 1,
            longest_wait,
        }
    }

    /// How long a job waits at most.
    pub(super) fn patience(&self, urgency: Urgency, cost: u64) -> Duration {
        let patience = self.longest_wait + Duration::from_secs(cost / COST_OF_A_SECOND);
        match urgency {
            Urgency::Awaited => patience,
            Urgency::Deferred => patience * DEFERRED_PATIENCE,
        }
    }

    /// Awaited short jobs may take a reserved place.
    pub(super) fn class(&self, urgency: Urgency, cost: u64) -> JobClass {
        match urgency == Urgency::Awaited && cost <= self.short {
            true => JobClass::Short,
            false => JobClass::Long,
        }
    }

    /// The places of all jobs but short awaited ones, and of the short ones of one access key.
    pub(super) fn common(&self) -> usize {
        self.places.saturating_sub(self.reserved).max(1)
    }
}
