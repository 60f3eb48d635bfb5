//! Who a job is for, and how urgent it is.

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
