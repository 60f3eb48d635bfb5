//! Counts what is spent of the budgets of all policies, and says which calls are warned or refused: to the gateway of
//! this process at once, whatever its policy store is, and to others through the store. The gateways act on it
//! (`gateway/limits/budget.rs`).

mod batches;
mod board;
mod count;
mod pacing;
pub(crate) mod spending;

pub(crate) use board::BudgetBoard;

use super::rules::file_policies::FilePolicies;
use crate::observe::Throttle;
use crate::policy::{BudgetCount, SpentBudgets};
use batches::next_batch;
use count::{Count, CountEnd, count_of};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use log::warn;
use monitor_model::{ApplicationId, Budget, BudgetState, CountedBudgets, StoredPolicy};
use monitor_store::{ApplicationPolicyStore, StatisticsStore, StoreError};
use pacing::Pacing;
use spending::Terms;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use tokio::time::timeout_at;

/// Records within this time are counted together.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// A pause is so many times as long as the pass before it, so that passes take a tenth of the time.
const PAUSES: u32 = 9;
/// The longest pause between two passes.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a pass waits for the count of an application; then others go on.
const AT_ONCE: Duration = Duration::from_millis(200);
/// The most counts that take longer, at a time.
const MOST_SLOW: usize = 2;
/// How often what other servers store is counted, and the configuration file is looked at.
const POLL: Duration = Duration::from_secs(1);
/// How often other processes are told everything again, with the time of the count.
const REPEAT: Duration = Duration::from_secs(60);
/// How often a failure is logged.
const REMIND: Duration = Duration::from_secs(60);

/// The task that counts; it ends with [`BudgetTask::stop`].
#[derive(Default)]
pub(crate) struct BudgetTask(Mutex<Option<JoinHandle<()>>>);

impl BudgetTask {
    /// Counts once, for at most `first`, and starts the task on the calling runtime.
    pub(crate) async fn start(&self, mut counting: Counting, first: Duration) {
        // The task counts again.
        let _ = tokio::time::timeout(first, counting.whole_pass()).await;
        let task = tokio::spawn(counting.run());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    /// Ends the task and waits for its end.
    pub(crate) async fn stop(&self) {
        let task = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
            // Its only outcome is that it was aborted.
            let _ = task.await;
        }
    }
}

/// What the task counts, and what it said last.
pub(crate) struct Counting {
    policies: Arc<dyn ApplicationPolicyStore>,
    file_policies: Arc<FilePolicies>,
    statistics: Arc<dyn StatisticsStore>,
    board: Arc<BudgetBoard>,
    /// The number of changes of policies when `stored` was read.
    seen: Option<i64>,
    /// The budgets of the stored policies.
    stored: HashMap<ApplicationId, Vec<Budget>>,
    /// Those whose stored policy this version cannot read: the one before stays in force, also at another server that
    /// may read it.
    unreadable: HashSet<ApplicationId>,
    /// What was counted last of each application that has budgets.
    counted: HashMap<ApplicationId, CountedBudgets>,
    /// Those that were counted since other processes were told.
    fresh: HashSet<ApplicationId>,
    pacing: Pacing,
    /// Counts that take long; they go on between the passes.
    slow: FuturesUnordered<Count>,
    /// Whose counts those are.
    under_way: HashSet<ApplicationId>,
    /// Users whom gateways are not told of, since the last pass.
    unnamed: usize,
    has_budgets: bool,
    /// What other processes were told of each application whose stored policy has budgets.
    published: HashMap<ApplicationId, Vec<BudgetState>>,
    /// When they were told something: each of them reads all of it, at most once a second.
    published_at: Option<Instant>,
    /// When they were told everything again.
    repeated: Option<Instant>,
    failures: Throttle,
    too_many: Throttle,
}

impl Counting {
    pub(crate) fn new(
        policies: Arc<dyn ApplicationPolicyStore>,
        file_policies: Arc<FilePolicies>,
        statistics: Arc<dyn StatisticsStore>,
        board: Arc<BudgetBoard>,
    ) -> Self {
        Self {
            policies,
            file_policies,
            statistics,
            board,
            seen: None,
            stored: HashMap::new(),
            unreadable: HashSet::new(),
            counted: HashMap::new(),
            fresh: HashSet::new(),
            pacing: Pacing::default(),
            slow: FuturesUnordered::new(),
            under_way: HashSet::new(),
            unnamed: 0,
            has_budgets: false,
            published: HashMap::new(),
            published_at: None,
            repeated: None,
            failures: Throttle::every(REMIND),
            too_many: Throttle::every(REMIND),
        }
    }

    async fn run(mut self) {
        let board = self.board.clone();
        let mut written = self.policies.policy_written();
        loop {
            let began = Instant::now();
            self.pass().await;
            let pause = LONGEST_PAUSE.min(began.elapsed() * PAUSES);
            let until = tokio::time::Instant::now() + DEBOUNCE.max(pause);
            let mut has_ended = false;
            while timeout_at(until, self.next_slow()).await.is_ok() {
                has_ended = true;
            }
            if has_ended {
                // The next pass shows it.
                continue;
            }
            let has_budgets = self.has_budgets;
            tokio::select! {
                () = board.counted.notified(), if has_budgets => {}
                Ok(()) = written.changed() => {}
                () = self.next_slow() => {}
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }

    /// Counts once, also those that take long.
    async fn whole_pass(&mut self) {
        self.pass().await;
        while !self.slow.is_empty() {
            self.next_slow().await;
            self.pass().await;
        }
    }

    /// Takes the next count that took long when it ends; waits without end where there is none.
    async fn next_slow(&mut self) {
        match self.slow.next().await {
            Some(end) => self.take_count(end),
            None => std::future::pending().await,
        }
    }

    /// Counts once. After a failure what was counted last stays in force until its windows end.
    async fn pass(&mut self) {
        if let Err(error) = self.count().await {
            self.repeated = None;
            self.failed(&error);
        }
    }

    fn failed(&self, error: &StoreError) {
        let is_shutdown = matches!(error, StoreError::Closed);
        // Without budgets nothing is missed.
        if self.has_budgets && !is_shutdown && self.failures.pass().is_some() {
            warn!(target: "policy", "budgets cannot be counted ({error}); what was counted last stays in force");
        }
    }

    /// Counts each application by itself, so that one which cannot be counted stops no other, and one that takes long
    /// delays no other.
    async fn count(&mut self) -> Result<(), StoreError> {
        let budgets = self.in_force().await?;
        self.counted.retain(|id, _| budgets.contains_key(id));
        self.pacing.keep(|id| budgets.contains_key(id));
        let terms = self.board.terms();
        for id in self.pacing.due(budgets.keys()) {
            if let Some(own) = budgets.get(&id) {
                self.count_one(id, own, &terms).await;
            }
        }
        let unnamed = std::mem::take(&mut self.unnamed);
        if unnamed > 0 && self.too_many.pass().is_some() {
            warn!(target: "policy", "at least {unnamed} users have spent a budget, or nearly, beyond those whom gateways are told of; their calls pass");
        }
        let counts = budgets.keys();
        let counts = counts.map(|id| Some(self.counted.get(id)?.counted_ms));
        self.board.show(&self.spent(), BudgetCount::oldest(counts));
        self.publish().await
    }

    /// Counts an application, or begins to.
    async fn count_one(&mut self, id: ApplicationId, budgets: &[Budget], terms: &Terms) {
        let is_full = self.slow.len() >= MOST_SLOW;
        let is_slow = self.pacing.is_slow(id);
        if self.under_way.contains(&id) || (is_slow && is_full) {
            return;
        }
        let mut count = count_of(self.statistics.clone(), id, budgets.to_vec(), terms.clone());
        if !is_slow {
            match tokio::time::timeout(AT_ONCE, &mut count).await {
                Ok(end) => return self.take_count(end),
                // Its turn comes.
                Err(_) if is_full => return self.pacing.counted(id, AT_ONCE),
                Err(_) => {}
            }
        }
        self.under_way.insert(id);
        self.slow.push(count);
    }

    fn take_count(&mut self, end: CountEnd) {
        let CountEnd { id, took, outcome } = end;
        self.under_way.remove(&id);
        self.pacing.counted(id, took);
        match outcome {
            Ok((counted, unnamed)) => {
                self.counted.insert(id, counted);
                self.fresh.insert(id);
                self.unnamed += unnamed;
            }
            Err(error) => {
                self.fresh.remove(&id);
                self.failed(&error);
            }
        }
    }

    fn spent(&self) -> SpentBudgets {
        let counted = self.counted.iter();
        let spent = counted.filter(|(_, counted)| !counted.states.is_empty());
        spent
            .map(|(id, counted)| (*id, counted.states.clone()))
            .collect()
    }

    /// What other processes are told: those of the configuration file are in force in this process only, and others
    /// have their own file.
    fn of_stored_policies(&self) -> Vec<(ApplicationId, CountedBudgets)> {
        let known = self.stored.iter();
        let told = known.filter_map(|(id, budgets)| {
            let counted = self.counted.get(id)?;
            let states = counted.states.iter();
            let states = states.filter(|state| budgets.contains(&state.budget));
            let told = CountedBudgets {
                counted_ms: counted.counted_ms,
                states: states.cloned().collect(),
            };
            Some((*id, told))
        });
        told.collect()
    }

    /// The budgets of every application that has any: those of its stored policy, which other processes may have in
    /// force, and those of the configuration file.
    async fn in_force(&mut self) -> Result<HashMap<ApplicationId, Vec<Budget>>, StoreError> {
        // The count first: a change between the two reads is seen by the next pass.
        let changes = self.policies.policy_changes().await?;
        if self.seen != Some(changes) {
            let policies = self.policies.policies().await?;
            self.take(policies);
            self.seen = Some(changes);
        }
        let mut budgets = self.stored.clone();
        for (id, listed) in self.file_policies.budgets() {
            let known = budgets.entry(id).or_default();
            let new: Vec<_> = listed
                .into_iter()
                .filter(|it| !known.contains(it))
                .collect();
            known.extend(new);
        }
        budgets.retain(|_, budgets| !budgets.is_empty());
        self.has_budgets = !budgets.is_empty();
        Ok(budgets)
    }

    fn take(&mut self, policies: Vec<StoredPolicy>) {
        let mut before = std::mem::take(&mut self.stored);
        self.unreadable.clear();
        for StoredPolicy { id, policy, .. } in policies {
            let budgets = match policy {
                Ok(policy) => policy.budgets,
                Err(_) => {
                    self.unreadable.insert(id);
                    before.remove(&id).unwrap_or_default()
                }
            };
            if !budgets.is_empty() {
                self.stored.insert(id, budgets);
            }
        }
    }

    fn has_budgets_of(&self, id: ApplicationId) -> bool {
        self.stored.contains_key(&id) || self.unreadable.contains(&id)
    }

    /// Tells other processes what has changed since they were told, and all of it again every minute: the store may
    /// have lost it, or another server may have put something else in its place. What was not counted since is not
    /// told: another server may have counted it.
    async fn publish(&mut self) -> Result<(), StoreError> {
        if self.published_at.is_some_and(|at| at.elapsed() < POLL) {
            // The next pass is due within that time.
            return Ok(());
        }
        if self.repeated.is_none_or(|at| at.elapsed() >= REPEAT) {
            self.withdraw().await?;
            self.published.clear();
            self.repeated = Some(Instant::now());
        }
        let is_gone = |id: &ApplicationId| !self.has_budgets_of(*id);
        if self.published.keys().any(is_gone) {
            self.withdraw().await?;
        }
        let mut unpublished = self.of_stored_policies();
        unpublished.retain(|(id, _)| self.fresh.contains(id));
        unpublished.retain(|(id, counted)| self.published.get(id) != Some(&counted.states));
        let mut outcome = Ok(());
        while !unpublished.is_empty() {
            let batch = next_batch(&mut unpublished);
            self.published_at = Some(Instant::now());
            // One application that is gone meanwhile stops no other batch.
            if let Err(error) = self.policies.publish_budgets(&batch).await {
                outcome = outcome.and(Err(error));
                continue;
            }
            let batch = batch.into_iter();
            self.published
                .extend(batch.map(|(id, counted)| (id, counted.states)));
        }
        if outcome.is_ok() {
            self.fresh.clear();
        }
        outcome
    }

    /// Takes back what was said of applications whose stored policy has no budgets. One that cannot be counted keeps
    /// what it has.
    async fn withdraw(&mut self) -> Result<(), StoreError> {
        let kept: Vec<_> = self
            .stored
            .keys()
            .chain(&self.unreadable)
            .copied()
            .collect();
        self.policies.withdraw_budgets(&kept).await?;
        let mut published = std::mem::take(&mut self.published);
        published.retain(|id, _| self.has_budgets_of(*id));
        self.published = published;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
