//! The application of a message, with its compiled rules (§2.7, CONTRACT 7 and 27).

use super::compilation::Compilations;
use crate::analysis::access::caller::Caller;
use crate::analysis::cache::{Cache, Generation};
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
/// Rules of which regexes were left out because compiling took too long are compiled again after this time.
const RETRY: Duration = Duration::from_secs(60);

/// An application with its rules compiled.
pub(crate) struct LoadedApplication {
    pub(crate) id: ApplicationId,
    pub(crate) version: i64,
    pub(crate) created_at_ms: i64,
    pub(crate) policy: Option<Policy>,
    pub(crate) rules: Arc<CompiledRules>,
}

/// When an application was read.
#[derive(Clone, Copy)]
struct ReadAt {
    generation: Generation,
    now: Instant,
}

/// The compiled rules of an application. A regex that no longer compiles is reported with every verdict.
pub(crate) struct CompiledRules {
    pub(crate) keep_original: bool,
    pre: Arc<Compiled>,
    post: Arc<Compiled>,
    compiled_at: Instant,
    is_cut_short: bool,
}

impl CompiledRules {
    /// The rules of one direction.
    pub(crate) fn of(&self, stage: Stage) -> &Arc<Compiled> {
        match stage {
            Stage::PreCall => &self.pre,
            Stage::PostCall => &self.post,
        }
    }

    /// Whether regexes were left out because compiling took too long, and it is time to try again.
    fn is_due_again(&self, now: Instant) -> bool {
        self.is_cut_short && now.saturating_duration_since(self.compiled_at) >= RETRY
    }
}

impl From<ApplicationRules> for CompiledRules {
    fn from(rules: ApplicationRules) -> Self {
        let pre = Compiled::of(Stage::PreCall, rules.pre);
        let post = Compiled::of(Stage::PostCall, rules.post);
        Self {
            keep_original: rules.keep_original,
            is_cut_short: pre.is_cut_short() || post.is_cut_short(),
            pre: Arc::new(pre),
            post: Arc::new(post),
            compiled_at: Instant::now(),
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
        self: &Arc<Self>,
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

    async fn load(
        self: &Arc<Self>,
        id: ApplicationId,
    ) -> Result<Option<Arc<LoadedApplication>>, ApiError> {
        let now = Instant::now();
        if let Some(known) = self.known.get(&id, now) {
            return Ok(Some(known));
        }
        let generation = self.known.generation();
        let Some(stored) = self.store.application(id).await? else {
            self.known.set(id, None, generation, now);
            return Ok(None);
        };
        let stored = self.file_policies.in_force(stored);
        let read_at = ReadAt { generation, now };
        let loaded = match self.known_rules(&stored, now) {
            Some(rules) => self.keep(stored, rules, read_at),
            None => self.compile(stored, read_at).await?,
        };
        Ok(Some(loaded))
    }

    /// The rules of an unchanged version are not compiled again.
    fn known_rules(&self, stored: &Application, now: Instant) -> Option<Arc<CompiledRules>> {
        let known = self.known.peek(&stored.id)?;
        let is_current = known.version == stored.version && !known.rules.is_due_again(now);
        is_current.then(|| known.rules.clone())
    }

    async fn compile(
        self: &Arc<Self>,
        stored: Application,
        read_at: ReadAt,
    ) -> Result<Arc<LoadedApplication>, ApiError> {
        let rules = read(stored.rules.clone())?;
        if !rules.has_regexes() {
            return Ok(self.keep(stored, Arc::new(rules.into()), read_at));
        }
        let claim = claim(stored.id);
        let compilation = self.compilations.of_stored(claim, &stored.version).await?;
        if let Some(rules) = self.known_rules(&stored, read_at.now) {
            return Ok(self.keep(stored, rules, read_at));
        }
        let cache = self.clone();
        let compile = async move {
            let compiled = compilation.run(|| CompiledRules::from(rules)).await?;
            let loaded = cache.keep(stored, Arc::new(compiled), read_at);
            // Held until the rules are known to those who wait for them.
            drop(compilation);
            Ok(loaded)
        };
        // Goes on when the caller leaves: its turn is not lost, and whoever comes next finds the rules compiled.
        let compiled = tokio::spawn(compile).await;
        compiled.unwrap_or(Err(ApiError::Internal))
    }

    fn keep(
        &self,
        stored: Application,
        rules: Arc<CompiledRules>,
        read_at: ReadAt,
    ) -> Arc<LoadedApplication> {
        let loaded = Arc::new(LoadedApplication {
            id: stored.id,
            version: stored.version,
            created_at_ms: stored.created_at_ms,
            policy: stored.policy.and_then(Result::ok),
            rules,
        });
        let ReadAt { generation, now } = read_at;
        self.known
            .set(loaded.id, Some(loaded.clone()), generation, now);
        loaded
    }
}

/// Not the share of a caller: whoever needs the rules, they are those of the application.
fn claim(id: ApplicationId) -> Claim {
    Claim {
        tenant: Tenant::new(&id, &()),
        urgency: Urgency::Awaited,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::AnalysisQueue;
    use monitor_detect::Rules;
    use monitor_store::{SqliteStore, StoreEngine};
    use serde_json::json;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn rules_are_compiled_also_when_the_caller_leaves() {
        let file = std::env::temp_dir().join(format!("{}.db", uuid::Uuid::new_v4()));
        let store = Arc::new(SqliteStore::open(&file).await.unwrap());
        let pattern = json!({"name": "N", "regex": "N[0-9]+"});
        let rules = json!({"pre": {"dataclean": {"patterns": [pattern]}}});
        let id = ApplicationId::random();
        let application = Application {
            id,
            name: "bot".to_owned(),
            description: String::new(),
            created_at_ms: 0,
            updated_at_ms: 0,
            version: 1,
            policy: None,
            rules,
        };
        store
            .add_application(application, "test", None)
            .await
            .unwrap();
        let compilations = Compilations::new(AnalysisQueue::default(), None);
        let cache = ApplicationCache::new(store.clone(), Arc::default(), compilations.clone());
        let cache = Arc::new(cache);
        let turn = compilations.hold_turn_of_store().await;
        let caller = tokio::spawn({
            let cache = cache.clone();
            async move { cache.load(id).await.is_ok() }
        });
        while compilations.waiting_of_store() == 0 {
            yield_now().await;
        }
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        drop(turn);
        while cache.known.peek(&id).is_none() {
            yield_now().await;
        }
        store.close().await;
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn rules_that_time_cut_short_are_compiled_again_after_a_while() {
        let compiled = Arc::new(Compiled::new(Rules::default()));
        let rules = |is_cut_short| CompiledRules {
            keep_original: false,
            pre: compiled.clone(),
            post: compiled.clone(),
            compiled_at: Instant::now(),
            is_cut_short,
        };
        assert!(!rules(false).is_due_again(Instant::now() + RETRY));
        let cut = rules(true);
        assert!(!cut.is_due_again(cut.compiled_at) && cut.is_due_again(cut.compiled_at + RETRY));
    }
}
