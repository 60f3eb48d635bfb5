//! Fair shares of what tenants have in common: who takes the next turn, and how much one may have of it.
//! [`FairQueue`] decides the order and keeps no time; [`Turns`] is a semaphore that waits in such a queue;
//! [`heavy`] keeps long work from the other tasks of its thread.
//!
//! A tenant is an access key and an application (§5, §2.1). Keys take turns with keys, and the applications
//! of one key with each other: a client that invents further applications, or opens further connections,
//! gets no more of anything. Keys that no backend has accepted ([`KnownHolders`]) count by the address of
//! their client, so that inventing keys brings no more either.

mod claim;
mod fair_order;
mod heavy;
mod known_holders;
mod quick_places;
mod turns;

pub use claim::Urgency;
pub(crate) use claim::{Claim, Tenant, connections_of, holder_of, is_stranger, network, stranger};
pub(crate) use fair_order::{FairQueue, JobClass, OpenClasses, QUANTUM};
pub(crate) use heavy::heavy;
pub(crate) use known_holders::KnownHolders;
pub(crate) use turns::{NoTurn, Turn, TurnFigures, TurnLimits, Turns};

use std::future::Future;

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
