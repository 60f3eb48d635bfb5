//! The analysis as one object: what the HTTP endpoints and the in-process gateway call.

use super::applications::Applications;
use super::error::{ApiError, Resource};
use super::inline::InlineRules;
use super::keep::{self, Judged, Told};
use super::policies::{self, LocalPolicies, SetPolicyError};
use super::process::{Analyst, Asked, Judging, Parameters, ProcessInput};
use super::rate::Rate;
use super::start::{self, FirstRun, StartError};
use super::tokens::{self, Tokens};
use crate::config::settings::AnalysisSettings;
use crate::model::{
    AnalysisResponse, ApplicationId, ApplicationPolicy, Policy, RecordId, Secret, Stage,
    StoredPolicy,
};
use crate::policy::PolicyStore;
use crate::store::{
    RecordFilter, RecordPage, Scope, Scopes, Store, StoreError, StoredRecord, Token,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Checks tokens, analyses messages, keeps and reads records.
pub struct Service {
    pub(super) store: Arc<dyn Store>,
    applications: Applications,
    tokens: Tokens,
    pub(super) analyst: Analyst,
    pub(super) inline_rules: InlineRules,
    rate: Rate,
    max_body: u64,
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
        let store: Arc<dyn Store> = start::open_store(settings, data_dir).await?;
        let tokens = Tokens::new(store.clone());
        let first_run = start::first_run(&*store, &tokens, settings.first_token.as_ref()).await?;
        let service = Self {
            applications: Applications::new(store.clone()),
            store,
            tokens,
            analyst: Analyst::new(settings.services),
            inline_rules: InlineRules::default(),
            rate: Rate::new(settings.requests_per_second),
            max_body: settings.max_body,
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
        let token = self.recognise(key, Scope::Ingest).await?;
        let asked = Asked {
            stage,
            input,
            validation: None,
        };
        self.process_as(&token, asked).await
    }

    /// Makes a token; this is the only time its value is seen (CONTRACT 30).
    ///
    /// # Errors
    /// [`StartError::Store`] and [`StartError::Random`].
    pub async fn create_token(
        &self,
        name: &str,
        scopes: Scopes,
        application: Option<ApplicationId>,
    ) -> Result<Secret, StartError> {
        let value = tokens::random_value().map_err(|_| StartError::Random)?;
        self.tokens.add(&value, name, scopes, application).await?;
        Ok(value)
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
                let added = start::add_application(&*self.store, id, name).await;
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
        self.store.close().await;
    }

    pub(super) fn max_body(&self) -> u64 {
        self.max_body
    }

    /// The token of a call over HTTP, which counts as one request of it.
    pub(super) async fn authorise(&self, key: &Secret, scope: Scope) -> Result<Token, ApiError> {
        let token = self.recognise(key, scope).await?;
        self.admit(&token)?;
        Ok(token)
    }

    /// The token of a call whose requests are counted elsewhere, or not at all.
    pub(super) async fn recognise(&self, key: &Secret, scope: Scope) -> Result<Token, ApiError> {
        self.tokens.authorise(key, scope).await
    }

    /// Counts one request of a token.
    pub(super) fn admit(&self, token: &Token) -> Result<(), ApiError> {
        self.rate.take(token.id, Instant::now())
    }

    pub(super) async fn process_as(
        &self,
        token: &Token,
        asked: Asked,
    ) -> Result<AnalysisResponse, ApiError> {
        let Asked {
            stage,
            input,
            validation,
        } = asked;
        let application = self
            .applications
            .resolve(input.application_id.as_deref(), token)
            .await?;
        let parameters = Parameters::read(&input.additional_parameters)?;
        let inline = match validation {
            Some(validation) => Some(self.inline_rules.compile(validation).await?),
            None => None,
        };
        let judging = Judging {
            application,
            stage,
            inline,
        };
        let judged = self.judge(&judging, input, parameters).await?;
        let (record, told) = keep::record(&judging, judged);
        let mut answer = self.store.insert(record).await?;
        Told::restore(told, &mut answer);
        Ok(answer)
    }

    async fn judge(
        &self,
        judging: &Judging,
        mut input: ProcessInput,
        parameters: Parameters,
    ) -> Result<Judged, ApiError> {
        let (message, mut report) = self.analyst.analyse(input.message, judging.rules()).await?;
        if !judging.application.rules.keep_original {
            let rules = judging.rules();
            keep::clean_error(
                &self.analyst.engine,
                rules,
                &mut input.additional_parameters,
            );
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

    /// A page of records; a bound token sees its own application only.
    pub(super) async fn page(
        &self,
        token: &Token,
        mut filter: RecordFilter,
    ) -> Result<RecordPage, ApiError> {
        if let Some(bound) = token.application_id {
            if filter.application_id.is_some_and(|asked| asked != bound) {
                return Err(ApiError::OtherApplication(Resource::Application));
            }
            filter.application_id = Some(bound);
        }
        Ok(self.store.page(&filter).await?)
    }

    /// One record; a bound token sees its own application only.
    pub(super) async fn record(
        &self,
        token: &Token,
        id: RecordId,
    ) -> Result<StoredRecord, ApiError> {
        let record = self.store.record(id).await?.ok_or(ApiError::NotFound)?;
        match token.application_id {
            Some(bound) if bound != record.summary.application_id => {
                Err(ApiError::OtherApplication(Resource::Record))
            }
            _ => Ok(record),
        }
    }
}
