//! A policy store of a process that also counts budgets: what is counted here is in force beside what the store says of
//! the counts of other servers. The budgets of the configuration file are counted here only.

use super::{BudgetCount, Content, PolicyStore, PolicyStoreError, SpentBudgets};
use async_trait::async_trait;
use monitor_model::{ApplicationId, ApplicationPolicy, StoredPolicy};
use std::borrow::Cow;
use std::sync::Arc;
use tokio::sync::watch;

/// A store, and the count of this process.
pub struct CountedPolicyStore {
    store: Box<dyn PolicyStore>,
    counted: watch::Receiver<Arc<SpentBudgets>>,
}

impl CountedPolicyStore {
    /// The policies of `store`; its budgets and those of `counted`.
    pub fn new(store: Box<dyn PolicyStore>, counted: watch::Receiver<Arc<SpentBudgets>>) -> Self {
        Self { store, counted }
    }
}

#[async_trait]
impl PolicyStore for CountedPolicyStore {
    fn name(&self) -> Cow<'static, str> {
        self.store.name()
    }

    async fn read(&mut self) -> Result<Content, PolicyStoreError> {
        self.store.read().await
    }

    fn take_copy(&mut self, policies: &[StoredPolicy]) {
        self.store.take_copy(policies);
    }

    fn to_keep(&self, in_force: Vec<ApplicationPolicy>) -> Vec<ApplicationPolicy> {
        self.store.to_keep(in_force)
    }

    async fn changed(&mut self) {
        tokio::select! {
            () = self.store.changed() => {}
            // The count ends with the process, which is not a change.
            Ok(()) = self.counted.changed() => {}
        }
    }

    fn overridden(&self) -> Vec<ApplicationId> {
        self.store.overridden()
    }

    async fn read_spent(&mut self) {
        self.store.read_spent().await;
    }

    fn spent(&self) -> Arc<SpentBudgets> {
        let counted = self.counted.borrow().clone();
        merged(self.store.spent(), counted)
    }

    // That of this process is asked when somebody looks.
    fn budget_count(&self) -> BudgetCount {
        self.store.budget_count()
    }
}

/// The states of both; one that both have is there once.
fn merged(stored: Arc<SpentBudgets>, counted: Arc<SpentBudgets>) -> Arc<SpentBudgets> {
    if counted.is_empty() || stored == counted {
        return stored;
    }
    if stored.is_empty() {
        return counted;
    }
    let mut all = SpentBudgets::clone(&counted);
    for (id, states) in stored.iter() {
        let known = all.entry(*id).or_default();
        let new = states.iter().filter(|state| !known.contains(state));
        let new: Vec<_> = new.cloned().collect();
        known.extend(new);
    }
    Arc::new(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use monitor_model::{Budget, BudgetAction, BudgetPer, BudgetState, BudgetWindow};

    fn spent(application: u128, tokens: u64) -> Arc<SpentBudgets> {
        let budget = Budget {
            per: BudgetPer::Application,
            window: BudgetWindow::Day,
            tokens: Some(tokens),
            cost: None,
            action: BudgetAction::Stop,
            warn_at: 80,
        };
        let state = BudgetState {
            budget,
            until_ms: 1,
            spent: vec![String::new()],
            warned: vec![],
        };
        let id = ApplicationId(uuid::Uuid::from_u128(application));
        Arc::new([(id, vec![state])].into())
    }

    #[test]
    fn what_either_of_them_has_counted_is_in_force() {
        let none = Arc::<SpentBudgets>::default;
        let (one, other) = (spent(1, 7), spent(1, 9));
        assert_eq!(merged(none(), one.clone()), one);
        assert_eq!(merged(one.clone(), none()), one);
        assert_eq!(merged(one.clone(), one.clone()), one);
        let both = merged(one.clone(), other.clone());
        let expected: Vec<_> = other.values().chain(one.values()).flatten().collect();
        assert_eq!(both.values().flatten().collect::<Vec<_>>(), expected);
        let apart = merged(one, spent(2, 7));
        assert_eq!(apart.len(), 2);
    }
}
