//! Applications by their names, both ways: what identifiers are called on pages, and which one a person
//! means who typed a name or an identifier. What is offered while they type stands in `suggestions`.

use crate::analysis::admin::{ApplicationFilter, NameFilter};
use crate::analysis::ui::phrases::RecordPhrases;
use crate::analysis::{ApiError, Caller, FieldProblem, Services};
use monitor_model::ApplicationId;
use std::collections::HashMap;

/// Applications of one name that are read: a second one makes it ambiguous.
const READ: u32 = 2;

/// What applications are called.
pub(crate) type Names = HashMap<ApplicationId, String>;

/// The application that a field `application_id` means.
pub(crate) async fn resolve(
    services: &Services,
    caller: &Caller,
    named: &str,
    r: &RecordPhrases,
) -> Result<ApplicationId, ApiError> {
    if let Ok(id) = named.parse() {
        return Ok(id);
    }
    let filter = ApplicationFilter {
        name: Some(NameFilter::Whole(named.to_owned())),
        limit: READ,
        ..ApplicationFilter::default()
    };
    let page = services.admin.list_applications(caller, filter).await?;
    let mut same = page.applications.iter();
    let problem = |text| FieldProblem::new("application_id", text).into();
    match (same.next(), same.next()) {
        (Some(one), None) => Ok(one.id),
        (Some(_), Some(_)) => Err(problem(r.ambiguous_application)),
        (None, _) => Err(problem(r.unknown_application)),
    }
}
