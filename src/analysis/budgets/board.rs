//! Where the gateway of this process, and whoever asks, finds what was counted of budgets.

use super::spending::{Terms, Users};
use crate::analysis::clock::now_ms;
use crate::config::Prices;
use crate::policy::{BudgetCount, SpentBudgets};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, watch};

/// Where the count of this process is shown, and what makes it count again.
pub(crate) struct BudgetBoard {
    pub(super) counted: Notify,
    spent: watch::Sender<Arc<SpentBudgets>>,
    count: Mutex<BudgetCount>,
    currency: Mutex<String>,
}

impl Default for BudgetBoard {
    fn default() -> Self {
        Self {
            counted: Notify::new(),
            spent: watch::Sender::new(Arc::default()),
            count: Mutex::new(BudgetCount::Never),
            currency: Mutex::default(),
        }
    }
}

impl BudgetBoard {
    /// A record with a cost was stored.
    pub(crate) fn cost_stored(&self) {
        self.counted.notify_one();
    }

    /// The budgets that calls are warned about or refused for.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<SpentBudgets>> {
        self.spent.subscribe()
    }

    /// The count of this process.
    pub(crate) fn count(&self) -> BudgetCount {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts money in the currency of this price table from now on.
    pub(crate) fn set_currency(&self, prices: &Prices) {
        let mut currency = self.currency.lock().unwrap_or_else(PoisonError::into_inner);
        currency.clone_from(&prices.currency);
    }

    /// How budgets are counted at present.
    pub(crate) fn terms(&self) -> Terms {
        let currency = self.currency.lock().unwrap_or_else(PoisonError::into_inner);
        Terms {
            now_ms: now_ms(),
            currency: currency.clone(),
            users: Users::Reached,
        }
    }

    /// What was counted now.
    pub(super) fn show(&self, spent: &SpentBudgets, count: BudgetCount) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) = count;
        self.spent.send_if_modified(|last| {
            let differs = **last != *spent;
            if differs {
                *last = Arc::new(spent.clone());
            }
            differs
        });
    }
}
