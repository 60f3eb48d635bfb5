//! The application of a message, with its compiled rules (§2.7, CONTRACT 7 and 27).

use super::compilation::{Compilation, Compilations};
use crate::analysis::access::caller::Caller;
use crate::analysis::cache::Cache;
use crate::analysis::error::ApiError;
use crate::analysis::rules::application_rules::ApplicationRules;
use crate::analysis::rules::file_policies::FilePolicies;
use crate::fair_queue::{Claim, Tenant, Urgency};
use monitor_detect::Compiled;
use monitor_model::{ApplicationId, Policy, Stage};
use monitor_store::{Application, ApplicationStore, StoreError};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A change of rules takes effect in under a second (CONTRACT 16).
const TIME_TO_LIVE: Duration = Duration::from_millis(500);
const CAPACITY: usize = 4096;

/// An application with its rules compiled.
pub(crate) struct LoadedApplication {
    pub(crate) id: ApplicationId,
    pub(crate) version: i64,
    pub(crate) policy: Option<Policy>,
    pub(crate) rules: Arc<CompiledRules>,
}

/// The compiled rules of an application. A regex that no longer compiles is reported with every verdict.
pub(crate) struct CompiledRules {
    pub(crate) keep_original: bool,
    pre: Arc<Compiled>,
    post: Arc<Compiled>,
}

impl CompiledRules {
    /// The rules of one direction.
    pub(crate) fn of(&self, stage: Stage) -> &Arc<Compiled> {
        match stage {
            Stage::PreCall => &self.pre,
            Stage::PostCall => &self.post,
        }
    }
}

impl From<ApplicationRules> for CompiledRules {
    fn from(rules: ApplicationRules) -> Self {
        Self {
            keep_original: rules.keep_original,
            pre: Arc::new(Compiled::of(Stage::PreCall, rules.pre)),
            post: Arc::new(Compiled::of(Stage::PostCall, rules.post)),
        }
    }
}

/// A stored document, read.
pub(crate) fn read(document: Value) -> Result<ApplicationRules, ApiError> {
    let rules = ApplicationRules::stored(document).ok_or(StoreError::Unreadable("set of rules"));
    Ok(rules?)
}

/// Applications of the store, cached.
pub(crate) struct ApplicationCache {
    store: Arc<dyn ApplicationStore>,
    file_policies: Arc<FilePolicies>,
    compilations: Arc<Compilations>,
    known: Cache<ApplicationId, Arc<LoadedApplication>>,
}

impl ApplicationCache {
    pub(crate) fn new(
        store: Arc<dyn ApplicationStore>,
        file_policies: Arc<FilePolicies>,
        compilations: Arc<Compilations>,
    ) -> Self {
        Self {
            compilations,
            store,
            file_policies,
            known: Cache::new(CAPACITY, TIME_TO_LIVE),
        }
    }

    /// The application named in a request, else the one the caller is bound to.
    pub(crate) async fn resolve(
        &self,
        named: Option<&str>,
        caller: &Caller,
    ) -> Result<Arc<LoadedApplication>, ApiError> {
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

    /// Forgets everything: applications were changed.
    pub(crate) fn invalidate_all(&self) {
        self.known.invalidate_all();
    }

    async fn load(&self, id: ApplicationId) -> Result<Option<Arc<LoadedApplication>>, ApiError> {
        let now = Instant::now();
        if let Some(known) = self.known.get(&id, now) {
            return Ok(Some(known));
        }
        let read_at = self.known.generation();
        let Some(stored) = self.store.application(id).await? else {
            self.known.set(id, None, read_at, now);
            return Ok(None);
        };
        let stored = self.file_policies.in_force(stored);
        // Held until the rules are known to those who wait for them.
        let mut compilation = None;
        let rules = match self.known_rules(&stored) {
            Some(known) => known,
            None => {
                let begun = self.compilations.of(claim(id), &stored.version).await?;
                self.compile(&stored, compilation.insert(begun)).await?
            }
        };
        let loaded = Arc::new(LoadedApplication {
            id,
            version: stored.version,
            policy: stored.policy.and_then(Result::ok),
            rules,
        });
        self.known.set(id, Some(loaded.clone()), read_at, now);
        Ok(Some(loaded))
    }

    /// The rules of an unchanged version are not compiled again.
    fn known_rules(&self, stored: &Application) -> Option<Arc<CompiledRules>> {
        let known = self.known.peek(&stored.id)?;
        (known.version == stored.version).then(|| known.rules.clone())
    }

    async fn compile(
        &self,
        stored: &Application,
        compilation: &Compilation<'_>,
    ) -> Result<Arc<CompiledRules>, ApiError> {
        if let Some(known) = self.known_rules(stored) {
            return Ok(known);
        }
        let rules = read(stored.rules.clone())?;
        let compiled = match rules.has_regexes() {
            true => compilation.run(|| CompiledRules::from(rules)).await?,
            false => rules.into(),
        };
        Ok(Arc::new(compiled))
    }
}

/// Not the share of a caller: whoever needs the rules, they are those of the application.
fn claim(id: ApplicationId) -> Claim {
    Claim {
        tenant: Tenant::new(&id, &()),
        urgency: Urgency::Awaited,
    }
}
