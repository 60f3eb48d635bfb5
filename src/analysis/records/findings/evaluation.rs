//! What decisions about findings say of the detection: the precision of each type and category, and the texts as a set
//! on which a detection is evaluated.

use super::FindingState;
use crate::analysis::access::Scope;
use crate::analysis::access::caller::Caller;
use crate::analysis::audit::{Action, Target};
use crate::analysis::error::ApiError;
use crate::analysis::records::masking::cleaned;
use crate::analysis::records::{Records, StoredRecord};
use monitor_model::{ApplicationId, RecordId, Stage};
use monitor_store::{JudgedFilter, JudgedFinding};
use serde_json::json;
use std::collections::BTreeMap;

/// The newest decisions that are counted.
pub(crate) const COUNTED: u32 = 10_000;
/// Records of an evaluation set that are read at once.
const PAGE: u32 = 20;

/// The decisions about a type, a category or a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decisions {
    pub(crate) confirmed: u64,
    pub(crate) false_alarms: u64,
}

impl Decisions {
    /// The share of what was found rightly, 0 to 1.
    pub(crate) fn precision(&self) -> f64 {
        let all = self.confirmed + self.false_alarms;
        self.confirmed as f64 / all.max(1) as f64
    }
}

/// The decisions about each label, and whether there are older ones that are not counted.
pub(crate) struct Precision {
    pub(crate) labels: BTreeMap<String, Decisions>,
    pub(crate) decided: u64,
    pub(crate) truncated: bool,
}

/// An evaluation set that the audit log knows of.
pub(crate) struct EvaluationBegun {
    caller: Caller,
    application: Option<ApplicationId>,
}

/// A text of an evaluation set.
pub(crate) struct EvaluationText {
    pub(crate) id: RecordId,
    pub(crate) stage: Stage,
    pub(crate) text: String,
    /// Whether nothing is masked in it.
    pub(crate) is_original: bool,
    pub(crate) verdict: FindingState,
    pub(crate) labels: Vec<String>,
}

/// A part of an evaluation set.
pub(crate) struct EvaluationPage {
    pub(crate) texts: Vec<EvaluationText>,
    /// Where the next part begins; None at the end.
    pub(crate) next_before: Option<i64>,
}

impl Records {
    /// How often the findings of each type and category were right, by the newest decisions.
    pub(crate) async fn precision(
        &self,
        caller: &Caller,
        application: Option<ApplicationId>,
    ) -> Result<Precision, ApiError> {
        let filter = JudgedFilter {
            application_id: caller.narrow(application)?,
            before: None,
            limit: COUNTED + 1,
        };
        let _only_one = self.reads.take_sum(caller).await?;
        let store = self.findings.clone();
        let read = async move { store.judged_findings(&filter).await };
        let mut judged = self.reads.read(caller, read).await?;
        let truncated = judged.len() > COUNTED as usize;
        judged.truncate(COUNTED as usize);
        Ok(Precision {
            decided: judged.len() as u64,
            labels: by_label(judged),
            truncated,
        })
    }

    /// Begins an evaluation set: its entry is in the audit log before anything is read.
    pub(crate) async fn begin_evaluation(
        &self,
        caller: &Caller,
        application: Option<ApplicationId>,
    ) -> Result<EvaluationBegun, ApiError> {
        caller.must_have(&[Scope::ReadCleaned])?;
        let application = caller.narrow(application)?;
        let details = json!({"originals": caller.reads_originals()});
        let target = Target::Findings(application);
        let noted = self
            .audit
            .note_read(caller, Action::FindingsExport, target, details);
        noted.await?;
        Ok(EvaluationBegun {
            caller: caller.clone(),
            application,
        })
    }

    /// The next texts of an evaluation set, newest first: originals for callers that read them, where they are kept.
    pub(crate) async fn evaluation_page(
        &self,
        begun: &EvaluationBegun,
        before: Option<i64>,
    ) -> Result<EvaluationPage, ApiError> {
        let filter = JudgedFilter {
            application_id: begun.application,
            before,
            limit: PAGE,
        };
        let (findings, records) = (self.findings.clone(), self.records.clone());
        let read = async move {
            let mut found = Vec::new();
            for judged in findings.judged_findings(&filter).await? {
                let record = records.record(judged.id).await?;
                found.push((judged, record));
            }
            Ok(found)
        };
        let found = self.reads.read(&begun.caller, read).await?;
        let is_last = found.len() < PAGE as usize;
        let next_before = found.last().map(|(judged, _)| judged.seq);
        let texts = found.into_iter().filter_map(|(judged, record)| {
            let record = record.filter(|one| begun.caller.sees(Some(one.summary.application_id)));
            text(&begun.caller, judged, record?)
        });
        Ok(EvaluationPage {
            texts: texts.collect(),
            next_before: next_before.filter(|_| !is_last),
        })
    }
}

fn by_label(judged: Vec<JudgedFinding>) -> BTreeMap<String, Decisions> {
    let mut labels = BTreeMap::<String, Decisions>::new();
    for finding in judged {
        for label in finding.labels {
            let decisions = labels.entry(label).or_default();
            match finding.is_confirmed {
                true => decisions.confirmed += 1,
                false => decisions.false_alarms += 1,
            }
        }
    }
    labels
}

/// None of a record without a text that the caller may read.
fn text(caller: &Caller, judged: JudgedFinding, record: StoredRecord) -> Option<EvaluationText> {
    let original = record.message.clone().filter(|_| caller.reads_originals());
    let (id, stage) = (record.summary.id, record.summary.stage);
    let is_original = original.is_some();
    let text = match original {
        Some(text) => text,
        None => {
            let cleaned = cleaned(caller, record);
            cleaned.text().map(|(text, _)| text.to_owned())?
        }
    };
    Some(EvaluationText {
        id,
        stage,
        text,
        is_original,
        verdict: match judged.is_confirmed {
            true => FindingState::Confirmed,
            false => FindingState::FalseAlarm,
        },
        labels: judged.labels,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn each_label_counts_the_decisions_about_its_findings() {
        let finding = |is_confirmed, labels: &[&str]| JudgedFinding {
            seq: 1,
            id: RecordId(Uuid::nil()),
            is_confirmed,
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        };
        let all = by_label(vec![
            finding(true, &["INN", "EMAILS"]),
            finding(true, &["INN"]),
            finding(false, &["INN"]),
        ]);
        let expected = Decisions {
            confirmed: 2,
            false_alarms: 1,
        };
        assert_eq!(all.get("INN"), Some(&expected));
        assert!((expected.precision() - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(all.len(), 2);
    }
}
