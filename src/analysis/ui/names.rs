//! Applications by their names, both ways: what identifiers are called on pages, and which one a person
//! means who typed a name or an identifier.

use super::phrases::RecordPhrases;
use crate::analysis::{ApiError, Caller, FieldProblem, Service};
use crate::model::ApplicationId;
use crate::store::ApplicationFilter;
use std::collections::HashMap;

/// Applications looked through for a name.
const LOOKED_AT: u32 = 200;
/// Names that a field offers.
const OFFERED: u32 = 100;

/// What applications are called.
pub(super) type Names = HashMap<ApplicationId, String>;

/// The names of these applications; one that is gone has none.
pub(super) async fn names(
    service: &Service,
    caller: &Caller,
    ids: impl Iterator<Item = ApplicationId>,
) -> Result<Names, ApiError> {
    service.application_names(caller, ids).await
}

/// The application that a field `application_id` means.
pub(super) async fn meant(
    service: &Service,
    caller: &Caller,
    named: &str,
    r: &RecordPhrases,
) -> Result<ApplicationId, ApiError> {
    if let Ok(id) = named.parse() {
        return Ok(id);
    }
    let filter = ApplicationFilter {
        id: None,
        name: Some(named.to_owned()),
        after: None,
        limit: LOOKED_AT,
    };
    let page = service.list_applications(caller, filter).await?;
    let same = |name: &str| name.to_lowercase() == named.to_lowercase();
    let mut same = page.applications.iter().filter(|found| same(&found.name));
    let problem = |text| FieldProblem::new("application_id", text).into();
    match (same.next(), same.next()) {
        (Some(one), None) => Ok(one.id),
        (Some(_), Some(_)) => Err(problem(r.ambiguous_application)),
        (None, _) => Err(problem(r.unknown_application)),
    }
}

/// Names that a field for an application offers.
pub(super) async fn offered(service: &Service, caller: &Caller) -> Result<Vec<String>, ApiError> {
    let filter = ApplicationFilter {
        id: None,
        name: None,
        after: None,
        limit: OFFERED,
    };
    let page = service.list_applications(caller, filter).await?;
    Ok(page.applications.into_iter().map(|one| one.name).collect())
}
