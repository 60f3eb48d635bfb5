//! Analyzes stored records again: one by the rules that were in force (`explain`), many by a draft of rules
//! (`replay`). Changes nothing in the store.

use super::Admin;
use super::differences::{self, Basis, Difference, Verdict};
use crate::analysis::access::caller::Caller;
use crate::analysis::audit::{Action, Target};
use crate::analysis::error::ApiError;
use crate::analysis::ingest::application_cache::{self, CompiledRules};
use crate::analysis::ingest::inline_rules::Validation;
use crate::analysis::ingest::owned_message::OwnedMessage;
use crate::analysis::ingest::{parameters, verdict};
use crate::analysis::records::queries::find_record;
use crate::analysis::rules::application_rules::ApplicationRules;
use crate::fair_queue::{Claim, Tenant, Urgency};
use monitor_detect::rules::CustomPolicy;
use monitor_detect::{Compiled, Rules};
use monitor_model::{
    AnalysisResponse, ApplicationId, Policy, RecordId, Stage, Warning, WarningCode,
};
use monitor_store::{RecordFilter, RecordSummary, StoreError, StoredRecord};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// Records that one call of [`Admin::replay`] analyzes.
pub const MOST_REPLAYED: u32 = 200;

/// The rules that a record was analyzed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RulesUsed {
    /// This version of its application.
    Version(i64),
    /// Those of its request.
    Inline,
    /// They are no longer stored.
    Lost,
}

/// A record's verdict, computed again by the rules that were in force.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Explanation {
    /// The record that is explained.
    pub request_id: RecordId,
    /// The text of the second verdict.
    pub basis: Basis,
    /// Where the rules of both verdicts are from.
    pub rules_used: RulesUsed,
    /// The rules of both verdicts, with all fields.
    #[schema(value_type = Option<Object>)]
    pub rules: Option<Value>,
    /// Empty unless a later version of the program gives another verdict.
    pub differences: Vec<Difference>,
    /// The second verdict; null where the text or the rules are no longer stored.
    pub answer: Option<AnalysisResponse>,
}

/// A draft, and the records it is tried on.
pub struct Replay {
    /// The draft, checked.
    pub draft: ApplicationRules,
    /// The records. The current policy of their application decides what blocks.
    pub filter: RecordFilter,
}

/// One page of a replay, newest record first.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct ReplayPage {
    /// Records of this page.
    pub records: u64,
    /// Those of them that were analyzed by their cleaned text.
    pub on_cleaned_text: u64,
    /// Records without a stored text, which were not analyzed.
    pub without_text: u64,
    /// Records for which a custom policy of the draft has no ruling. No judge is asked, so a policy
    /// with a changed text counts as not violated.
    pub unjudged: u64,
    /// Verdicts that the draft would change.
    pub changed: Vec<ChangedVerdict>,
    /// `before` of the next page; null on the last one.
    pub next_before: Option<i64>,
}

/// A record whose verdict the draft would change.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ChangedVerdict {
    /// The identifier of the record.
    pub request_id: RecordId,
    /// Its position in the list of records.
    pub seq: i64,
    /// Prompt or answer.
    pub stage: Stage,
    /// When it was received. Milliseconds since 1970.
    pub created_at_ms: i64,
    /// The text of the new verdict.
    pub basis: Basis,
    /// The fields that differ.
    #[schema(min_items = 1)]
    pub differences: Vec<Difference>,
}

/// The rules that a record was analyzed by, and the policy of that time.
struct RulesOfRecord {
    used: RulesUsed,
    rules: Arc<Compiled>,
    policy: Option<Policy>,
}

/// A second verdict.
struct SecondVerdict {
    basis: Basis,
    answer: AnalysisResponse,
    /// A custom policy of the rules has no ruling.
    is_unjudged: bool,
}

/// The warning of an explanation whose rulings are copied.
pub(crate) const NOT_ASKED: &str =
    "the verdicts on custom policies are copied from the record, no judge was asked";

/// The custom policies of the versions that a page of records was analyzed by, each read once.
#[derive(Default)]
struct PoliciesOfVersions(HashMap<i64, Vec<CustomPolicy>>);

impl PoliciesOfVersions {
    async fn of(
        &mut self,
        admin: &Admin,
        record: &StoredRecord,
    ) -> Result<Vec<CustomPolicy>, ApiError> {
        if let Some(document) = &record.inline_rules {
            let rules = serde_json::from_value::<Rules>(document.clone());
            return Ok(rules.map_or_else(|_| Vec::new(), |rules| rules.custom_policies));
        }
        let Some(version) = record.summary.rules_version else {
            return Ok(Vec::new());
        };
        if let Some(policies) = self.0.get(&version) {
            return Ok(policies.clone());
        }
        let application = record.summary.application_id;
        let document = admin.version(application, version).await?;
        let rules = document.and_then(|(document, _)| ApplicationRules::stored(document));
        let policies = rules.map_or_else(Vec::new, |rules| rules.pre.custom_policies);
        self.0.insert(version, policies.clone());
        Ok(policies)
    }
}

impl Admin {
    /// Analyzes a record again by the rules that were in force, and returns what differs.
    ///
    /// # Errors
    /// [`ApiError`]: another application's record, no such record, store.
    pub async fn explain(&self, caller: &Caller, id: RecordId) -> Result<Explanation, ApiError> {
        let record = find_record(&self.records, &self.reads, caller, id).await?;
        if record.message.is_some() {
            // A verdict of rules that mask nothing repeats the text.
            let target = Target::Record(id, record.summary.application_id);
            let noted = self
                .audit
                .note_read(caller, Action::RecordReadOriginal, target, json!({}));
            noted.await?;
        }
        let judge = self.rules_of(caller, &record).await?;
        let mut explanation = Explanation {
            request_id: id,
            basis: differences::text(&record).0,
            rules_used: judge.as_ref().map_or(RulesUsed::Lost, |judge| judge.used),
            rules: None,
            differences: Vec::new(),
            answer: None,
        };
        let Some(judge) = judge else {
            return Ok(explanation);
        };
        // Strings, flags and finite numbers only: serialization cannot fail.
        explanation.rules = serde_json::to_value(judge.rules.rules()).ok();
        let policies = &judge.rules.rules().custom_policies;
        if let Some(SecondVerdict {
            basis, mut answer, ..
        }) = self.analyze_again(&record, &judge.rules, policies).await?
        {
            if !answer.custom_policy.policies.is_empty() {
                let warning = Warning::new(WarningCode::JudgeNotAsked, NOT_ASKED);
                answer.warnings.push(warning);
            }
            let now = verdict(&answer, &record.summary, judge.policy.as_ref());
            let was = Verdict {
                answer: &record.answer,
                blocked: record.summary.blocked,
            };
            explanation.differences = differences::answers(was, now, basis);
            explanation.answer = Some(answer);
        }
        Ok(explanation)
    }

    /// Analyzes one page of an application's records by a draft. The filter names the application and has a
    /// limit of at most [`MOST_REPLAYED`]; the caller has checked that the token may read it.
    ///
    /// # Errors
    /// [`ApiError`]: unknown application, store.
    pub async fn replay(
        &self,
        caller: &Caller,
        application: ApplicationId,
        replay: Replay,
    ) -> Result<ReplayPage, ApiError> {
        let stored = self.applications.application(application).await?;
        let stored = stored.ok_or(ApiError::NotFound)?;
        let policy = self.file_policies.in_force(stored).policy;
        let policy = policy.and_then(Result::ok);
        let filter = RecordFilter {
            application_id: Some(application),
            limit: replay.filter.limit.clamp(1, MOST_REPLAYED),
            ..replay.filter
        };
        let claim = caller.awaited(application);
        let compile = || CompiledRules::from(replay.draft);
        let draft = self.compilations.run(claim, compile).await?;
        let records = self.records.clone();
        let read = async move { records.whole_page(&filter).await };
        let page = self.reads.read(caller, read).await?;
        let mut result = ReplayPage {
            next_before: page.next_before,
            ..ReplayPage::default()
        };
        let mut before = PoliciesOfVersions::default();
        for record in page.records {
            let rules = draft.of(record.summary.stage);
            let policies = match rules.rules().custom_policies.is_empty() {
                true => Vec::new(),
                false => before.of(self, &record).await?,
            };
            let again = self.analyze_again(&record, rules, &policies).await?;
            result.add(&record, again, policy.as_ref());
            // A page of short records has no other await point.
            tokio::task::yield_now().await;
        }
        Ok(result)
    }

    /// `before` are the custom policies that the record has rulings on.
    async fn analyze_again(
        &self,
        record: &StoredRecord,
        rules: &Arc<Compiled>,
        before: &[CustomPolicy],
    ) -> Result<Option<SecondVerdict>, ApiError> {
        let (basis, Some(text)) = differences::text(record) else {
            return Ok(None);
        };
        // The places between parts are those of the original.
        let breaks = match basis {
            Basis::CleanedText => Vec::new(),
            _ => parameters::part_breaks(&record.additional_parameters),
        };
        let message = OwnedMessage::with_breaks(text.into(), &breaks);
        let claim = Claim {
            tenant: Tenant::new(&"replays", &record.summary.application_id),
            urgency: Urgency::Deferred,
        };
        let analyzed = self.analyzer.analyze_locally(message, rules, claim);
        let mut report = analyzed.await?;
        if basis == Basis::CleanedText {
            differences::complete(&mut report, record, rules);
        }
        differences::copy_opinion(&mut report, record, rules);
        let now = match record.summary.stage {
            Stage::PreCall => self.analyzer.engine.custom_policies(rules),
            Stage::PostCall => &[],
        };
        let unjudged = differences::copy_rulings(&mut report, record, (before, now));
        Ok(Some(SecondVerdict {
            basis,
            answer: verdict::answer(report),
            is_unjudged: unjudged > 0,
        }))
    }

    async fn rules_of(
        &self,
        caller: &Caller,
        record: &StoredRecord,
    ) -> Result<Option<RulesOfRecord>, ApiError> {
        let application = record.summary.application_id;
        let claim = caller.awaited(application);
        if let Some(document) = &record.inline_rules {
            let rules: Rules = serde_json::from_value(document.clone())
                .map_err(|_| StoreError::Unreadable("set of rules"))?;
            let inline = self
                .inline_rules
                .compile(Validation::stored(record.summary.stage, rules), claim)
                .await?;
            let stored = self.applications.application(application).await?;
            return Ok(Some(RulesOfRecord {
                used: RulesUsed::Inline,
                rules: inline.rules,
                policy: stored.and_then(|stored| self.file_policies.in_force(stored).policy?.ok()),
            }));
        }
        let Some(version) = record.summary.rules_version else {
            return Ok(None);
        };
        let Some((document, policy)) = self.version(application, version).await? else {
            return Ok(None);
        };
        let rules = application_cache::read(document)?;
        let stage = record.summary.stage;
        let compile = move || Compiled::of(stage, rules.of(stage).clone());
        let rules = self.compilations.run(claim, compile).await?;
        Ok(Some(RulesOfRecord {
            used: RulesUsed::Version(version),
            rules: Arc::new(rules),
            policy,
        }))
    }

    /// Rules and policy of an application at a version.
    pub(super) async fn version(
        &self,
        id: ApplicationId,
        version: i64,
    ) -> Result<Option<(Value, Option<Policy>)>, ApiError> {
        let now = self.applications.application(id).await?;
        let now = now.map(|now| self.file_policies.in_force(now));
        if let Some(now) = now.filter(|now| now.version == version) {
            return Ok(Some((now.rules, now.policy.and_then(Result::ok))));
        }
        let before = version.saturating_add(1);
        let mut versions = self
            .applications
            .application_versions(id, Some(before), 1)
            .await?;
        let then = versions.pop().filter(|then| then.version == version);
        Ok(then.map(|then| {
            let of_version = || Policy::from_value(&then.policy?).ok();
            let policy = self.file_policies.policy(id).or_else(of_version);
            (then.rules, policy)
        }))
    }
}

/// A verdict on the text of a record.
fn verdict<'a>(
    answer: &'a AnalysisResponse,
    record: &RecordSummary,
    policy: Option<&Policy>,
) -> Verdict<'a> {
    let side = verdict::side(record.stage, record.tool.as_ref());
    Verdict {
        answer,
        blocked: policy.is_some_and(|policy| verdict::blocks(policy, side, answer)),
    }
}

impl ReplayPage {
    fn add(
        &mut self,
        record: &StoredRecord,
        again: Option<SecondVerdict>,
        policy: Option<&Policy>,
    ) {
        self.records += 1;
        let Some(SecondVerdict {
            basis,
            answer,
            is_unjudged,
        }) = again
        else {
            self.without_text += 1;
            return;
        };
        self.unjudged += u64::from(is_unjudged);
        self.on_cleaned_text += u64::from(basis == Basis::CleanedText);
        let summary = &record.summary;
        // By today's policy on both sides: only the rules are tried.
        let was = verdict(&record.answer, summary, policy);
        let now = verdict(&answer, summary, policy);
        let differences = differences::verdicts(was, now);
        if !differences.is_empty() {
            self.changed.push(ChangedVerdict {
                request_id: summary.id,
                seq: summary.seq,
                stage: summary.stage,
                created_at_ms: summary.created_at_ms,
                basis,
                differences,
            });
        }
    }
}
