//! Events for other systems (SIEM): which of them wait for which destination. A record or an entry of the audit log and
//! the rows about it are written together, by triggers of the schema.

use crate::error::StoreError;
use async_trait::async_trait;
use monitor_model::RecordId;
use std::time::Duration;
use uuid::Uuid;

/// A destination, and what is sent there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiemDestination {
    /// Its name in the configuration.
    pub name: String,
    /// Records that a check flagged, that are blocked, or that passed unchecked.
    pub verdicts: bool,
    /// Entries of the audit log.
    pub audit: bool,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// The record with this identifier.
    Record(RecordId),
    /// The entry of the audit log with this position.
    Audit(i64),
}

/// An event that waits for a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedEvent {
    /// Position in the queue.
    pub id: i64,
    /// What it is about.
    pub source: EventSource,
}

/// How far a destination is behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiemLag {
    /// The destination's name in the configuration.
    pub name: String,
    /// Events that wait.
    pub waiting: u64,
    /// Since when the oldest of them waits, milliseconds since 1970.
    pub oldest_ms: Option<i64>,
    /// Why the last attempt failed; None if it did not.
    pub error: Option<String>,
    /// Since when, milliseconds since 1970.
    pub error_ms: Option<i64>,
}

/// The queues of all destinations.
#[async_trait]
pub trait SiemStore: Send + Sync {
    /// From now on events wait for these destinations. What waits for others is deleted.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; the same holds for every method here.
    async fn set_siem_destinations(
        &self,
        destinations: &[SiemDestination],
    ) -> Result<(), StoreError>;

    /// Makes `holder` the one who sends to a destination, for so long. False while somebody else does, and if there is
    /// no such destination.
    async fn lease_siem(
        &self,
        name: &str,
        holder: Uuid,
        lease: Duration,
    ) -> Result<bool, StoreError>;

    /// Ends all leases of `holder`.
    async fn release_siem(&self, holder: Uuid) -> Result<(), StoreError>;

    /// The events that wait for a destination, the oldest first.
    async fn siem_queue(&self, name: &str, limit: u32) -> Result<Vec<QueuedEvent>, StoreError>;

    /// Deletes events that were sent.
    async fn finish_siem(&self, ids: &[i64]) -> Result<(), StoreError>;

    /// Deletes the oldest events of a destination beyond `most`; returns how many.
    async fn drop_siem(&self, name: &str, most: u32) -> Result<u64, StoreError>;

    /// Notes why an attempt failed, in fixed words, or that none fails any more.
    async fn note_siem_error(&self, name: &str, error: Option<&str>) -> Result<(), StoreError>;

    /// How far each destination is behind.
    async fn siem_lag(&self) -> Result<Vec<SiemLag>, StoreError>;
}
