//! The gateway's view of policies (§2.5, CONTRACT 14 and 16): [`Policies`] answers a call from memory,
//! its [`Refresher`] keeps that memory true to a [`PolicyStore`]. No call ever waits for a store. What
//! a policy may say stands in `model`; the analysis server's own store is not here.

mod cached;
mod copy;
mod file;
mod postgres;
mod refresher;

pub use cached::{Found, Limited, Policies, PolicyFault, PolicyStatus};
pub use file::{FileList, FileStore};
pub use postgres::PostgresStore;
pub use refresher::Refresher;

use async_trait::async_trait;
use monitor_model::StoredPolicy;
use thiserror::Error;

/// Where policies come from.
#[async_trait]
pub trait PolicyStore: Send {
    /// Its kind in status and log: `file`, `sqlite`, `postgres`.
    fn name(&self) -> &'static str;

    /// All policies as they stand now, or that they are the same as when they were last given.
    /// A policy that cannot be read is an entry of its own, not an error.
    ///
    /// # Errors
    /// [`PolicyStoreError`] when the store cannot be read, within a bounded time.
    async fn read(&mut self) -> Result<Content, PolicyStoreError>;

    /// Waits until it is worth reading again: after a change, after a while without one, or after a
    /// failure.
    async fn changed(&mut self);
}

/// What a [`PolicyStore`] holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// As at the last read.
    Unchanged,
    /// Every application that has a policy.
    All(Vec<StoredPolicy>),
}

/// A policy store that cannot be read, in words without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PolicyStoreError(pub String);
