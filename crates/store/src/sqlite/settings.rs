//! Applications, tokens and the audit log as the trait asks for them; the SQL is in the files beside.

use super::write::Write;
use super::writer::Written;
use super::{SqliteStore, applications, audit, tokens};
use crate::{
    Application, ApplicationChange, ApplicationFilter, ApplicationPage, ApplicationVersion,
    AuditEntry, AuditFilter, Changed, SettingsStore, StoreError, Token, TokenChange, TokenHash,
    TokenId,
};
use async_trait::async_trait;
use monitor_model::ApplicationId;

#[async_trait]
impl SettingsStore for SqliteStore {
    async fn first_application(&self) -> Result<Option<Application>, StoreError> {
        applications::first(&self.readers).await
    }

    async fn application(&self, id: ApplicationId) -> Result<Option<Application>, StoreError> {
        applications::one(&self.readers, id).await
    }

    async fn add_application(&self, application: Application, by: &str) -> Result<(), StoreError> {
        self.write_setting(Write::Application(Box::new(application), by.to_owned()))
            .await
            .map(drop)
    }

    async fn has_tokens(&self) -> Result<bool, StoreError> {
        tokens::any_made(&self.readers).await
    }

    async fn application_names(
        &self,
        ids: &[ApplicationId],
    ) -> Result<Vec<(ApplicationId, String)>, StoreError> {
        applications::names(&self.readers, ids).await
    }

    async fn token(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError> {
        tokens::by_hash(&self.readers, hash).await
    }

    async fn add_token(&self, hash: TokenHash, token: Token) -> Result<(), StoreError> {
        self.write_setting(Write::Token(hash, Box::new(token)))
            .await
            .map(drop)
    }

    fn touch_token(&self, id: TokenId, used_at_ms: i64) {
        self.writer.write_later(Write::Touch(id, used_at_ms));
    }

    async fn applications(
        &self,
        filter: &ApplicationFilter,
    ) -> Result<ApplicationPage, StoreError> {
        applications::page(&self.readers, filter).await
    }

    async fn change_application(&self, change: ApplicationChange) -> Result<Changed, StoreError> {
        let change = Write::ChangeApplication(Box::new(change));
        self.change(change).await
    }

    async fn remove_application(
        &self,
        id: ApplicationId,
        expected_version: i64,
    ) -> Result<Changed, StoreError> {
        self.change(Write::RemoveApplication(id, expected_version))
            .await
    }

    async fn application_versions(
        &self,
        id: ApplicationId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ApplicationVersion>, StoreError> {
        applications::versions(&self.readers, id, before, limit).await
    }

    async fn tokens(
        &self,
        application: Option<ApplicationId>,
        before: Option<(i64, TokenId)>,
        limit: u32,
    ) -> Result<Vec<Token>, StoreError> {
        tokens::page(&self.readers, application, before, limit).await
    }

    async fn token_by_id(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        tokens::by_id(&self.readers, id).await
    }

    async fn change_token(
        &self,
        id: TokenId,
        change: TokenChange,
    ) -> Result<Option<Token>, StoreError> {
        match self.write_setting(Write::ChangeToken(id, change)).await? {
            Written::Token(token) => Ok(token.map(|token| *token)),
            _ => Ok(None),
        }
    }

    async fn add_audit(&self, entry: AuditEntry) -> Result<(), StoreError> {
        self.writer
            .write(Write::Audit(Box::new(entry)))
            .await
            .map(drop)
    }

    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, StoreError> {
        audit::page(&self.readers, filter).await
    }

    async fn settings_changed(&self) {
        self.changes.wait(&self.readers).await;
    }
}

impl SqliteStore {
    async fn change(&self, write: Write) -> Result<Changed, StoreError> {
        match self.write_setting(write).await? {
            Written::Changed(changed) => Ok(changed),
            _ => Ok(Changed::Unknown),
        }
    }

    /// Makes a change and tells everybody in this process who waits for one.
    async fn write_setting(&self, write: Write) -> Result<Written, StoreError> {
        let written = self.writer.write(write).await?;
        self.changes.written();
        self.policy_written.send_replace(());
        Ok(written)
    }
}
