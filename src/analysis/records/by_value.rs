//! Records by a value that was found in them. The value is hashed as the values of records are, and is neither stored
//! nor logged; each search has an entry in the audit log, without it.

use super::queries::find_record;
use super::{RecordPage, RecordSummary, Records};
use crate::analysis::access::caller::Caller;
use crate::analysis::audit::{Action, Target};
use crate::analysis::clock::now_ms;
use crate::analysis::error::{ApiError, FieldProblem};
use crate::analysis::found_values::{possible_kinds, random_key};
use crate::fair_queue::heavy;
use monitor_model::{ApplicationId, RecordId, is_pattern_name};
use monitor_store::{ApplicationFilter, SameValues, ValueFilter, ValueHash};
use serde_json::json;

/// The most applications that one search covers.
const MOST_APPLICATIONS: u32 = 200;
/// Bytes that a hash takes as much time as, about.
const PER_HASH: usize = 256;

/// A search for a value.
pub(crate) struct ValueSearch {
    /// As somebody wrote it.
    pub(crate) value: String,
    /// Its type; None for every predefined type that it may be of.
    pub(crate) kind: Option<String>,
    /// Where it is looked for; None for everywhere.
    pub(crate) application_id: Option<ApplicationId>,
    /// Only records before this one.
    pub(crate) before: Option<i64>,
    /// Records per page.
    pub(crate) limit: u32,
}

/// Which records share values with one.
pub(crate) struct SameSearch {
    /// The record whose values are searched; it is not among those found.
    pub(crate) id: RecordId,
    /// The type of the values; None for all of them.
    pub(crate) kind: Option<String>,
    /// Only records before this one.
    pub(crate) before: Option<i64>,
    /// Records per page.
    pub(crate) limit: u32,
}

impl Records {
    /// A page of the records that have this value.
    pub(crate) async fn by_value(
        &self,
        caller: &Caller,
        search: ValueSearch,
    ) -> Result<RecordPage, ApiError> {
        let application = caller.narrow(search.application_id)?;
        let kinds: Vec<&str> = match &search.kind {
            Some(kind) => vec![kind.as_str()],
            None => possible_kinds(&search.value),
        };
        let applications = self.searched_applications(caller, application).await?;
        self.value_keys.read(now_ms()).await?;
        let all = applications.len() * kinds.len() * PER_HASH;
        let hashes = heavy(all, || self.hashes(&applications, &kinds, &search.value));
        if hashes.is_empty() {
            return Err(FieldProblem::new("value", "is no value of this type").into());
        }
        self.note_search(caller, application, search.kind.as_deref())
            .await?;
        let filter = ValueFilter {
            hashes,
            before: search.before,
            limit: search.limit,
        };
        self.page_of_values(caller, filter).await
    }

    /// A page of the records that have a value of this record.
    pub(crate) async fn with_same_values(
        &self,
        caller: &Caller,
        search: SameSearch,
    ) -> Result<RecordPage, ApiError> {
        let record = find_record(&self.records, &self.reads, caller, search.id).await?;
        let (records, seq) = (self.records.clone(), record.summary.seq);
        let read = async move { records.found_values(seq).await };
        let mut values = self.reads.read(caller, read).await?;
        if let Some(kind) = &search.kind {
            values.retain(|found| *found.kind == **kind);
        }
        let application = Some(record.summary.application_id);
        self.note_search(caller, application, search.kind.as_deref())
            .await?;
        let filter = ValueFilter {
            hashes: values.into_iter().map(|found| found.hash).collect(),
            before: search.before,
            limit: search.limit,
        };
        self.page_of_values(caller, filter).await
    }

    /// In how many other records the values of a record are that the caller can see.
    pub(crate) async fn same_values(
        &self,
        caller: &Caller,
        record: &RecordSummary,
    ) -> Result<Vec<SameValues>, ApiError> {
        if record.types.is_empty() {
            return Ok(Vec::new());
        }
        let (records, seq) = (self.records.clone(), record.seq);
        let read = async move { records.same_values(seq).await };
        self.reads.read(caller, read).await
    }

    /// Makes a new key for the values that are found from now on. What was found before is found with the keys before,
    /// as long as they are kept.
    pub(crate) async fn rotate_value_key(&self, caller: &Caller) -> Result<i64, ApiError> {
        caller.must_be_unbound()?;
        let action = self.audit.admit(caller, Action::ValueKeyRotate)?;
        let entry = action.entry(caller, Target::ValueKeys, json!({}));
        let made = self
            .new_value_keys
            .add_value_key(random_key()?, now_ms(), Some(entry))
            .await?;
        self.value_keys.read(now_ms()).await?;
        Ok(made)
    }

    /// What stands for a value in these applications.
    fn hashes(
        &self,
        applications: &[ApplicationId],
        kinds: &[&str],
        value: &str,
    ) -> Vec<ValueHash> {
        let keys = applications.iter().flat_map(|id| self.value_keys.all(*id));
        let of_key = keys.flat_map(|key| {
            let hashes = kinds.iter().filter_map(|kind| key.hash(kind, value));
            hashes.collect::<Vec<_>>()
        });
        of_key.collect()
    }

    async fn searched_applications(
        &self,
        caller: &Caller,
        application: Option<ApplicationId>,
    ) -> Result<Vec<ApplicationId>, ApiError> {
        if let Some(id) = application {
            return Ok(vec![id]);
        }
        let filter = ApplicationFilter {
            id: None,
            name: None,
            after: None,
            limit: MOST_APPLICATIONS,
        };
        let applications = self.applications.clone();
        let read = async move { applications.applications(&filter).await };
        let page = self.reads.read(caller, read).await?;
        if page.next_after.is_some() {
            let problem =
                format!("is missing: there are more than {MOST_APPLICATIONS} applications");
            return Err(FieldProblem::new("application_id", problem).into());
        }
        let found = page.applications.iter();
        Ok(found.map(|application| application.id).collect())
    }

    async fn note_search(
        &self,
        caller: &Caller,
        application: Option<ApplicationId>,
        kind: Option<&str>,
    ) -> Result<(), ApiError> {
        // A name that rules gave to a type is any text.
        let kind = kind.map(|kind| match is_pattern_name(kind) {
            true => kind,
            false => "[given]",
        });
        let target = Target::Records(application);
        self.audit
            .note_read(
                caller,
                Action::RecordsFindValue,
                target,
                json!({"type": kind}),
            )
            .await
    }

    async fn page_of_values(
        &self,
        caller: &Caller,
        filter: ValueFilter,
    ) -> Result<RecordPage, ApiError> {
        let records = self.records.clone();
        let read = async move { records.page_by_values(&filter).await };
        self.reads.read(caller, read).await
    }
}
