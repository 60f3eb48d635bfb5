//! What the finding of a record is stored with.

use super::{CATEGORY_LABEL, POLICY_LABEL};
use crate::records::NewRecord;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use uuid::Uuid;

/// The most labels of a finding, and the bytes of the longest one: others are left out.
const MOST_LABELS: usize = 32;
const LONGEST_LABEL: usize = 128;

/// What a record's finding is stored with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flagged {
    pub(crate) labels: Vec<String>,
    pub(crate) cluster: Uuid,
}

impl Flagged {
    /// Of a flagged record; None of another one.
    pub(crate) fn of(record: &NewRecord) -> Option<Self> {
        let answer = &record.answer;
        let (types, categories) = (&answer.dataclean, &answer.guardrails);
        if !(types.flagged || categories.flagged || answer.custom_policy.flagged) {
            return None;
        }
        let mut labels = BTreeSet::new();
        labels.extend(types.types.iter().map(|found| found.kind.clone()));
        let flagged = categories.categories.iter().filter(|one| one.flagged);
        labels.extend(flagged.map(|one| format!("{CATEGORY_LABEL}{}", one.name)));
        let violated = answer.custom_policy.policies.iter();
        let violated = violated.filter(|one| one.flagged);
        labels.extend(violated.map(|one| format!("{POLICY_LABEL}{}", one.name)));
        Some(Self {
            cluster: cluster(record, &labels),
            labels: labels
                .into_iter()
                .filter(|label| is_kept(label))
                .take(MOST_LABELS)
                .collect(),
        })
    }
}

/// Callers may name types; a column of words takes no control characters.
fn is_kept(label: &str) -> bool {
    let is_odd = |character: char| character.is_control() || character == '\u{10FFFF}';
    label.len() <= LONGEST_LABEL && !label.contains(is_odd)
}

/// The same for records of one application and user with the same labels, however long these are.
fn cluster(record: &NewRecord, labels: &BTreeSet<String>) -> Uuid {
    let mut digest = Sha256::new();
    digest.update(record.application_id.0.as_bytes());
    digest.update([u8::from(record.user_id.is_some())]);
    let user = record.user_id.as_deref().unwrap_or_default();
    for part in std::iter::once(user).chain(labels.iter().map(String::as_str)) {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    let digest: [u8; 32] = digest.finalize().into();
    digest
        .first_chunk()
        .map_or(Uuid::nil(), |first| Uuid::from_bytes(*first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_no_column_takes_is_left_out() {
        assert!(is_kept("EMAILS") && is_kept("guardrail:hate"));
        assert!(!is_kept("a\0b") && !is_kept(&"x".repeat(129)) && !is_kept("\u{10FFFF}"));
    }
}
