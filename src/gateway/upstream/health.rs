//! Whether one model server works, from the results of health checks and calls: a number of results in a
//! row changes the state (`upstream.health.unhealthy_after`, `healthy_after`).

use crate::config::HealthSettings;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The state of one model server.
pub(super) struct Health {
    is_up: AtomicBool,
    /// Results in a row that contradict the state.
    contradicting: AtomicU32,
}

impl Health {
    /// Up, until results say otherwise.
    pub(super) fn new() -> Self {
        Self {
            is_up: AtomicBool::new(true),
            contradicting: AtomicU32::new(0),
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    /// Takes a result; true when it changed the state.
    pub(super) fn report(&self, works: bool, settings: &HealthSettings) -> bool {
        let is_up = self.is_up();
        if works == is_up {
            self.contradicting.store(0, Ordering::Relaxed);
            return false;
        }
        let needed = match is_up {
            true => settings.unhealthy_after,
            false => settings.healthy_after,
        };
        if self.contradicting.fetch_add(1, Ordering::Relaxed) + 1 < needed {
            return false;
        }
        self.contradicting.store(0, Ordering::Relaxed);
        let turned =
            self.is_up
                .compare_exchange(is_up, works, Ordering::Relaxed, Ordering::Relaxed);
        turned.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn one_result_changes_nothing_and_enough_in_a_row_do() {
        let settings = HealthSettings {
            path: None,
            interval: Duration::from_secs(1),
            timeout: Duration::from_secs(1),
            unhealthy_after: 3,
            healthy_after: 2,
        };
        let health = Health::new();
        let changed = |works: &[bool]| works.iter().any(|works| health.report(*works, &settings));
        assert!(!changed(&[false, false, true, false, false]) && health.is_up());
        assert!(changed(&[false]) && !health.is_up());
        assert!(!changed(&[true, false, true]) && !health.is_up());
        assert!(changed(&[true]) && health.is_up());
    }
}
