//! The gateway's view of policies (§2.5, CONTRACT 14 and 16): [`Policies`] answers a call from memory,
//! its [`Refresher`] keeps that memory up to date with a [`PolicyStore`]. No call ever waits for a store. What a
//! policy may contain is defined in `monitor_model`; the analysis server's own store is `monitor_store`.

mod cached;
mod copy;
mod file;
mod layered;
mod postgres;
mod refresher;

pub use cached::{Found, Limited, Policies, PolicyFault, PolicyStatus};
pub use file::{FileList, FileStore};
pub use layered::LayeredPolicyStore;
pub use postgres::PostgresStore;
pub use refresher::Refresher;

use async_trait::async_trait;
use monitor_model::StoredPolicy;
use std::borrow::Cow;
use thiserror::Error;

/// A source of policies.
#[async_trait]
pub trait PolicyStore: Send {
    /// Its kind in status and log messages: `file`, `sqlite`, `file+sqlite`, `postgres`.
    fn name(&self) -> Cow<'static, str>;

    /// All current policies, or that they have not changed since the last read. A policy that cannot be read is an
    /// entry, not an error.
    ///
    /// # Errors
    /// [`PolicyStoreError`] when the store cannot be read; returned within a bounded time.
    async fn read(&mut self) -> Result<Content, PolicyStoreError>;

    /// Waits until the store should be read again: after a change, after some time without one, or some time
    /// after a failure.
    async fn changed(&mut self);
}

/// The content of a [`PolicyStore`].
#[derive(Clone, Debug)]
pub enum Content {
    /// The same as at the last read.
    Unchanged,
    /// Every application that has a policy.
    All(Vec<StoredPolicy>),
    /// The same, with the last ones of a part that cannot be read at present.
    Stale {
        /// Every application that has a policy.
        policies: Vec<StoredPolicy>,
        /// Why the part cannot be read.
        error: PolicyStoreError,
    },
}

/// Why a policy store cannot be read; the message contains no secrets.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PolicyStoreError(pub String);
