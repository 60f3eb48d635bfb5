//! Compiling the regexes of rules, whoever sent them. It takes memory and time, so that one set of rules is compiled at a
//! time, in fair turns of tenants, away from the threads that serve connections. Rules of the store have turns of
//! their own: what requests bring delays no application, and after a start, when all applications need theirs, the
//! last one waits for the others.

use super::analyzer::{in_background, take_turn};
use crate::analysis::error::{ApiError, FieldProblem};
use crate::analysis::rules::application_rules::ApplicationRules;
use crate::config::AnalysisQueue;
use crate::fair_queue::{Claim, TurnFigures, TurnLimits, Turns};
use crate::observe::events::AnalysisRefused;
use crate::observe::{Metrics, TurnRefusal};
use serde_json::Value;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio::time::timeout;

/// Sets of rules of one origin that are compiled at the same time. With one, no more memory is taken than by one set.
const AT_ONCE: usize = 1;
/// What a set of rules costs that waits, in bytes: about what a large one is on its way.
const COST: u64 = 256 * 1024;
/// One access key may have a quarter of what waits.
const PARTS: u64 = 4;
/// How long rules of the store wait at least.
const WAIT_OF_STORED: Duration = Duration::from_secs(60);

/// The turns of compilations.
pub(crate) struct Compilations {
    of_requests: TurnsOfOrigin,
    of_store: TurnsOfOrigin,
    metrics: Option<Arc<Metrics>>,
    /// Rules that are compiled now, or wait for it; a tenant's equal ones wait for each other.
    under_way: Mutex<HashMap<u64, Arc<AsyncMutex<()>>>>,
    hasher: RandomState,
}

/// The turns of rules that come from one place.
struct TurnsOfOrigin {
    turns: Arc<Turns>,
    longest_wait: Duration,
}

/// Where rules come from.
#[derive(Clone, Copy)]
enum Origin {
    /// A request brings them, or asks for a trial of them.
    Request,
    /// They are the rules in force of an application.
    Store,
}

/// Rules that nobody else of this tenant compiles meanwhile.
pub(crate) struct Compilation {
    all: Arc<Compilations>,
    origin: Origin,
    claim: Claim,
    key: u64,
    lock: Option<OwnedMutexGuard<()>>,
}

impl TurnsOfOrigin {
    fn new(queue: AnalysisQueue, longest_wait: Duration) -> Self {
        let turns = Turns::new(TurnLimits {
            places: AT_ONCE,
            reserved: 0,
            short: 0,
            waiting_cost: queue.waiting_bytes,
            parts: PARTS,
            longest_wait,
        });
        Self {
            turns,
            longest_wait,
        }
    }
}

impl Compilations {
    pub(crate) fn new(queue: AnalysisQueue, metrics: Option<Arc<Metrics>>) -> Arc<Self> {
        let longest_wait = queue.longest_wait;
        Arc::new(Self {
            of_requests: TurnsOfOrigin::new(queue, longest_wait),
            of_store: TurnsOfOrigin::new(queue, longest_wait.max(WAIT_OF_STORED)),
            metrics,
            under_way: Mutex::default(),
            hasher: RandomState::new(),
        })
    }

    /// The rules of requests, and those of applications, that are compiled or wait for it.
    pub(crate) fn figures(&self) -> [TurnFigures; 2] {
        [&self.of_requests, &self.of_store].map(|origin| origin.turns.figures())
    }

    /// Waits until nobody else of the tenant compiles the same rules of a request. They may be cached then.
    ///
    /// # Errors
    /// [`ApiError::RulesBusy`] if that takes too long.
    pub(crate) async fn of(
        self: &Arc<Self>,
        claim: Claim,
        rules: &impl Hash,
    ) -> Result<Compilation, ApiError> {
        self.alone(Origin::Request, claim, rules).await
    }

    /// The same with rules of the store.
    ///
    /// # Errors
    /// [`ApiError::RulesBusy`] if that takes too long.
    pub(crate) async fn of_stored(
        self: &Arc<Self>,
        claim: Claim,
        rules: &impl Hash,
    ) -> Result<Compilation, ApiError> {
        self.alone(Origin::Store, claim, rules).await
    }

    async fn alone(
        self: &Arc<Self>,
        origin: Origin,
        claim: Claim,
        rules: &impl Hash,
    ) -> Result<Compilation, ApiError> {
        let key = self.hasher.hash_one((claim.tenant, rules));
        let under_way = self.lock().entry(key).or_default().clone();
        // Made first: it forgets the key also when this one stops waiting.
        let mut compilation = Compilation {
            all: self.clone(),
            origin,
            claim,
            key,
            lock: None,
        };
        let longest_wait = self.turns(origin).longest_wait;
        match timeout(longest_wait, under_way.lock_owned()).await {
            Ok(lock) => compilation.lock = Some(lock),
            Err(_) => return Err(self.refuse(TurnRefusal::Late)),
        }
        Ok(compilation)
    }

    /// Checks a document, and compiles what it has.
    ///
    /// # Errors
    /// [`ApiError::Fields`] with everything that is wrong, or [`ApiError::RulesBusy`].
    pub(crate) async fn parse(
        &self,
        claim: Claim,
        document: Value,
    ) -> Result<ApplicationRules, ApiError> {
        let parsed: Result<_, Vec<FieldProblem>> = self
            .run(claim, move || ApplicationRules::parse(&document))
            .await?;
        parsed.map_err(ApiError::Fields)
    }

    /// Compiles what a request asks for once it is the tenant's turn.
    ///
    /// # Errors
    /// [`ApiError::RulesBusy`] if the turn does not come.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        claim: Claim,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        self.run_of(Origin::Request, claim, work).await
    }

    async fn run_of<T: Send + 'static>(
        &self,
        origin: Origin,
        claim: Claim,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let turn = take_turn(&self.turns(origin).turns, claim, COST).await;
        let turn = turn.map_err(|reason| self.refuse(reason))?;
        let work = move || {
            let done = work();
            // Held even when the caller goes away: the work goes on.
            drop(turn);
            done
        };
        in_background(work).await.ok_or(ApiError::Internal)
    }

    fn turns(&self, origin: Origin) -> &TurnsOfOrigin {
        match origin {
            Origin::Request => &self.of_requests,
            Origin::Store => &self.of_store,
        }
    }

    fn refuse(&self, reason: TurnRefusal) -> ApiError {
        if let Some(metrics) = &self.metrics {
            AnalysisRefused { reason }.emit(metrics);
        }
        ApiError::RulesBusy(reason)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<AsyncMutex<()>>>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Compilation {
    /// Does the work once it is the tenant's turn.
    ///
    /// # Errors
    /// [`ApiError::RulesBusy`] if the turn does not come.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        self.all.run_of(self.origin, self.claim, work).await
    }
}

impl Drop for Compilation {
    fn drop(&mut self) {
        drop(self.lock.take());
        let mut under_way = self.all.lock();
        let waiters = under_way.get(&self.key).map(Arc::strong_count);
        if waiters == Some(1) {
            under_way.remove(&self.key);
        }
    }
}

#[cfg(test)]
impl Compilations {
    /// The place of rules of the store, taken.
    pub(super) async fn hold_turn_of_store(&self) -> Option<crate::fair_queue::Turn> {
        let claim = Claim {
            tenant: crate::fair_queue::Tenant::new(&0, &()),
            urgency: crate::fair_queue::Urgency::Awaited,
        };
        take_turn(&self.of_store.turns, claim, COST).await.ok()
    }

    /// Rules of the store that wait for their turn.
    pub(super) fn waiting_of_store(&self) -> usize {
        self.of_store.turns.figures().waiting
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fair_queue::{Tenant, Urgency};
    use std::sync::mpsc::channel;
    use tokio::task::{JoinSet, yield_now};

    fn claim(holder: u64) -> Claim {
        Claim {
            tenant: Tenant::new(&holder, &()),
            urgency: Urgency::Awaited,
        }
    }

    #[tokio::test]
    async fn one_set_is_compiled_at_a_time_and_keys_take_turns() {
        let compilations = Compilations::new(AnalysisQueue::default(), None);
        let (release, gate) = channel::<()>();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut jobs = JoinSet::new();
        let (started, starts) = channel();
        let first = compilations.clone();
        jobs.spawn(async move {
            let work = move || {
                started.send(()).unwrap();
                gate.recv().unwrap();
            };
            first.run(claim(1), work).await.unwrap();
        });
        while starts.try_recv().is_err() {
            yield_now().await;
        }
        for holder in [1, 1, 1, 1, 2] {
            let (compilations, order) = (compilations.clone(), order.clone());
            jobs.spawn(async move {
                let work = move || order.lock().unwrap().push(holder);
                compilations.run(claim(holder), work).await.unwrap();
            });
        }
        while compilations.of_requests.turns.figures().waiting < 5 {
            yield_now().await;
        }
        let figures = compilations.of_requests.turns.figures();
        assert_eq!((figures.running, order.lock().unwrap().len()), (1, 0));
        release.send(()).unwrap();
        jobs.join_all().await;
        let order = order.lock().unwrap().clone();
        let place = order.iter().position(|holder| *holder == 2).unwrap();
        assert!(place <= 1, "{order:?}");
    }

    #[tokio::test]
    async fn equal_rules_of_a_tenant_wait_for_each_other_and_leave_nothing_behind() {
        let queue = AnalysisQueue {
            longest_wait: Duration::from_millis(10),
            ..AnalysisQueue::default()
        };
        let compilations = Compilations::new(queue, None);
        let first = compilations.of(claim(1), &"rules").await.unwrap();
        let other = compilations.of(claim(1), &"others").await;
        assert!(other.is_ok() && compilations.of(claim(2), &"rules").await.is_ok());
        let late = compilations.of(claim(1), &"rules").await.err();
        assert_eq!(late, Some(ApiError::RulesBusy(TurnRefusal::Late)));
        drop((first, other));
        assert!(compilations.lock().is_empty());
        assert!(compilations.of(claim(1), &"rules").await.is_ok());
    }

    #[tokio::test]
    async fn rules_of_the_store_wait_for_none_of_requests_and_longer() {
        let queue = AnalysisQueue {
            longest_wait: Duration::from_millis(10),
            ..AnalysisQueue::default()
        };
        let compilations = Compilations::new(queue, None);
        let waits = [&compilations.of_requests, &compilations.of_store].map(|it| it.longest_wait);
        assert_eq!(waits, [queue.longest_wait, WAIT_OF_STORED]);
        let turns = &compilations.of_requests.turns;
        let taken = take_turn(turns, claim(1), COST).await.ok();
        let refused = compilations.run(claim(2), || ()).await;
        assert_eq!(refused, Err(ApiError::RulesBusy(TurnRefusal::Late)));
        let stored = compilations.of_stored(claim(2), &1).await.unwrap();
        assert_eq!(stored.run(|| 7).await, Ok(7));
        drop(taken);
    }
}
