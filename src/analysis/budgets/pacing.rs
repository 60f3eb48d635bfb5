//! When an application is counted. One whose count takes long is counted less often and delays no other: clients of one
//! tenant can make its own count long.

use monitor_model::ApplicationId;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// A count that takes no longer is made with every pass.
const QUICK: Duration = Duration::from_millis(20);
/// After a longer one its application pauses for so many times as long: it is counted in a tenth of the time.
const PAUSES: u32 = 9;
/// The longest pause of an application.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The last counts of applications.
#[derive(Default)]
pub(super) struct Pacing(HashMap<ApplicationId, Paced>);

#[derive(Clone, Copy)]
struct Paced {
    is_slow: bool,
    due: Instant,
    /// What orders those that are due: a short count does not wait for long ones that were due a little earlier.
    turn: Instant,
}

impl Pacing {
    /// The applications that are due among these: the quick ones first, then those whose turn is earlier.
    pub(super) fn due<'a>(
        &self,
        ids: impl Iterator<Item = &'a ApplicationId>,
    ) -> Vec<ApplicationId> {
        let now = Instant::now();
        let is_due = |id: &&ApplicationId| self.0.get(id).is_none_or(|it| it.due <= now);
        let mut due: Vec<_> = ids.filter(is_due).copied().collect();
        due.sort_by_key(|id| {
            let last = self.0.get(id);
            (self.is_slow(*id), last.map(|it| it.turn))
        });
        due
    }

    /// Whether its last count took long.
    pub(super) fn is_slow(&self, id: ApplicationId) -> bool {
        self.0.get(&id).is_some_and(|it| it.is_slow)
    }

    /// A count has ended, after this time.
    pub(super) fn counted(&mut self, id: ApplicationId, took: Duration) {
        let is_slow = took > QUICK;
        let pause = match is_slow {
            true => LONGEST_PAUSE.min(took * PAUSES),
            false => Duration::ZERO,
        };
        let due = Instant::now() + pause;
        let turn = due + pause;
        self.0.insert(id, Paced { is_slow, due, turn });
    }

    /// Forgets all others.
    pub(super) fn keep(&mut self, is_kept: impl Fn(&ApplicationId) -> bool) {
        self.0.retain(|id, _| is_kept(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> ApplicationId {
        ApplicationId(uuid::Uuid::from_u128(number))
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_takes_long_pauses_alone_and_comes_after_the_quick_ones() {
        let ids = [1, 2, 3].map(id);
        let mut pacing = Pacing::default();
        assert_eq!(pacing.due(ids.iter()).len(), 3);
        pacing.counted(ids[0], Duration::from_secs(1));
        pacing.counted(ids[1], QUICK);
        assert_eq!(pacing.due(ids.iter()), [ids[2], ids[1]]);
        tokio::time::advance(Duration::from_secs(9)).await;
        pacing.counted(ids[2], Duration::ZERO);
        assert_eq!(pacing.due(ids.iter()), [ids[1], ids[2], ids[0]]);
        assert!(pacing.is_slow(ids[0]) && !pacing.is_slow(ids[1]));
        // However long it takes, it is counted again.
        pacing.counted(ids[0], Duration::from_secs(3_600));
        tokio::time::advance(LONGEST_PAUSE).await;
        assert_eq!(pacing.due(ids.iter()).last(), Some(&ids[0]));
        // A short count comes before a long one that was due earlier.
        pacing.counted(ids[0], Duration::from_secs(1));
        tokio::time::advance(Duration::from_secs(8)).await;
        pacing.counted(ids[2], Duration::from_millis(30));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(pacing.due(ids.iter()), [ids[1], ids[2], ids[0]]);
        pacing.keep(|one| *one == ids[1]);
        assert!(!pacing.is_slow(ids[0]));
    }
}
