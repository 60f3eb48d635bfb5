//! Reads what queued events are about.

use super::event::{Event, EventApplication, EventWording, Subject, Verdict};
use monitor_model::{ApplicationId, RecordId};
use monitor_store::{AuditEntry, AuditFilter, EventSource, QueuedEvent, Store, StoreError};
use std::collections::HashMap;
use std::sync::Arc;

/// The store, and what events say of it.
pub(super) struct EventReader {
    pub(super) store: Arc<dyn Store>,
    pub(super) wording: EventWording,
}

impl EventReader {
    /// What was queued, as events. Left out is what is no more: records that were removed or erased meanwhile.
    pub(super) async fn events(&self, queued: &[QueuedEvent]) -> Result<Vec<Event>, StoreError> {
        let mut events = Vec::with_capacity(queued.len());
        for one in queued {
            let event = match one.source {
                EventSource::Record(id) => self.of_record(id).await?,
                EventSource::Audit(seq) => self.of_entry(seq).await?,
            };
            events.extend(event);
        }
        self.name_applications(&mut events).await?;
        Ok(events)
    }

    async fn of_record(&self, id: RecordId) -> Result<Option<Event>, StoreError> {
        let record = match self.store.record(id).await {
            // It would hold up all others for good.
            Err(StoreError::Unreadable(_)) => None,
            record => record?,
        };
        Ok(record.map(|record| Event {
            uid: id.to_string(),
            at_ms: record.summary.created_at_ms,
            application: Some(unnamed(record.summary.application_id)),
            subject: Subject::Verdict(Box::new(Verdict::of(record, &self.wording))),
        }))
    }

    async fn of_entry(&self, seq: i64) -> Result<Option<Event>, StoreError> {
        let filter = AuditFilter {
            before: Some(seq.saturating_add(1)),
            limit: 1,
            ..AuditFilter::default()
        };
        let found = match self.store.audit(&filter).await {
            Err(StoreError::Unreadable(_)) => Vec::new(),
            found => found?,
        };
        let entry = found
            .into_iter()
            .find(|entry: &AuditEntry| entry.seq == seq);
        Ok(entry.map(|entry| Event {
            uid: format!("audit-{seq}"),
            at_ms: entry.at_ms,
            application: entry.application_id.map(unnamed),
            subject: Subject::Audit(Box::new(entry)),
        }))
    }

    async fn name_applications(&self, events: &mut [Event]) -> Result<(), StoreError> {
        let ids = events.iter().filter_map(|event| event.application.as_ref());
        let mut ids: Vec<ApplicationId> = ids.map(|application| application.id).collect();
        ids.sort_unstable_by_key(|id| id.0);
        ids.dedup();
        if ids.is_empty() {
            return Ok(());
        }
        let names = self.store.application_names(&ids).await?;
        let names: HashMap<ApplicationId, String> = names.into_iter().collect();
        for application in events.iter_mut().filter_map(|it| it.application.as_mut()) {
            application.name = names.get(&application.id).cloned();
        }
        Ok(())
    }
}

fn unnamed(id: ApplicationId) -> EventApplication {
    EventApplication { id, name: None }
}
