//! The services of the analysis server, built in one place; both front ends and the gateway of `monitor all`
//! call them.

use super::access::Access;
use super::access::token_cache::TokenCache;
use super::admin::Admin;
use super::audit::AuditLog;
use super::ingest::Ingest;
use super::ingest::analyzer::MessageAnalyzer;
use super::ingest::application_cache::ApplicationCache;
use super::ingest::cache_invalidation::CacheInvalidation;
use super::ingest::gateway_registry::GatewayRegistry;
use super::ingest::inline_rules::InlineRulesCache;
use super::ingest::models::Models;
use super::people::People;
use super::people::refused_sign_ins::RefusedSignIns;
use super::people::sign_in_limits::SignInLimits;
use super::records::files::Files;
use super::records::{Records, documents};
use super::start_error::StartError;
use super::startup::{self, FirstRun};
use crate::config::AnalysisSettings;
use crate::judge::Remote;
use monitor_store::Store;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The analysis server without its front ends.
pub struct Services {
    /// Who may call.
    pub access: Arc<Access>,
    /// Messages in, verdicts and records out.
    pub ingest: Ingest,
    /// Applications, tokens, trials and replays.
    pub admin: Admin,
    /// Accounts and sign-ins of the web UI.
    pub people: People,
    /// What is stored.
    pub records: Records,
    /// The settings it was started with, which the status page shows.
    pub(super) settings: AnalysisSettings,
    pub(super) started: Instant,
    store: Arc<dyn Store>,
    invalidation: CacheInvalidation,
}

impl Services {
    /// Opens the store in `data_dir` (folder 0700, file 0600), brings its schema up to date and, at
    /// the first start, makes an application and a token. The store's writer runs on the calling
    /// runtime, which has to outlive the services.
    ///
    /// # Errors
    /// [`StartError`] when a folder or the store cannot be made, opened or written.
    pub async fn open(
        settings: &AnalysisSettings,
        data_dir: &Path,
    ) -> Result<(Arc<Self>, FirstRun), StartError> {
        Self::open_with(settings, data_dir, Remote::default()).await
    }

    /// Like [`Services::open`], with remote checks besides the engine.
    ///
    /// # Errors
    /// [`StartError`] when a folder, the store or a model cannot be made, opened or written.
    pub async fn open_with(
        settings: &AnalysisSettings,
        data_dir: &Path,
        remote: Remote,
    ) -> Result<(Arc<Self>, FirstRun), StartError> {
        let store: Arc<dyn Store> = startup::open_store(settings, data_dir).await?;
        let tokens = Arc::new(TokenCache::new(store.clone()));
        let first_run = startup::first_run(&*store, &tokens, settings).await?;
        let applications = Arc::new(ApplicationCache::new(store.clone()));
        let models = Models::read(&settings.detect)?;
        let analyzer = Arc::new(MessageAnalyzer::new(settings.services, models, remote));
        let inline_rules = Arc::new(InlineRulesCache::default());
        let audit = AuditLog::new(store.clone());
        let access = Arc::new(Access::new(tokens.clone(), settings.requests_per_second));
        let services = Self {
            ingest: Ingest {
                store: store.clone(),
                access: access.clone(),
                applications: applications.clone(),
                analyzer: analyzer.clone(),
                inline_rules: inline_rules.clone(),
                max_body: settings.max_body,
                gateways: GatewayRegistry::default(),
            },
            records: Records {
                store: store.clone(),
                access: access.clone(),
                audit: audit.clone(),
                files: Files {
                    blobs: startup::open_blobs(settings, data_dir)?,
                    store: store.clone(),
                    limits: settings.attachments,
                },
                documents: documents::Reader::default(),
                applications: applications.clone(),
                analyzer: analyzer.clone(),
            },
            people: People {
                store: store.clone(),
                audit: audit.clone(),
                oidc: startup::open_provider(settings)?,
                refused_sign_ins: RefusedSignIns::start(store.clone()),
                limits: SignInLimits::default(),
            },
            access,
            invalidation: CacheInvalidation::start(
                store.clone(),
                applications.clone(),
                tokens.clone(),
            ),
            admin: Admin {
                store: store.clone(),
                audit,
                tokens,
                applications,
                analyzer,
                inline_rules,
            },
            settings: settings.clone(),
            started: Instant::now(),
            store,
        };
        Ok((Arc::new(services), first_run))
    }

    /// Writes what is queued and closes the store. Calls after it get [`super::ApiError::StoreDown`].
    pub async fn shutdown(&self) {
        self.invalidation.stop().await;
        self.people.refused_sign_ins.stop().await;
        self.store.close().await;
    }

    /// The store, for tests that look at what was stored.
    #[cfg(test)]
    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }
}
