//! `POST /records/by_value` (scope read or read_cleaned): the records that have a value. The value is in the body: no
//! address and no log has it.

use super::list::List;
use super::shapes::Item;
use crate::analysis::api::extract::{Api, Body, Fields, ReadFields, RecordReader};
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::api::schemas;
use crate::analysis::records::by_value::ValueSearch;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;

/// The longest value and the longest name of a type, in characters.
const LONGEST: usize = 1_000;
const LONGEST_KIND: usize = 200;
/// Records on a page, and the most.
const RECORDS: u32 = 50;
const MOST_RECORDS: i64 = 200;

impl ReadFields for ValueSearch {
    fn read(fields: &mut Fields) -> Self {
        let value = "must be text of 1 to 1000 characters";
        let given = fields
            .take("value")
            .and_then(|given| bounded(given, LONGEST));
        if given.is_none() {
            fields.refuse("value", value);
        }
        let kind = "must be text of 1 to 200 characters";
        let kind = fields.typed("type", kind, |given| bounded(given, LONGEST_KIND));
        let id = "must be a UUID or null";
        let application_id = fields.typed("application_id", id, |value| match value {
            Value::Null => Some(None),
            value => value.as_str()?.parse().ok().map(Some),
        });
        let before = fields.integer("before");
        let limit = fields.typed("limit", "must be an integer from 1 to 200", |limit| {
            let limit = limit
                .as_i64()
                .filter(|limit| (1..=MOST_RECORDS).contains(limit));
            u32::try_from(limit?).ok()
        });
        Self {
            value: given.unwrap_or_default(),
            kind,
            application_id: application_id.flatten(),
            before,
            limit: limit.unwrap_or(RECORDS),
        }
    }
}

fn bounded(given: Value, most: usize) -> Option<String> {
    let Value::String(text) = given else {
        return None;
    };
    let fits = !text.is_empty() && text.chars().nth(most).is_none();
    fits.then_some(text)
}

/// List the records in which a value was found, newest first
///
/// The value is compared as values of its type are: a card by its digits, an e-mail address in small letters. Stored
/// are hashes with a key of the server, of the first 256 different values of a record; those of CVC are not. Each
/// search is an entry of the audit log, without the value. Scope: read or read_cleaned.
#[utoipa::path(
    post,
    path = "/records/by_value",
    operation_id = "findRecordsByValue",
    tag = "records",
    request_body = schemas::ValueSearch,
    responses((status = 200, description = "One page, without texts.", body = List)),
)]
pub(crate) async fn find(
    State(services): Api,
    RecordReader(caller): RecordReader,
    Body(search): Body<ValueSearch>,
) -> Outcome {
    let page = services.records.by_value(&caller, search).await?;
    let list = List {
        records: page.records.iter().map(Item::from).collect(),
        next_before: page.next_before,
    };
    response::unstored(StatusCode::OK, &list)
}
