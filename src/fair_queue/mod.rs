//! Fair shares of what tenants have in common: who takes the next turn, and how much one may have of it.
//! [`FairQueue`] decides the order and keeps no time; [`Turns`] is a semaphore that waits in such a queue;
//! [`heavy`] keeps long work from the other tasks of its thread.
//!
//! A tenant is an access key and an application (§5, §2.1). Keys take turns with keys, and the applications
//! of one key with each other: a client that invents further applications, or opens further connections,
//! gets no more of anything.

mod heavy;
mod round_robin;
mod turns;

pub(crate) use heavy::heavy;
pub(crate) use round_robin::{FairQueue, QUANTUM};
pub(crate) use turns::{NoTurn, Turn, TurnFigures, TurnLimits, Turns};

use std::future::Future;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::LazyLock;

/// Tenants are told apart by this process alone: the numbers reveal nothing of a key.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Who a job is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tenant {
    /// The access key, or whoever else asks.
    pub(crate) holder: u64,
    /// The application, of one holder.
    pub(crate) application: u64,
}

impl Tenant {
    /// The tenant of this holder and application; equal values give the same tenant.
    pub(crate) fn new(holder: &impl Hash, application: &impl Hash) -> Self {
        Self {
            holder: HASHER.hash_one(holder),
            application: HASHER.hash_one(application),
        }
    }
}

/// Whether a client waits for the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// A call waits, such as a check of sync mode.
    Awaited,
    /// Nobody waits: deliveries from a spool, batches, files, replays.
    Deferred,
}

impl Urgency {
    /// The label in metrics.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Awaited => "awaited",
            Self::Deferred => "deferred",
        }
    }
}

/// On whose account a job runs, and how urgent it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) tenant: Tenant,
    pub(crate) urgency: Urgency,
}

tokio::task_local! {
    /// Set where the analysis of a message begins, and read where one of its calls to another server waits: all
    /// that lies between (the judge's trait, the protocols) has nothing to do with shares.
    static CLAIM: Claim;
}

/// Runs a future whose calls to other servers take turns on this account.
pub(crate) async fn on_account<T>(claim: Claim, future: impl Future<Output = T>) -> T {
    CLAIM.scope(claim, future).await
}

/// The account of this task; a common one outside of [`on_account`].
pub(crate) fn account() -> Claim {
    CLAIM.try_with(|claim| *claim).unwrap_or_else(|_| Claim {
        tenant: Tenant::new(&(), &()),
        urgency: Urgency::Awaited,
    })
}
