//! Originals of records: who gets them. Whatever leaves this service by [`Records::record`] or
//! [`Records::whole_page`] is without originals, for everybody; the methods here give them, to callers with the scope
//! read, once the audit log has an entry.

use super::masking::{has_original, must_search};
use super::queries::{find_record, hide_chain};
use super::{Records, StoredRecord, WholePage};
use crate::analysis::access::Scope;
use crate::analysis::access::caller::Caller;
use crate::analysis::audit::{Action, Target};
use crate::analysis::error::ApiError;
use monitor_model::{ApplicationId, RecordId, is_pattern_name};
use monitor_store::{RecordFilter, ToolFilter};
use serde_json::{Map, Value, json};

/// Stands in the audit log for a text, or for the name of a user, a session or a tool: entries stay when the records of
/// a user are erased.
const GIVEN: &str = "[given]";

/// An export that the audit log knows of.
pub(crate) struct ExportBegun {
    caller: Caller,
    application: Option<ApplicationId>,
    details: Map<String, Value>,
}

impl Records {
    /// A record as it is stored. Reading an original is an event of the audit log, written before this returns.
    pub(crate) async fn original(
        &self,
        caller: &Caller,
        id: RecordId,
    ) -> Result<StoredRecord, ApiError> {
        caller.must_have(&[Scope::Read])?;
        let record = find_record(&self.records, &self.reads, caller, id).await?;
        if has_original(&record) {
            let target = Target::Record(id, record.summary.application_id);
            let noted = self
                .audit
                .note_read(caller, Action::RecordReadOriginal, target, json!({}));
            noted.await?;
        }
        Ok(record)
    }

    /// A record as whoever has this scope sees it: whole, or without originals.
    pub(crate) async fn readable(
        &self,
        caller: &Caller,
        id: RecordId,
    ) -> Result<StoredRecord, ApiError> {
        match caller.reads_originals() {
            true => self.original(caller, id).await,
            false => Ok(self.record(caller, id).await?.record),
        }
    }

    /// Begins an export: its entry is in the audit log before anything is read.
    pub(crate) async fn begin_export(
        &self,
        caller: &Caller,
        filter: &RecordFilter,
        format: &'static str,
    ) -> Result<ExportBegun, ApiError> {
        must_search(caller, filter)?;
        let application = caller.narrow(filter.application_id)?;
        let mut details = filter_details(filter);
        details.insert("format".to_owned(), format.into());
        details.insert("originals".to_owned(), caller.reads_originals().into());
        let mut begun = details.clone();
        begun.insert("incomplete".to_owned(), true.into());
        let export = ExportBegun {
            caller: caller.clone(),
            application,
            details,
        };
        let target = Target::Records(application);
        let noted = self
            .audit
            .note_read(caller, Action::RecordsExport, target, begun.into());
        noted.await?;
        Ok(export)
    }

    /// A page of an export: with originals for callers that read them.
    pub(crate) async fn export_page(
        &self,
        export: &ExportBegun,
        mut filter: RecordFilter,
    ) -> Result<WholePage, ApiError> {
        if !export.caller.reads_originals() {
            let page = self.whole_page(&export.caller, filter).await?;
            let records = page.records.into_iter().map(|cleaned| cleaned.record);
            return Ok(WholePage {
                records: records.collect(),
                next_before: page.next_before,
            });
        }
        filter.application_id = export.application;
        let records = self.records.clone();
        let read = async move { records.whole_page(&filter).await };
        let mut page = self.reads.read(&export.caller, read).await?;
        for record in &mut page.records {
            hide_chain(&export.caller, record);
        }
        Ok(page)
    }

    /// Notes that an export is complete, with the number of its records.
    pub(crate) async fn end_export(
        &self,
        export: &ExportBegun,
        count: u64,
    ) -> Result<(), ApiError> {
        let mut details = export.details.clone();
        details.insert("records".to_owned(), count.into());
        let target = Target::Records(export.application);
        let entry = Action::RecordsExport.entry(&export.caller, target, details.into());
        self.audit.append(entry).await
    }
}

/// A filter as the audit log keeps it: identifiers of applications, words of the program and times as they are; of a
/// user, a session, a model, an access key, a tool and a text, that they are given.
fn filter_details(filter: &RecordFilter) -> Map<String, Value> {
    let given = |is_given: bool| is_given.then(|| GIVEN.into());
    let parts: [(&str, Option<Value>); 11] = [
        ("user_id", given(filter.user_id.is_some())),
        ("session_id", given(filter.session_id.is_some())),
        ("text", given(filter.text.is_some())),
        ("model", given(filter.model.is_some())),
        ("token", given(filter.token.is_some())),
        ("tool", filter.tools.as_ref().map(tool_word)),
        ("stage", filter.stage.map(|stage| stage.as_str().into())),
        (
            "verdict",
            filter.verdict.map(|verdict| verdict.as_str().into()),
        ),
        ("type", filter.kind.as_deref().map(kind_word)),
        ("from_at_ms", filter.from_ms.map(Value::from)),
        ("to_at_ms", filter.to_ms.map(Value::from)),
    ];
    let given = parts.into_iter();
    given
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

fn tool_word(tools: &ToolFilter) -> Value {
    match tools {
        ToolFilter::Any => "any".into(),
        ToolFilter::Named(_) => GIVEN.into(),
    }
}

/// A built-in type by its name; another one is any text.
fn kind_word(kind: &str) -> Value {
    match is_pattern_name(kind) {
        true => kind.into(),
        false => GIVEN.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use monitor_store::VerdictFilter;

    #[test]
    fn the_audit_log_gets_no_name_and_no_text_of_a_filter() {
        let filter = RecordFilter {
            user_id: Some("ann@example.org".to_owned()),
            text: Some("4111".to_owned()),
            kind: Some("ann's card".to_owned()),
            verdict: Some(VerdictFilter::Blocked),
            from_ms: Some(7),
            ..RecordFilter::default()
        };
        let details = Value::from(filter_details(&filter));
        let expected = json!({"user_id": GIVEN, "text": GIVEN, "type": GIVEN, "verdict": "blocked", "from_at_ms": 7});
        assert_eq!(details, expected);
    }
}
