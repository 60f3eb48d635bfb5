//! The analysis as one object: what the HTTP endpoints and the in-process gateway call.

use super::applications::Applications;
use super::authority::Caller;
use super::documents;
use super::erasure;
use super::error::ApiError;
use super::files::Files;
use super::freshness::Freshness;
use super::inline::InlineRules;
use super::keep::{self, Judged, Told};
use super::models::Models;
use super::neighbours::Neighbours;
use super::oidc::Provider;
use super::policies::{self, LocalPolicies, SetPolicyError};
use super::process::{self, Analyst, Asked, Judging, Parameters, ProcessInput};
use super::rate::Rate;
use super::refusals::Refusals;
use super::start::{self, FirstRun, StartError};
use super::tokens::Tokens;
use crate::config::AnalysisSettings;
use crate::judge::Remote;
use crate::policy::PolicyStore;
use monitor_model::{
    AnalysisResponse, ApplicationId, ApplicationPolicy, Policy, Secret, Stage, StoredPolicy,
};
use monitor_store::{Durable, NewRecord, Scope, Store, StoreError};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Checks tokens, analyses messages, keeps and reads records.
pub struct Service {
    pub(super) store: Arc<dyn Store>,
    pub(super) applications: Arc<Applications>,
    pub(super) tokens: Arc<Tokens>,
    freshness: Freshness,
    pub(super) files: Files,
    pub(super) documents: documents::Reader,
    pub(super) analyst: Analyst,
    pub(super) inline_rules: InlineRules,
    rate: Rate,
    max_body: u64,
    pub(super) neighbours: Neighbours,
    /// What it was started with, for people to look at.
    pub(super) settings: AnalysisSettings,
    pub(super) started: Instant,
    pub(super) oidc: Option<Provider>,
    pub(super) refusals: Refusals,
}

impl Service {
    /// Opens the store in `data_dir` (folder 0700, file 0600), brings its schema up to date and, at
    /// the first start, makes an application and a token. The store's writer runs on the calling
    /// runtime, which has to outlive the service.
    ///
    /// # Errors
    /// [`StartError`] when a folder or the store cannot be made, opened or written.
    pub async fn open(
        settings: &AnalysisSettings,
        data_dir: &Path,
    ) -> Result<(Arc<Self>, FirstRun), StartError> {
        Self::open_with(settings, data_dir, Remote::default()).await
    }

    /// The same with servers that are asked beside the engine.
    ///
    /// # Errors
    /// As there.
    pub async fn open_with(
        settings: &AnalysisSettings,
        data_dir: &Path,
        remote: Remote,
    ) -> Result<(Arc<Self>, FirstRun), StartError> {
        let store: Arc<dyn Store> = start::open_store(settings, data_dir).await?;
        let tokens = Arc::new(Tokens::new(store.clone()));
        let applications = Arc::new(Applications::new(store.clone()));
        let first_run = start::first_run(&*store, &tokens, settings).await?;
        let files = Files {
            blobs: start::open_blobs(settings, data_dir)?,
            store: store.clone(),
            limits: settings.attachments,
        };
        let service = Self {
            freshness: Freshness::start(store.clone(), applications.clone(), tokens.clone()),
            applications,
            files,
            documents: documents::Reader::default(),
            refusals: Refusals::start(store.clone()),
            store,
            tokens,
            analyst: Analyst::new(settings.services, Models::read(&settings.detect)?, remote),
            inline_rules: InlineRules::default(),
            rate: Rate::new(settings.requests_per_second),
            max_body: settings.max_body,
            neighbours: Neighbours::default(),
            settings: settings.clone(),
            started: Instant::now(),
            oidc: start::open_provider(settings)?,
        };
        Ok((Arc::new(service), first_run))
    }

    /// Analyses a message and keeps its record; the answer is given only once the record is durable
    /// (§4.3). A second call of the same application, exchange and stage gets the first one's answer.
    ///
    /// # Errors
    /// [`ApiError`]: token, scope, application, field, store.
    pub async fn process(
        &self,
        stage: Stage,
        key: &Secret,
        input: ProcessInput,
    ) -> Result<AnalysisResponse, ApiError> {
        let caller = self.recognise(key, Scope::Ingest).await?;
        let asked = Asked {
            stage,
            input,
            validation: None,
        };
        self.process_as(&caller, asked).await
    }

    /// As [`Service::process`], but the answer is given as soon as it stands and the record is on its
    /// way; the second part ends once that is durable. An earlier record of the same application,
    /// exchange and stage stays, whatever its answer was.
    ///
    /// # Errors
    /// As there; the second part's own is the store's.
    pub async fn judge(
        &self,
        stage: Stage,
        key: &Secret,
        input: ProcessInput,
    ) -> Result<(AnalysisResponse, Durable), ApiError> {
        let caller = self.recognise(key, Scope::Ingest).await?;
        let asked = Asked {
            stage,
            input,
            validation: None,
        };
        let (record, told) = self.analyse(&caller, asked).await?;
        let mut answer = record.answer.clone();
        let durable = erasure::settle_later(self.store.begin_insert(record).await)?;
        Told::restore(told, &mut answer);
        Ok((answer, durable))
    }

    /// Sets an application's policy; it is in force for the gateway of this process at once, for any
    /// other in under a second (CONTRACT 16).
    ///
    /// # Errors
    /// [`SetPolicyError`]; nothing is changed then.
    pub async fn set_policy(
        &self,
        application: ApplicationId,
        policy: Policy,
    ) -> Result<(), SetPolicyError> {
        policies::set(&*self.store, application, policy).await
    }

    /// Every application that has a policy, with what is wrong where it cannot be read.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn policies(&self) -> Result<Vec<StoredPolicy>, StoreError> {
        self.store.policies().await
    }

    /// The policies of this store for the gateway of the same process.
    pub fn policy_store(&self) -> Box<dyn PolicyStore> {
        Box::new(LocalPolicies::new(self.store.clone()))
    }

    /// Makes the applications that a configuration file lists and the store does not have, so that
    /// their messages are accepted. Their policies stay in the file.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written.
    pub async fn ensure_applications(
        &self,
        listed: &[ApplicationPolicy],
    ) -> Result<(), StoreError> {
        for application in listed {
            if self.store.application(application.id).await?.is_none() {
                let (id, name) = (application.id, application.name.clone());
                let added =
                    start::add_application(&*self.store, (id, name, json!({})), "configuration")
                        .await;
                // Another server may have been first.
                if added.is_err() && self.store.application(id).await?.is_none() {
                    return added;
                }
            }
        }
        Ok(())
    }

    /// Writes what is queued and closes the store. Calls after it get [`ApiError::StoreDown`].
    pub async fn shutdown(&self) {
        self.freshness.stop().await;
        self.refusals.stop().await;
        self.store.close().await;
    }

    pub(super) fn max_body(&self) -> u64 {
        self.max_body
    }

    /// Who makes a call over HTTP, which counts as one request of the token.
    pub(super) async fn authorise(&self, key: &Secret, scope: Scope) -> Result<Caller, ApiError> {
        self.authorise_any(key, &[scope]).await
    }

    /// Like [`Service::authorise`], for what any of several scopes allows.
    pub(super) async fn authorise_any(
        &self,
        key: &Secret,
        scopes: &[Scope],
    ) -> Result<Caller, ApiError> {
        let caller = self.tokens.authorise(key, scopes).await?;
        self.admit(&caller)?;
        Ok(caller)
    }

    /// Who makes a call whose requests are counted elsewhere, or not at all.
    pub(super) async fn recognise(&self, key: &Secret, scope: Scope) -> Result<Caller, ApiError> {
        self.tokens.authorise(key, &[scope]).await
    }

    /// Believes nothing that is remembered of applications and tokens: they were changed.
    pub(super) fn doubt_settings(&self) {
        self.applications.doubt();
        self.tokens.doubt();
    }

    /// Counts one request of the caller's token.
    pub(super) fn admit(&self, caller: &Caller) -> Result<(), ApiError> {
        match caller.token_id {
            Some(id) => self.rate.take(id, Instant::now()),
            None => Ok(()),
        }
    }

    pub(super) async fn process_as(
        &self,
        caller: &Caller,
        asked: Asked,
    ) -> Result<AnalysisResponse, ApiError> {
        let (record, told) = self.analyse(caller, asked).await?;
        let own = record.answer.clone();
        let mut answer = erasure::settle(self.store.insert(record).await, own)?;
        Told::restore(told, &mut answer);
        Ok(answer)
    }

    /// The record of a message, not kept yet, and what of its answer is told differently.
    async fn analyse(
        &self,
        caller: &Caller,
        asked: Asked,
    ) -> Result<(NewRecord, Option<Told>), ApiError> {
        let Asked {
            stage,
            input,
            validation,
        } = asked;
        let application = self
            .applications
            .resolve(input.application_id.as_deref(), caller)
            .await?;
        let mut parameters = Parameters::read(&input.additional_parameters)?;
        parameters.chain = process::chained(stage, &input, &parameters);
        let inline = match validation {
            Some(validation) => Some(self.inline_rules.compile(validation).await?),
            None => None,
        };
        let judging = Judging {
            application,
            stage,
            inline,
        };
        let judged = self.judged(&judging, input, parameters).await?;
        Ok(keep::record(&judging, judged))
    }

    async fn judged(
        &self,
        judging: &Judging,
        mut input: ProcessInput,
        parameters: Parameters,
    ) -> Result<Judged, ApiError> {
        let by = (judging.stage, judging.rules());
        let (message, mut report) = self.analyst.judge(by, input.message).await?;
        if !judging.application.rules.keep_original {
            let (engine, rules) = (&self.analyst.engine, judging.rules());
            keep::clean_error(engine, rules, &mut input.additional_parameters);
            keep::clean_reasons(engine, rules, &mut report.custom_policy);
        }
        Ok(Judged {
            parameters,
            message,
            additional_parameters: input.additional_parameters,
            masked_text: report.masked_text.take(),
            cleaned_in_part: report.cleaned_in_part,
            answer: judging.answer(report),
        })
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }
}
