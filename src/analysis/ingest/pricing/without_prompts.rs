//! A store without prompts, for tests: it counts how often it is asked for one.

use async_trait::async_trait;
use monitor_model::ApplicationId;
use monitor_store::{Exchange, ExchangeStore, RecordLine, RecordSummary, StoreError, StoredRecord};
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How each look-up ends.
#[derive(Clone, Copy)]
pub(crate) enum LookUp {
    FindsNothing,
    Fails,
    NeverEnds,
}

pub(crate) struct WithoutPrompts {
    look_up: LookUp,
    looks: AtomicUsize,
}

impl WithoutPrompts {
    pub(crate) fn new(look_up: LookUp) -> Self {
        Self {
            look_up,
            looks: AtomicUsize::new(0),
        }
    }

    pub(crate) fn looks(&self) -> usize {
        self.looks.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl ExchangeStore for WithoutPrompts {
    async fn message_of(&self, _: &Exchange) -> Result<Option<RecordSummary>, StoreError> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        match self.look_up {
            LookUp::FindsNothing => Ok(None),
            LookUp::Fails => Err(StoreError::Closed),
            LookUp::NeverEnds => pending().await,
        }
    }

    async fn lines(&self, _: &[RecordSummary]) -> Result<Vec<RecordLine>, StoreError> {
        Err(StoreError::Closed)
    }

    async fn tool_calls(
        &self,
        _: ApplicationId,
        _: &str,
        _: u32,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        Err(StoreError::Closed)
    }
}
