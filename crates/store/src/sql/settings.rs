//! Applications, versions, policies, tokens and audit entries from their columns.

use super::columns::Columns;
use crate::error::StoreError;
use crate::settings::applications::{Application, ApplicationVersion};
use crate::settings::audit::AuditEntry;
use crate::settings::token_id::TokenId;
use crate::settings::tokens::{Scopes, Token};
use monitor_model::{ApplicationId, Policy, PolicyProblem, PolicyProblems, StoredPolicy};

/// An application, from the columns of `applications`.
pub(crate) fn application(row: &impl Columns) -> Result<Application, StoreError> {
    let created_at_ms = row.number("created_at_ms")?;
    Ok(Application {
        id: ApplicationId(row.id("id")?),
        name: row.text("name")?,
        description: row.text("description")?,
        created_at_ms,
        // 0 in a row of an early version that never changed.
        updated_at_ms: row.number("updated_at_ms")?.max(created_at_ms),
        version: row.number("rules_version")?,
        rules: row.rules()?,
        policy: row.optional_raw("policy")?.map(Policy::from_json),
    })
}

/// A version of an application, from the columns of `application_versions`.
pub(crate) fn version(row: &impl Columns) -> Result<ApplicationVersion, StoreError> {
    let policy = row.optional_raw("policy")?.map(serde_json::from_str);
    let unreadable = |_| StoreError::Unreadable("version of an application");
    Ok(ApplicationVersion {
        version: row.number("version")?,
        name: row.text("name")?,
        description: row.text("description")?,
        rules: row.rules()?,
        policy: policy.transpose().map_err(unreadable)?,
        changed_at_ms: row.number("changed_at_ms")?,
        changed_by: row.text("changed_by")?,
    })
}

/// The identifier and the name of an application.
pub(crate) fn named(row: &impl Columns) -> Result<(ApplicationId, String), StoreError> {
    Ok((ApplicationId(row.id("id")?), row.text("name")?))
}

/// A policy, from the columns of the view `gateway_policies`.
pub(crate) fn stored_policy(row: &impl Columns) -> Result<StoredPolicy, StoreError> {
    let policy = row.optional_raw("policy")?;
    let empty = || PolicyProblems(vec![PolicyProblem::new("", "is empty")]);
    Ok(StoredPolicy {
        id: ApplicationId(row.id("application_id")?),
        name: row.text("name")?,
        policy: policy.ok_or_else(empty).and_then(Policy::from_json),
    })
}

/// A token, from the columns of `tokens`.
pub(crate) fn token(row: &impl Columns) -> Result<Token, StoreError> {
    Ok(Token {
        id: TokenId(row.id("id")?),
        name: row.text("name")?,
        scopes: Scopes::from_bits(row.number("scopes")?),
        application_id: row.optional_id("application_id")?.map(ApplicationId),
        created_at_ms: row.number("created_at_ms")?,
        expires_at_ms: row.optional_number("expires_at_ms")?,
        revoked_at_ms: row.optional_number("revoked_at_ms")?,
        last_used_at_ms: row.optional_number("last_used_at_ms")?,
    })
}

/// An entry of the audit log.
pub(crate) fn audit_entry(row: &impl Columns) -> Result<AuditEntry, StoreError> {
    Ok(AuditEntry {
        seq: row.number("seq")?,
        at_ms: row.number("at_ms")?,
        actor: row.text("actor")?,
        token_id: row.optional_id("token_id")?.map(TokenId),
        action: row.text("action")?,
        target: row.text("target")?,
        application_id: row.optional_id("application_id")?.map(ApplicationId),
        details: serde_json::from_str(row.raw("details")?)
            .map_err(|_| StoreError::Unreadable("entry of the audit log"))?,
    })
}
