//! The gateway's view of policies (§2.5, CONTRACT 14 and 16): [`Policies`] answers a call from memory,
//! its [`Refresher`] keeps that memory up to date with a [`PolicyStore`]. No call ever waits for a store. What a
//! policy may contain is defined in `monitor_model`; the analysis server's own store is `monitor_store`.

mod cached;
mod copy;
mod counted;
mod file;
mod layered;
mod postgres;
mod refresher;
mod snapshot;
mod spent;

pub use cached::{Policies, PolicyStatus};
pub use counted::CountedPolicyStore;
pub use file::{FileList, FileStore};
pub use layered::LayeredPolicyStore;
pub use postgres::PostgresStore;
pub use refresher::Refresher;
pub use snapshot::{Found, Limited, PolicyFault, PolicySnapshot};
pub use spent::{BudgetCount, BudgetVerdict, Budgeted, BudgetsOf, SpentBudgets};

use async_trait::async_trait;
use monitor_model::{ApplicationId, ApplicationPolicy, StoredPolicy};
use std::borrow::Cow;
use std::sync::Arc;
use thiserror::Error;

/// A source of policies.
#[async_trait]
pub trait PolicyStore: Send {
    /// Its kind in status and log messages: `file`, `sqlite`, `postgres`, `file+sqlite`, `file+postgres`.
    fn name(&self) -> Cow<'static, str>;

    /// All current policies, or that they have not changed since the last read. A policy that cannot be read is an
    /// entry, not an error.
    ///
    /// # Errors
    /// [`PolicyStoreError`] when the store cannot be read; returned within a bounded time.
    async fn read(&mut self) -> Result<Content, PolicyStoreError>;

    /// Takes the policies that an earlier process kept on disk. A store of several parts puts them in place of a part
    /// that it cannot read.
    fn take_copy(&mut self, _policies: &[StoredPolicy]) {}

    /// The policies to keep on disk, given those in force: all but those that are read from a file anyway.
    fn to_keep(&self, in_force: Vec<ApplicationPolicy>) -> Vec<ApplicationPolicy> {
        in_force
    }

    /// Waits until the store should be read again: after a change, after some time without one, or some time
    /// after a failure.
    async fn changed(&mut self);

    /// Applications whose policy was read from one source and is not in force because another source, which comes
    /// first, has a different one; as of the last read.
    fn overridden(&self) -> Vec<ApplicationId> {
        Vec::new()
    }

    /// Waits for the budgets that belong to the last read, where they are read behind the policies. May be dropped:
    /// they are read all the same, and then the store has changed.
    async fn read_spent(&mut self) {}

    /// The budgets that calls are warned about or refused for, as of the last read.
    fn spent(&self) -> Arc<SpentBudgets> {
        Arc::default()
    }

    /// How old that is, as of the last read.
    fn budget_count(&self) -> BudgetCount {
        BudgetCount::default()
    }
}

/// The content of a [`PolicyStore`].
#[derive(Clone, Debug)]
pub enum Content {
    /// The same as at the last read.
    Unchanged,
    /// Every application that has a policy.
    All(Vec<StoredPolicy>),
    /// A part of the store cannot be read at present; its last known policies are among these.
    Stale {
        /// The applications that are known to have a policy.
        policies: Vec<StoredPolicy>,
        /// False where nothing is known of the part, so that other applications may have a policy too.
        is_complete: bool,
        /// Why the part cannot be read.
        error: PolicyStoreError,
    },
}

/// Why a policy store cannot be read; the message contains no secrets.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PolicyStoreError(pub String);
