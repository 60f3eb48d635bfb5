//! One message from request to record: its rules, its verdict, its record (§2.7 to §2.9, §4.3).

use super::Ingest;
use super::erased_users::{answer_of_insert, durable_of_insert};
use super::parameters::{Parameters, chain_entry};
use super::record_builder::{self, AnalyzedMessage, CallerView};
use super::request::{ProcessInput, ProcessRequest};
use super::verdict::RulesInForce;
use crate::analysis::access::caller::Caller;
use crate::analysis::error::ApiError;
use monitor_model::{AnalysisResponse, Secret, Stage};
use monitor_store::{Durable, NewRecord, Scope};

/// A record that is not stored yet, and what of its answer only the caller sees.
struct BuiltRecord {
    record: NewRecord,
    caller_view: Option<CallerView>,
}

impl Ingest {
    /// Analyzes a message and stores its record; answers once the record is durable (§4.3). A second call
    /// of the same application, exchange and stage gets the answer of the first one.
    ///
    /// # Errors
    /// [`ApiError`]: token, scope, application, field, store.
    pub async fn process(
        &self,
        stage: Stage,
        key: &Secret,
        input: ProcessInput,
    ) -> Result<AnalysisResponse, ApiError> {
        let caller = self.access.recognize(key, Scope::Ingest).await?;
        let request = ProcessRequest {
            stage,
            input,
            validation: None,
        };
        self.process_for(&caller, request).await
    }

    /// As [`Ingest::process`], but answers as soon as there is a verdict, while the record is being
    /// written; the future ends once the record is durable. An earlier record of the same application,
    /// exchange and stage stays, whatever its answer was.
    ///
    /// # Errors
    /// As [`Ingest::process`]; the future fails with the error of the store.
    pub async fn process_unsynced(
        &self,
        stage: Stage,
        key: &Secret,
        input: ProcessInput,
    ) -> Result<(AnalysisResponse, Durable), ApiError> {
        let caller = self.access.recognize(key, Scope::Ingest).await?;
        let request = ProcessRequest {
            stage,
            input,
            validation: None,
        };
        let BuiltRecord {
            record,
            caller_view,
        } = self.build_record(&caller, request).await?;
        let mut answer = record.answer.clone();
        let durable = durable_of_insert(self.records.begin_insert(record).await)?;
        CallerView::apply(caller_view, &mut answer);
        Ok((answer, durable))
    }

    /// As [`Ingest::process`], for a caller whose token was checked.
    pub(crate) async fn process_for(
        &self,
        caller: &Caller,
        request: ProcessRequest,
    ) -> Result<AnalysisResponse, ApiError> {
        let BuiltRecord {
            record,
            caller_view,
        } = self.build_record(caller, request).await?;
        let own = record.answer.clone();
        let mut answer = answer_of_insert(self.records.insert(record).await, own)?;
        CallerView::apply(caller_view, &mut answer);
        Ok(answer)
    }

    async fn build_record(
        &self,
        caller: &Caller,
        request: ProcessRequest,
    ) -> Result<BuiltRecord, ApiError> {
        let ProcessRequest {
            stage,
            input,
            validation,
        } = request;
        let application = self
            .applications
            .resolve(input.application_id.as_deref(), caller)
            .await?;
        let mut parameters = Parameters::read(&input.additional_parameters)?;
        parameters.chain = chain_entry(stage, &input, &parameters);
        let inline = match validation {
            Some(validation) => Some(self.inline_rules.compile(validation).await?),
            None => None,
        };
        let rules = RulesInForce {
            application,
            stage,
            inline,
        };
        let analyzed = self.analyze(&rules, input, parameters).await?;
        let (record, caller_view) = record_builder::build(&rules, analyzed);
        Ok(BuiltRecord {
            record,
            caller_view,
        })
    }

    async fn analyze(
        &self,
        rules: &RulesInForce,
        mut input: ProcessInput,
        parameters: Parameters,
    ) -> Result<AnalyzedMessage, ApiError> {
        let compiled = rules.compiled();
        let analyzed = self.analyzer.analyze(rules.stage, compiled, input.message);
        let (message, mut report) = analyzed.await?;
        if !rules.application.rules.keep_original {
            let engine = &self.analyzer.engine;
            record_builder::clean_error(engine, compiled, &mut input.additional_parameters);
            record_builder::clean_reasons(engine, compiled, &mut report.custom_policy);
        }
        Ok(AnalyzedMessage {
            parameters,
            message,
            additional_parameters: input.additional_parameters,
            masked_text: report.masked_text.take(),
            cleaned_in_part: report.cleaned_in_part,
            answer: rules.answer(report),
        })
    }
}
