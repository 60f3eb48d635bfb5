//! The count of one application, which may take longer than those of others.

use super::spending::{self, Terms};
use monitor_model::{ApplicationId, Budget, CountedBudgets};
use monitor_store::{StatisticsStore, StoreError};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The count of an application, in progress.
pub(super) type Count = Pin<Box<dyn Future<Output = CountEnd> + Send>>;

/// How the count of an application has ended.
pub(super) struct CountEnd {
    pub(super) id: ApplicationId,
    pub(super) took: Duration,
    /// With how many users are not named.
    pub(super) outcome: Result<(CountedBudgets, usize), StoreError>,
}

/// Counts the budgets of an application.
pub(super) fn count_of(
    statistics: Arc<dyn StatisticsStore>,
    id: ApplicationId,
    budgets: Vec<Budget>,
    terms: Terms,
) -> Count {
    Box::pin(async move {
        let began = Instant::now();
        let states = spending::states(&*statistics, id, &budgets, &terms).await;
        let counted = |states| CountedBudgets {
            counted_ms: terms.now_ms,
            states,
        };
        CountEnd {
            id,
            took: began.elapsed(),
            outcome: states.map(|(states, unnamed)| (counted(states), unnamed)),
        }
    })
}
