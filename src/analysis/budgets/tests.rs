//! One pass of the count over stores that answer, fail or forget: what is published, and what is kept.

#![allow(clippy::unwrap_used)]

use super::*;
use async_trait::async_trait;
use monitor_model::{
    AppMode, BudgetAction, BudgetPer, BudgetWindow, Policy, Priced, StoredPolicy, TypeCount,
};
use monitor_store::{
    CostFilter, CostSum, DayStatistics, HourTraffic, SpendingFilter, StatisticsFilter, TokenSums,
    UserNames,
};
use tokio::sync::{Semaphore, watch};

const STORED: u128 = 1;
const BROKEN: u128 = 2;

/// A store of two applications, of which one cannot be counted. It notes what it is told.
#[derive(Default)]
struct Told {
    /// Instead, its counts take as long as this has no permit.
    slow: Option<Semaphore>,
    asked: Mutex<Vec<u128>>,
    lines: Mutex<Vec<String>>,
    written: watch::Sender<()>,
}

fn id(number: u128) -> ApplicationId {
    ApplicationId(uuid::Uuid::from_u128(number))
}

fn budget(tokens: u64) -> Budget {
    Budget {
        per: BudgetPer::Application,
        window: BudgetWindow::Day,
        tokens: Some(tokens),
        cost: None,
        action: BudgetAction::Stop,
        warn_at: 80,
    }
}

impl Told {
    fn note(&self, line: String) {
        self.lines.lock().unwrap().push(line);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().unwrap())
    }
}

#[async_trait]
impl ApplicationPolicyStore for Told {
    async fn policies(&self) -> Result<Vec<StoredPolicy>, StoreError> {
        let policy = Policy {
            budgets: vec![budget(100)],
            ..Policy::new(AppMode::Async, "")
        };
        let stored = [BROKEN, STORED].map(|number| StoredPolicy {
            id: id(number),
            name: String::new(),
            policy: Ok(policy.clone()),
        });
        Ok(stored.into())
    }

    async fn policy_changes(&self) -> Result<i64, StoreError> {
        Ok(1)
    }

    async fn set_policy(&self, _: ApplicationId, _: Option<Policy>) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn publish_budgets(
        &self,
        counted: &[(ApplicationId, CountedBudgets)],
    ) -> Result<(), StoreError> {
        for (id, counted) in counted {
            let states = counted.states.len();
            self.note(format!("{} has {states}", id.0.as_u128()));
        }
        Ok(())
    }

    async fn withdraw_budgets(&self, but: &[ApplicationId]) -> Result<(), StoreError> {
        let mut but: Vec<_> = but.iter().map(|id| id.0.as_u128()).collect();
        but.sort_unstable();
        self.note(format!("none but {but:?}"));
        Ok(())
    }

    fn policy_written(&self) -> watch::Receiver<()> {
        self.written.subscribe()
    }
}

#[async_trait]
impl StatisticsStore for Told {
    async fn statistics(&self, _: &StatisticsFilter) -> Result<Vec<DayStatistics>, StoreError> {
        Ok(vec![])
    }

    async fn traffic(
        &self,
        _: Option<ApplicationId>,
        _: (i64, i64),
    ) -> Result<Vec<HourTraffic>, StoreError> {
        Ok(vec![])
    }

    async fn costs(&self, _: &CostFilter) -> Result<Vec<CostSum>, StoreError> {
        Ok(vec![])
    }

    async fn user_names(
        &self,
        _: Option<ApplicationId>,
        _: &str,
        _: u32,
    ) -> Result<UserNames, StoreError> {
        Ok(UserNames {
            names: vec![],
            next_after: None,
        })
    }

    async fn spending(&self, filter: &SpendingFilter) -> Result<Vec<CostSum>, StoreError> {
        let application = filter.application_id;
        self.asked.lock().unwrap().push(application.0.as_u128());
        if application == id(BROKEN) {
            let Some(slow) = &self.slow else {
                return Err(StoreError::Unavailable("too slow".to_owned()));
            };
            slow.acquire().await.unwrap().forget();
        }
        Ok(vec![CostSum {
            application_id: None,
            user_id: None,
            model: None,
            day: None,
            currency: None,
            priced: Priced::Unpriced,
            calls: 1,
            tokens: TokenSums {
                prompt: 100,
                ..TokenSums::default()
            },
            amount: None,
        }])
    }

    async fn traffic_types(
        &self,
        _: Option<ApplicationId>,
        _: (i64, i64),
        _: u32,
    ) -> Result<Vec<TypeCount>, StoreError> {
        Ok(vec![])
    }
}

#[tokio::test]
async fn one_that_cannot_be_counted_keeps_what_it_has_and_stops_no_other() {
    let told = Arc::new(Told::default());
    let board = Arc::new(BudgetBoard::default());
    let files = Arc::new(FilePolicies::default());
    let mut counting = Counting::new(told.clone(), files, told.clone(), board.clone());
    counting.pass().await;
    let shown: Vec<_> = board.subscribe().borrow().keys().copied().collect();
    assert_eq!(shown, [id(STORED)]);
    // The other one was never counted.
    assert_eq!(board.count(), BudgetCount::Never);
    // What the other one has may be of an earlier process.
    assert_eq!(told.take(), ["none but [1, 2]", "1 has 1"]);
    counting.pass().await;
    assert_eq!(told.take(), Vec::<String>::new());
    // As after a minute: the store may have lost it.
    (counting.repeated, counting.published_at) = (None, None);
    counting.pass().await;
    assert_eq!(told.take(), ["none but [1, 2]", "1 has 1"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_takes_long_delays_no_other_and_is_told_once_it_is_counted() {
    let told = Arc::new(Told {
        slow: Some(Semaphore::new(0)),
        ..Told::default()
    });
    let board = Arc::new(BudgetBoard::default());
    let files = Arc::new(FilePolicies::default());
    let mut counting = Counting::new(told.clone(), files, told.clone(), board.clone());
    let asked = |application: u128| {
        let asked = told.asked.lock().unwrap();
        asked.iter().filter(|one| **one == application).count()
    };
    counting.pass().await;
    assert_eq!(told.take(), ["none but [1, 2]", "1 has 1"]);
    for passes in 2..6 {
        counting.pass().await;
        assert_eq!((asked(STORED), asked(BROKEN)), (passes, 1));
    }
    told.slow.as_ref().unwrap().add_permits(1);
    counting.next_slow().await;
    counting.published_at = None;
    counting.pass().await;
    assert_eq!(told.take(), ["2 has 1"]);
    let shown: HashSet<_> = board.subscribe().borrow().keys().copied().collect();
    assert_eq!(shown, HashSet::from([id(STORED), id(BROKEN)]));
    // It pauses alone, and not without end.
    assert_eq!((asked(STORED), asked(BROKEN)), (6, 1));
    tokio::time::advance(Duration::from_secs(60)).await;
    counting.pass().await;
    let again = tokio::time::timeout(AT_ONCE, counting.next_slow()).await;
    assert!(again.is_err());
    assert_eq!((asked(STORED), asked(BROKEN)), (7, 2));
}
