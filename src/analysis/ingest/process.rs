//! One message from request to record: its rules, its verdict, its record (§2.7 to §2.9, §4.3).

mod earlier;
mod erased_users;
mod pending;
mod reused_id;

use super::Ingest;
use super::owned_message::OwnedMessage;
use super::parameters::Parameters;
use super::parts::PendingParts;
use super::record_builder::{self, AnalyzedMessage, CallerView};
use super::request::{ProcessInput, ProcessRequest};
use super::verdict::RulesInForce;
use crate::analysis::access::caller::Caller;
use crate::analysis::clock::now_ms;
use crate::analysis::error::ApiError;
use crate::fair_queue::{Claim, Urgency, heavy};
use crate::observe::ReusedId;
pub(crate) use earlier::{EarlierMessage, EarlierRecord};
#[cfg(test)]
pub(crate) use erased_users::NOT_STORED;
use erased_users::{RefusedExchange, durable_of_insert, verdict_of_insert};
use futures_util::FutureExt;
use monitor_model::{AnalysisResponse, ApplicationId, PART_BREAKS, Secret, Stage};
use monitor_store::{FoundValue, NewRecord, Scope, StoreError, ToolCall};
use pending::{Pending, PendingNames};
#[cfg(test)]
pub(crate) use reused_id::OTHER_TEXT;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Resolves once a record is durable whose verdict was given before.
pub(crate) type Written = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// A record that is not stored yet, and what of its answer only the caller sees.
pub(super) struct BuiltRecord {
    record: NewRecord,
    caller_view: Option<CallerView>,
    pending: Pending,
}

/// A verdict as its caller gets it, and as it is stored.
pub(super) struct StoredVerdict {
    pub(super) answer: AnalysisResponse,
    /// The policy blocks it; of a record that was stored before, the policy of that time.
    pub(super) blocked: bool,
}

/// What the store has after an insert.
struct Stored {
    verdict: StoredVerdict,
    met: Met,
}

/// What a record met under its id in the store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Met {
    Nothing,
    /// A record whose text is the same, or not kept.
    Record,
    /// A record with another text.
    OtherText,
}

/// A message, with the fields that are understood.
struct Subject {
    input: ProcessInput,
    parameters: Parameters,
    tool: Option<ToolCall>,
}

impl Ingest {
    /// Analyzes a message and stores its record; answers once the record is durable (§4.3). A second call
    /// of the same application, exchange and stage gets the answer of the first one. Another text is not stored and
    /// gets a verdict of its own; with a number of a gateway it is stored apart (CONTRACT 5).
    ///
    /// # Errors
    /// [`ApiError`]: token, scope, application, field, store.
    pub async fn process(
        &self,
        stage: Stage,
        key: &Secret,
        input: ProcessInput,
        urgency: Urgency,
    ) -> Result<AnalysisResponse, ApiError> {
        let caller = self.access.recognize(key, Scope::Ingest).await?;
        let request = ProcessRequest {
            stage,
            input,
            validation: None,
            tool: None,
            urgency,
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
        urgency: Urgency,
    ) -> Result<(AnalysisResponse, Written), ApiError> {
        let caller = self.access.recognize(key, Scope::Ingest).await?;
        let request = ProcessRequest {
            stage,
            input,
            validation: None,
            tool: None,
            urgency,
        };
        let BuiltRecord {
            record,
            caller_view,
            pending,
        } = self.build_record(&caller, request).await?;
        let mut answer = record.answer.clone();
        let durable = match pending.is_empty() {
            true => self.begin_insert(record).await?,
            false => self.insert_with(pending.unawaited(), record),
        };
        CallerView::apply(caller_view, &mut answer);
        Ok((answer, durable))
    }

    /// Whether messages of this access key and application would be taken. Gives the application that the access
    /// key is bound to.
    ///
    /// # Errors
    /// [`ApiError`]: token, scope, application, store.
    pub async fn recognize(
        &self,
        key: &Secret,
        application_id: Option<&str>,
    ) -> Result<Option<ApplicationId>, ApiError> {
        let caller = self.access.recognize(key, Scope::Ingest).await?;
        if application_id.is_some() {
            let application = self.applications.resolve(application_id, &caller).await?;
            if self.held_since.covers(application.created_at_ms) {
                return Err(ApiError::Field {
                    field: "application_id",
                    problem: "its policy is not in force yet",
                });
            }
        }
        caller.narrow(None)
    }

    /// As [`Ingest::process`], for a caller whose token was checked.
    pub(crate) async fn process_for(
        &self,
        caller: &Caller,
        request: ProcessRequest,
    ) -> Result<AnalysisResponse, ApiError> {
        let built = self.build_record(caller, request).await?;
        Ok(self.store(built).await?.answer)
    }

    /// Stores a record; answers once it is durable.
    pub(super) async fn store(&self, built: BuiltRecord) -> Result<StoredVerdict, ApiError> {
        let BuiltRecord {
            mut record,
            caller_view,
            pending,
        } = built;
        pending.complete(&mut record).await;
        let own = StoredVerdict {
            answer: record.answer.clone(),
            blocked: record.blocked,
        };
        let apart = record.tool.is_some().then(|| record.clone());
        let Stored { mut verdict, met } = self.insert(record).await?;
        if met == Met::OtherText || reused_id::finds_more(&own.answer, &verdict.answer) {
            verdict = match apart.and_then(reused_id::apart) {
                Some(apart) => self.insert_apart(apart).await?,
                None => {
                    self.id_reused(ReusedId::NotStored);
                    reused_id::unstored(own, &verdict)
                }
            };
        }
        CallerView::apply(caller_view, &mut verdict.answer);
        Ok(verdict)
    }

    /// Stores a part of a tool call under an id of its own, once.
    async fn insert_apart(&self, record: NewRecord) -> Result<StoredVerdict, ApiError> {
        let Stored { verdict, met } = self.insert(record).await?;
        if met == Met::Nothing {
            self.id_reused(ReusedId::StoredApart);
        }
        Ok(verdict)
    }

    /// The verdict of the stored record, which may be an earlier one of the same id.
    async fn insert(&self, record: NewRecord) -> Result<Stored, ApiError> {
        let own = StoredVerdict {
            answer: record.answer.clone(),
            blocked: record.blocked,
        };
        let timer = self.store_timer(&record);
        let refused = RefusedExchange::of(&record, &self.removal);
        let stored = refused
            .erase_if(self.records.insert_new(record).await)
            .await;
        if let Ok(insertion) = &stored {
            timer.stored(insertion);
        }
        Ok(verdict_of_insert(stored, own)?)
    }

    /// Hands a record to the store. The verdict does not wait where the store's queue is full: the records
    /// of others are none of its concern, and until it is durable the record stays with its caller.
    async fn begin_insert(&self, record: NewRecord) -> Result<Written, ApiError> {
        let records = self.records.clone();
        let timer = self.store_timer(&record);
        let refused = RefusedExchange::of(&record, &self.removal);
        let length = record.message.as_ref().map_or(0, |text| text.len());
        let mut begun = async move { records.begin_insert(record).await }.boxed();
        // The record is encoded before it is queued.
        let first = poll_fn(|context| Poll::Ready(heavy(length, || begun.poll_unpin(context))));
        match first.await {
            Poll::Ready(begun) => Ok(durable_of_insert(begun, timer, refused)?),
            Poll::Pending => {
                let durable = async move { durable_of_insert(begun.await, timer, refused)?.await };
                Ok(durable.boxed())
            }
        }
    }

    /// Completes a record and hands it to the store, once the verdict on its message is given.
    fn insert_with(&self, pending: Pending, mut record: NewRecord) -> Written {
        let records = self.records.clone();
        let timer = self.store_timer(&record);
        let refused = RefusedExchange::of(&record, &self.removal);
        Box::pin(async move {
            pending.complete(&mut record).await;
            let timer = timer.restarted(&record);
            let begun = records.begin_insert(record).await;
            durable_of_insert(begun, timer, refused)?.await
        })
    }

    pub(super) async fn build_record(
        &self,
        caller: &Caller,
        request: ProcessRequest,
    ) -> Result<BuiltRecord, ApiError> {
        self.build_record_at(caller, request, None).await
    }

    /// The same of a message that was received at an earlier time.
    async fn build_record_at(
        &self,
        caller: &Caller,
        request: ProcessRequest,
        received_ms: Option<i64>,
    ) -> Result<BuiltRecord, ApiError> {
        let ProcessRequest {
            stage,
            mut input,
            validation,
            tool,
            urgency,
        } = request;
        let application = self
            .applications
            .resolve(input.application_id.as_deref(), caller)
            .await?;
        let length = input.message.len();
        let mut parameters = heavy(length, || Parameters::of(stage, &mut input))?;
        if tool.is_some() {
            self.inherit(application.id, &mut parameters).await?;
        }
        let claim = Claim {
            tenant: caller.tenant(application.id),
            urgency,
        };
        let inline = match validation {
            Some(validation) => Some(self.inline_rules.compile(validation, claim).await?),
            None => None,
        };
        let rules = RulesInForce {
            application,
            stage,
            inline,
        };
        let tools = std::mem::take(&mut parameters.tools);
        let subject = Subject {
            input,
            parameters,
            tool,
        };
        let analyzed = self.analyze(&rules, subject, claim).await?;
        self.count_analyzed(stage, &analyzed.answer);
        let cost = self.cost_of(&rules, &analyzed);
        let found_values = heavy(length, || self.found_values(&rules, &analyzed));
        let (mut record, caller_view) = record_builder::build(&rules, analyzed, cost);
        record.created_at_ms = received_ms.unwrap_or(record.created_at_ms);
        record.token = caller.token_id.map(|_| caller.name.clone());
        record.found_values = found_values;
        let names = (!self.cost_names.name(&mut record)).then(|| PendingNames {
            names: self.cost_names.clone(),
            prices: self.prices.load_full(),
        });
        let cost = self.pending_cost(&record);
        let parts = (!tools.is_empty()).then(|| PendingParts {
            analyzer: self.analyzer.clone(),
            rules,
            tools,
            claim,
        });
        Ok(BuiltRecord {
            record,
            caller_view,
            pending: Pending { parts, cost, names },
        })
    }

    /// What was found in a message, as hashes.
    fn found_values(&self, rules: &RulesInForce, analyzed: &AnalyzedMessage) -> Vec<FoundValue> {
        self.value_keys.refresh(now_ms());
        let entities = &analyzed.answer.dataclean.entities;
        if entities.is_empty() {
            return Vec::new();
        }
        let key = self.value_keys.newest(rules.application.id);
        key.map(|key| key.found_in(&analyzed.message, entities))
            .unwrap_or_default()
    }

    async fn analyze(
        &self,
        rules: &RulesInForce,
        subject: Subject,
        claim: Claim,
    ) -> Result<AnalyzedMessage, ApiError> {
        let Subject {
            mut input,
            mut parameters,
            mut tool,
        } = subject;
        let compiled = rules.compiled();
        let length = input.message.len();
        let message = heavy(length, || {
            OwnedMessage::with_breaks(input.message, &parameters.part_breaks)
        });
        let analyzed = self.analyzer.analyze(rules.stage, compiled, message, claim);
        let (message, mut report) = analyzed.await?;
        if !rules.application.rules.keep_original {
            let engine = &self.analyzer.engine;
            // They are places in a text that is not kept.
            input.additional_parameters.remove(PART_BREAKS);
            record_builder::clean_error(engine, compiled, &mut input.additional_parameters);
            record_builder::clean_reasons(engine, compiled, &mut report.custom_policy);
            record_builder::clean_name(engine, compiled, tool.as_mut());
            self.clean_model(rules, &mut parameters, &mut input.additional_parameters);
        }
        let (masked_text, cleaned_in_part) = (report.masked_text.take(), report.cleaned_in_part);
        let mut answer = rules.answer(report);
        answer.warnings.append(&mut parameters.warnings);
        Ok(AnalyzedMessage {
            parameters,
            tool,
            message: message.text,
            additional_parameters: input.additional_parameters,
            masked_text,
            cleaned_in_part,
            answer,
        })
    }
}
