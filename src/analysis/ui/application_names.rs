//! Applications by their names, both ways: the names of identifiers on a page, and the application that a
//! typed name or identifier stands for. `application_field` has the suggestions while somebody types.

use crate::analysis::admin::{ApplicationFilter, NameFilter};
use crate::analysis::ui::phrases::RecordPhrases;
use crate::analysis::ui::request::{Form, Visit};
use crate::analysis::{ApiError, Caller, FieldProblem, Services};
use monitor_model::ApplicationId;
use std::collections::HashMap;

/// Applications of one name that are read: a second one makes the name ambiguous.
const READ: u32 = 2;

/// The names of the applications of a page.
pub(crate) type Names = HashMap<ApplicationId, String>;

/// The application of this identifier or name.
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

/// The application that a form names in its field `application_id`; None where the field is empty.
pub(crate) async fn of_form(
    services: &Services,
    visit: &Visit,
    form: &Form,
) -> Result<Option<ApplicationId>, ApiError> {
    match form.text("application_id").trim() {
        "" => Ok(None),
        named => resolve(services, &visit.caller, named, visit.view.r())
            .await
            .map(Some),
    }
}
