//! Creating, changing and removing applications (CONTRACT 38). Every change names the version it was made
//! from, so that none is lost, and is in force in this process when it is answered. `draft` checks what a
//! change may contain, `access::caller` who may make it.

use super::Admin;
use super::changes::audited;
use super::draft::{Content, Edit, Part};
use crate::analysis::access::caller::Caller;
use crate::analysis::audit::{Action, Target};
use crate::analysis::clock::now_ms;
use crate::analysis::error::{ApiError, FieldProblem};
use monitor_model::ApplicationId;
use monitor_store::{
    Account, AccountStore, Application, ApplicationChange, ApplicationFilter, ApplicationPage,
    ApplicationVersion, Changed, StoreError, VersionLimits,
};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// Accounts read at once.
const ACCOUNTS_PER_PAGE: u32 = 1_000;

/// The version of an application that a change was made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Basis {
    pub(crate) id: ApplicationId,
    pub(crate) version: i64,
}

/// Where the new content comes from.
#[derive(Clone, Copy, Debug)]
enum ContentOrigin {
    Changed,
    /// From this earlier version.
    Restored(i64),
}

impl Admin {
    /// One page of applications; a bound caller sees its own one.
    pub(crate) async fn list_applications(
        &self,
        caller: &Caller,
        mut filter: ApplicationFilter,
    ) -> Result<ApplicationPage, ApiError> {
        filter.id = caller.narrow(None)?;
        let applications = self.applications.clone();
        let read = async move { applications.applications(&filter).await };
        let mut page = self.reads.read(caller, read).await?;
        let found = page.applications.into_iter();
        page.applications = found.map(|it| self.file_policies.in_force(it)).collect();
        Ok(page)
    }

    /// An application that the caller can see.
    pub(crate) async fn find_application(
        &self,
        caller: &Caller,
        id: ApplicationId,
    ) -> Result<Application, ApiError> {
        let stored = self.stored_application(caller, id).await?;
        Ok(self.file_policies.in_force(stored))
    }

    /// The same with the policy that is stored, whether it is in force or not.
    async fn stored_application(
        &self,
        caller: &Caller,
        id: ApplicationId,
    ) -> Result<Application, ApiError> {
        caller.must_reach(id)?;
        let filter = ApplicationFilter {
            id: Some(id),
            name: None,
            after: None,
            limit: 1,
        };
        let applications = self.applications.clone();
        let read = async move { applications.applications(&filter).await };
        let found = self.reads.read(caller, read).await?.applications;
        found.into_iter().next().ok_or(ApiError::NotFound)
    }

    /// Whether the policy of an application is in the configuration file.
    pub(crate) fn is_in_file(&self, id: ApplicationId) -> bool {
        self.file_policies.policy(id).is_some()
    }

    /// An edit without a policy, where the configuration file has the one that is in force.
    fn beside_file(&self, id: ApplicationId, edit: Edit) -> Result<Edit, ApiError> {
        match self.file_policies.policy(id) {
            Some(in_force) => edit.beside(&in_force),
            None => Ok(edit),
        }
    }

    /// The names of those of these applications that the caller sees; a removed application has none.
    pub(crate) async fn application_names(
        &self,
        caller: &Caller,
        ids: impl Iterator<Item = ApplicationId>,
    ) -> Result<HashMap<ApplicationId, String>, ApiError> {
        let seen: HashSet<_> = ids.filter(|id| caller.sees(Some(*id))).collect();
        let seen: Vec<_> = seen.into_iter().collect();
        let names = match seen.is_empty() {
            true => Vec::new(),
            false => {
                let applications = self.applications.clone();
                let read = async move { applications.application_names(&seen).await };
                self.reads.read(caller, read).await?
            }
        };
        Ok(names.into_iter().collect())
    }

    /// Creates an application.
    pub(crate) async fn create_application(
        &self,
        caller: &Caller,
        id: Option<ApplicationId>,
        edit: Edit,
    ) -> Result<Application, ApiError> {
        caller.must_be_unbound()?;
        let made = bare_application(
            id.unwrap_or_else(ApplicationId::random),
            String::new(),
            json!({}),
        );
        let edit = self.beside_file(made.id, edit)?;
        let (mut made, content) = self.checked(caller, edit, made).await?;
        let changes = content.changes(&made);
        if id.is_some() && self.applications.application(made.id).await?.is_some() {
            return Err(ApiError::Conflict("id: an application has it already"));
        }
        content.fill(&mut made);
        let details = audited(&changes, json!({"version_from": null, "version_to": 1}));
        let target = Target::Application(made.id);
        let entry = Action::ApplicationCreate.entry(caller, target, details);
        self.applications
            .add_application(made.clone(), &caller.name, Some(entry))
            .await?;
        self.application_cache.invalidate_all();
        self.until_in_force().await;
        Ok(self.file_policies.in_force(made))
    }

    /// Changes an application and returns the result.
    pub(crate) async fn change_application(
        &self,
        caller: &Caller,
        basis: Basis,
        edit: Edit,
    ) -> Result<Application, ApiError> {
        let base = self.base(caller, basis).await?;
        let edit = self.beside_file(basis.id, edit)?;
        self.change(caller, base, edit, ContentOrigin::Changed)
            .await
    }

    /// Makes the content of an earlier version the latest again, as a new version.
    pub(crate) async fn restore_application(
        &self,
        caller: &Caller,
        basis: Basis,
        earlier: i64,
    ) -> Result<Application, ApiError> {
        let base = self.base(caller, basis).await?;
        let version = self.stored_version(caller, &base, earlier).await?;
        let unknown = || FieldProblem::new("restore", "the application has no such version");
        let version = version.ok_or_else(unknown)?;
        let edit = Edit {
            name: Some(version.name),
            description: Some(version.description),
            rules: Some(Part::Replace(version.rules)),
            policy: (!self.is_in_file(basis.id))
                .then(|| Part::Replace(version.policy.unwrap_or(Value::Null))),
        };
        self.change(caller, base, edit, ContentOrigin::Restored(earlier))
            .await
    }

    /// Removes an application with its tokens, its records and the accounts that are bound to it. If there
    /// are such accounts, this requires a caller who may change accounts.
    pub(crate) async fn remove_application(
        &self,
        caller: &Caller,
        basis: Basis,
    ) -> Result<(), ApiError> {
        caller.must_be_unbound()?;
        if self.is_in_file(basis.id) {
            return Err(ApiError::Conflict(
                "the configuration file (applications) lists this application: remove it there first",
            ));
        }
        let accounts = accounts_bound_to(&*self.accounts, basis.id).await?;
        if accounts > 0 {
            caller.must_administer()?;
        }
        let mut details = json!({"version_from": basis.version, "version_to": null});
        if let (1.., Value::Object(details)) = (accounts, &mut details) {
            details.insert("accounts".to_owned(), accounts.into());
        }
        let target = Target::Application(basis.id);
        let entry = Action::ApplicationRemove.entry(caller, target, details);
        let removed = self
            .applications
            .remove_application(basis.id, basis.version, Some(entry))
            .await?;
        done(removed)?;
        self.application_cache.invalidate_all();
        self.token_cache.invalidate_all();
        self.until_in_force().await;
        Ok(())
    }

    /// One page of versions, newest first, and `before` of the next page.
    pub(crate) async fn list_versions(
        &self,
        caller: &Caller,
        id: ApplicationId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<(Vec<ApplicationVersion>, Option<i64>), ApiError> {
        self.find_application(caller, id).await?;
        let asked = limit.saturating_add(1);
        let mut versions = self.versions(caller, id, before, asked).await?;
        let is_last = versions.len() <= limit as usize;
        versions.truncate(limit as usize);
        let next = versions.last().map(|version| version.version);
        Ok((versions, next.filter(|_| !is_last)))
    }

    /// A version of an application that the caller can see.
    pub(crate) async fn find_version(
        &self,
        caller: &Caller,
        id: ApplicationId,
        version: i64,
    ) -> Result<ApplicationVersion, ApiError> {
        let application = self.find_application(caller, id).await?;
        let found = self.stored_version(caller, &application, version).await?;
        found.ok_or(ApiError::NotFound)
    }

    async fn versions(
        &self,
        caller: &Caller,
        id: ApplicationId,
        before: Option<i64>,
        asked: u32,
    ) -> Result<Vec<ApplicationVersion>, ApiError> {
        let applications = self.applications.clone();
        let read = async move { applications.application_versions(id, before, asked).await };
        self.reads.read(caller, read).await
    }

    async fn stored_version(
        &self,
        caller: &Caller,
        application: &Application,
        version: i64,
    ) -> Result<Option<ApplicationVersion>, ApiError> {
        let before = version.checked_add(1);
        let versions = self.versions(caller, application.id, before, 1).await?;
        Ok(versions.into_iter().find(|found| found.version == version))
    }

    /// The application that a change applies to, if it is still at the version the change was made from.
    async fn base(&self, caller: &Caller, basis: Basis) -> Result<Application, ApiError> {
        let base = self.stored_application(caller, basis.id).await?;
        match base.version == basis.version {
            true => Ok(base),
            false => Err(ApiError::VersionConflict(base.version)),
        }
    }

    /// Applies an edit to an application. This compiles its rules.
    async fn checked(
        &self,
        caller: &Caller,
        edit: Edit,
        base: Application,
    ) -> Result<(Application, Content), ApiError> {
        let claim = caller.awaited(base.id);
        let check = move || edit.over(&base).map(|content| (base, content));
        self.compilations.run(claim, check).await?
    }

    async fn change(
        &self,
        caller: &Caller,
        base: Application,
        edit: Edit,
        origin: ContentOrigin,
    ) -> Result<Application, ApiError> {
        let (mut base, content) = self.checked(caller, edit, base).await?;
        let changes = content.changes(&base);
        content.fill(&mut base);
        base.updated_at_ms = now_ms();
        let (action, restored) = match origin {
            ContentOrigin::Changed => (Action::ApplicationChange, None),
            ContentOrigin::Restored(version) => (Action::ApplicationRestore, Some(version)),
        };
        let versions = json!({"version_from": base.version, "version_to": base.version + 1});
        let mut details = audited(&changes, versions);
        if let (Some(version), Value::Object(details)) = (restored, &mut details) {
            details.insert("restored".to_owned(), version.into());
        }
        let action = self.audit.admit(caller, action)?;
        let entry = action.entry(caller, Target::Application(base.id), details);
        let change = as_change(&base, &caller.name, self.keep_versions);
        let changed = self.applications.change_application(change, Some(entry));
        base.version = done(changed.await?)?;
        self.application_cache.invalidate_all();
        self.until_in_force().await;
        Ok(self.file_policies.in_force(base))
    }
}

/// How many accounts are bound to this application.
async fn accounts_bound_to(
    store: &dyn AccountStore,
    id: ApplicationId,
) -> Result<usize, StoreError> {
    let (mut bound, mut after) = (0, None::<String>);
    loop {
        let page = store.accounts(after.as_deref(), ACCOUNTS_PER_PAGE).await?;
        let own = |account: &&Account| account.application_id == Some(id);
        bound += page.iter().filter(own).count();
        match page.last() {
            Some(last) => after = Some(last.name.clone()),
            None => return Ok(bound),
        }
    }
}

impl Content {
    fn fill(self, application: &mut Application) {
        application.name = self.name;
        application.description = self.description;
        application.rules = self.rules;
        application.policy = self.policy.map(Ok);
    }
}

fn as_change(
    application: &Application,
    changed_by: &str,
    keep: VersionLimits,
) -> ApplicationChange {
    let policy = application.policy.as_ref();
    ApplicationChange {
        id: application.id,
        expected_version: application.version,
        name: application.name.clone(),
        description: application.description.clone(),
        rules: application.rules.clone(),
        policy: policy.and_then(|policy| policy.as_ref().ok()).cloned(),
        changed_at_ms: application.updated_at_ms,
        changed_by: changed_by.to_owned(),
        keep,
    }
}

/// The rules of an application that nobody has chosen rules for: sensitive data, and guardrails in prompts.
pub(crate) fn first_rules() -> Value {
    json!({"pre": {"guardrails": {}}})
}

/// An application without a policy, created now. Rules without keys take the defaults of the running
/// version, also of a later one.
pub(crate) fn bare_application(id: ApplicationId, name: String, rules: Value) -> Application {
    let created_at_ms = now_ms();
    Application {
        id,
        name,
        description: String::new(),
        created_at_ms,
        updated_at_ms: created_at_ms,
        version: 1,
        policy: None,
        rules,
    }
}

fn done(changed: Changed) -> Result<i64, ApiError> {
    match changed {
        Changed::Done(version) => Ok(version),
        Changed::Conflict(latest) => Err(ApiError::VersionConflict(latest)),
        Changed::Unknown => Err(ApiError::NotFound),
    }
}
