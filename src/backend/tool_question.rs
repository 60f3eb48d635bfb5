//! The question whether a backend takes calls of tools and their results (CONTRACT 46). One record asks at a time, and
//! an unanswered question is asked again after a growing wait.

use super::SentParts;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Unanswered questions after which records are delivered without an answer.
const MOST_UNANSWERED: u32 = 6;
/// The wait after the first one; it doubles with each, as that of the delivery does, which is never shorter.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// The longest wait for an answer, and its share of MONITOR_TIMEOUT: a check needs the rest of that time.
const LONGEST_QUESTION: Duration = Duration::from_secs(2);
const QUESTION_SHARE: u32 = 4;

/// Whether a backend takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolSupport {
    Supported,
    Unsupported,
    /// It did not answer.
    Unknown,
}

/// The question and how often it was not answered.
pub(super) struct ToolQuestion {
    longest: Duration,
    /// Held by the record that asks.
    asking: tokio::sync::Mutex<()>,
    unanswered: Mutex<Unanswered>,
}

#[derive(Default)]
struct Unanswered {
    count: u32,
    /// When the question may be asked again.
    next: Option<Instant>,
}

impl ToolSupport {
    pub(super) fn of(takes: bool) -> Self {
        match takes {
            true => Self::Supported,
            false => Self::Unsupported,
        }
    }
}

impl From<ToolSupport> for SentParts {
    fn from(support: ToolSupport) -> Self {
        match support {
            ToolSupport::Supported => Self::All,
            ToolSupport::Unsupported => Self::Nothing,
            ToolSupport::Unknown => Self::Number,
        }
    }
}

impl ToolQuestion {
    /// The question to a backend whose calls may take so long.
    pub(super) fn new(timeout: Duration) -> Self {
        Self {
            longest: LONGEST_QUESTION.min(timeout / QUESTION_SHARE),
            asking: tokio::sync::Mutex::default(),
            unanswered: Mutex::default(),
        }
    }

    /// Asks, unless answers tell by now or another record has just asked in vain.
    pub(super) async fn support(
        &self,
        known: impl Fn() -> Option<bool>,
        ask: impl Future<Output = ToolSupport>,
    ) -> ToolSupport {
        let in_vain = || (!self.is_due()).then_some(ToolSupport::Unknown);
        let settled = || known().map(ToolSupport::of).or_else(in_vain);
        if let Some(support) = settled() {
            return support;
        }
        let Ok(_turn) = timeout(self.longest, self.asking.lock()).await else {
            return ToolSupport::Unknown;
        };
        if let Some(support) = settled() {
            return support;
        }
        let support = timeout(self.longest, ask)
            .await
            .unwrap_or(ToolSupport::Unknown);
        match support {
            ToolSupport::Unknown => self.count(),
            _ => self.start_over(),
        }
        support
    }

    /// Whether a record that no client waits for may wait for an answer.
    pub(super) fn may_wait(&self) -> bool {
        self.unanswered().count < MOST_UNANSWERED
    }

    /// The backend answers nothing else either, so nothing is known of how it takes the question.
    pub(super) fn start_over(&self) {
        *self.unanswered() = Unanswered::default();
    }

    fn count(&self) {
        let mut unanswered = self.unanswered();
        unanswered.count = unanswered.count.saturating_add(1);
        // Records that no longer wait ask each time that they are sent.
        let doublings = match unanswered.count {
            MOST_UNANSWERED.. => 0,
            count => count - 1,
        };
        unanswered.next = Some(Instant::now() + FIRST_WAIT * 2_u32.pow(doublings));
    }

    fn is_due(&self) -> bool {
        let next = self.unanswered().next;
        next.is_none_or(|next| Instant::now() >= next)
    }

    fn unanswered(&self) -> MutexGuard<'_, Unanswered> {
        self.unanswered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    async fn ask_in_vain(asked: &AtomicU32) -> ToolSupport {
        asked.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        ToolSupport::Unknown
    }

    #[tokio::test]
    async fn records_that_come_together_ask_once() {
        let question = ToolQuestion::new(Duration::from_secs(60));
        let asked = AtomicU32::new(0);
        let all = (0..20).map(|_| question.support(|| None, ask_in_vain(&asked)));
        let support = futures_util::future::join_all(all).await;
        assert_eq!(support, [ToolSupport::Unknown; 20]);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn records_wait_for_so_many_questions_and_for_as_many_after_an_outage() {
        let question = ToolQuestion::new(Duration::from_secs(60));
        for _ in 0..2 {
            for _ in 0..MOST_UNANSWERED {
                assert!(question.may_wait());
                question.count();
            }
            assert!(!question.may_wait());
            question.start_over();
        }
        let support = question.support(|| None, async { ToolSupport::Supported });
        assert_eq!(support.await, ToolSupport::Supported);
    }
}
