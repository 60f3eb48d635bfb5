//! Which application a message belongs to, and its rules (§2.7, CONTRACT 7 and 27).

use super::authority::Caller;
use super::cache::Cache;
use super::error::ApiError;
use super::rules::ApplicationRules;
use crate::model::{ApplicationId, Policy};
use crate::store::{Store, StoreError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A change of rules is live in under a second (CONTRACT 16).
const BELIEVED_FOR: Duration = Duration::from_millis(500);
const REMEMBERED: usize = 4096;

/// An application with its rules read.
pub(super) struct Loaded {
    pub(super) id: ApplicationId,
    pub(super) version: i64,
    pub(super) policy: Option<Policy>,
    pub(super) rules: ApplicationRules,
}

/// The applications of the store.
pub(super) struct Applications {
    store: Arc<dyn Store>,
    known: Cache<ApplicationId, Arc<Loaded>>,
}

impl Applications {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            known: Cache::new(REMEMBERED, BELIEVED_FOR),
        }
    }

    /// The application named in a request, else the one the caller is bound to.
    pub(super) async fn resolve(
        &self,
        named: Option<&str>,
        caller: &Caller,
    ) -> Result<Arc<Loaded>, ApiError> {
        let problem = |problem| ApiError::Field {
            field: "application_id",
            problem,
        };
        let named = named
            .map(|text| text.parse().map_err(|_| problem("must be a UUID")))
            .transpose()?;
        let id = caller
            .narrow(named)?
            .ok_or_else(|| problem("missing, and the access token is bound to no application"))?;
        self.load(id)
            .await?
            .ok_or_else(|| problem("no application has this id"))
    }

    /// Forgets what is remembered: applications were changed.
    pub(super) fn forget(&self) {
        self.known.clear();
    }

    async fn load(&self, id: ApplicationId) -> Result<Option<Arc<Loaded>>, ApiError> {
        let now = Instant::now();
        if let Some(known) = self.known.get(&id, now) {
            return Ok(Some(known));
        }
        let asked = self.known.moment();
        let loaded = match self.store.application(id).await? {
            Some(stored) => Some(Arc::new(Loaded {
                id,
                policy: stored.policy.and_then(Result::ok),
                version: stored.version,
                rules: serde_json::from_value(stored.rules)
                    .map_err(|_| StoreError::Unreadable("set of rules"))?,
            })),
            None => None,
        };
        self.known.set(id, loaded.clone(), asked, now);
        Ok(loaded)
    }
}
