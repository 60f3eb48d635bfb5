//! Another text under the id of a stored one. Model servers choose the ids of tool calls, and clients those of
//! exchanges: the verdict on the first text would stand for whatever comes later under its id. The same text, sent
//! again, gets its first verdict. A gateway's record with a number is the store's matter, which stores it apart.

use super::StoredVerdict;
use monitor_model::{AnalysisResponse, Warning, WarningCode};
use monitor_store::{NewRecord, STORED_APART};
use sha2::{Digest, Sha256};

/// What a verdict says whose text was not stored, since its id has another text.
pub(crate) const OTHER_TEXT: &str = "request_id stands for another text, which is stored: this one was checked and not \
     stored; send every message under an id of its own";

/// Whether more was found than in the text that is stored under the same id.
pub(super) fn finds_more(own: &AnalysisResponse, stored: &AnalysisResponse) -> bool {
    let guardrails = own.guardrails.flagged && !stored.guardrails.flagged;
    let policies = own.custom_policy.flagged && !stored.custom_policy.flagged;
    let names = flagged_names(own).any(|name| !flagged_names(stored).any(|known| known == name));
    let data = own.dataclean.types.iter().any(|one| {
        let known = &stored.dataclean.types;
        !known
            .iter()
            .any(|other| other.kind == one.kind && other.count >= one.count)
    });
    guardrails || policies || names || data
}

/// The categories, and the policies behind them, that flag the text.
fn flagged_names(answer: &AnalysisResponse) -> impl Iterator<Item = (bool, &str)> {
    let categories = answer.guardrails.categories.iter();
    let policies = answer.custom_policy.policies.iter();
    let categories = categories.filter(|one| one.flagged);
    let policies = policies.filter(|one| one.flagged);
    categories
        .map(|one| (false, one.name.as_ref()))
        .chain(policies.map(|one| (true, one.name.as_ref())))
}

/// The same part of a tool call under an id of its own, which is the same for the same text, and marked.
pub(super) fn apart(mut record: NewRecord) -> Option<NewRecord> {
    let tool = record.tool.as_mut()?;
    let text = record.message.as_ref();
    let text = text.or(record.answer.dataclean.cleaned_text.as_ref())?;
    let digest = Sha256::digest(text.as_bytes());
    let digest: String = digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    tool.call_id = format!("{}#{digest}", tool.call_id);
    let warning = Warning::new(WarningCode::ReusedId, STORED_APART);
    record.answer.warnings.push(warning);
    Some(record)
}

/// The verdict on a text that is not stored, under the id of the stored one.
pub(super) fn unstored(mut own: StoredVerdict, stored: &StoredVerdict) -> StoredVerdict {
    own.answer.request_id = stored.answer.request_id;
    let warning = Warning::new(WarningCode::ReusedId, OTHER_TEXT);
    own.answer.warnings.push(warning);
    own
}
