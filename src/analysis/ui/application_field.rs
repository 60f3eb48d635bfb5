//! The field for an application: a name or an identifier as free text, with suggestions from the server
//! while somebody types. Without scripts it is the text alone; `application_names` resolves it. No page
//! holds a list of all applications.

use crate::analysis::admin::{Application, ApplicationFilter, NameFilter};
use crate::analysis::text_checks::LONGEST_NAME;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::badge;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Caller, Services};
use axum::extract::{Query, State};
use axum::response::Html;
use maud::{Markup, html};
use monitor_model::ApplicationId;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;

/// The address of the suggestions.
pub(crate) const PATH: &str = "/applications/suggestions";
/// Applications suggested at once.
const OFFERED: usize = 10;

/// The label of the field.
#[derive(Clone, Copy)]
pub(crate) enum Label<'a> {
    /// Visible, above the field.
    Shown(&'a str),
    /// Only for screen readers.
    Spoken(&'a str),
}

/// The field `application_id` of a form.
pub(crate) fn field(label: Label<'_>, value: &str, placeholder: &str) -> Markup {
    let spoken = match label {
        Label::Spoken(text) => Some(text),
        Label::Shown(_) => None,
    };
    let input = html! {
        input name="application_id" value=(value) placeholder=(placeholder) aria-label=[spoken] maxlength="200" autocomplete="off" spellcheck="false";
    };
    html! {
        div.suggests data-suggests={ "/ui" (PATH) } {
            @match label { Label::Shown(text) => label { (text) (input) }, Label::Spoken(_) => (input) }
            div.offered hidden {}
            span.hidden role="status" {}
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct SuggestionQuery {
    part: String,
}

/// The applications suggested for a text.
#[derive(Default)]
struct Suggestions {
    applications: Vec<Application>,
    /// Whether more applications match.
    has_more: bool,
}

/// The suggestions for the text typed so far, as a fragment of a page.
pub(crate) async fn suggestions(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Query(query): Query<SuggestionQuery>,
) -> Result<Html<String>, Failure> {
    visit.must_see_applications()?;
    let found = find_suggestions(&services, &visit.caller, query.part.trim()).await?;
    Ok(Html(suggestion_list(&visit.view, &found).into_string()))
}

/// The application of an identifier; else those whose name contains the text, exact matches first.
async fn find_suggestions(
    services: &Services,
    caller: &Caller,
    part: &str,
) -> Result<Suggestions, ApiError> {
    if let Ok(id) = part.parse::<ApplicationId>() {
        return of_identifier(services, caller, id).await;
    }
    if part.chars().count() > LONGEST_NAME {
        return Ok(Suggestions::default());
    }
    let of = async |name| {
        let filter = ApplicationFilter {
            name,
            limit: OFFERED as u32,
            ..ApplicationFilter::default()
        };
        services.admin.list_applications(caller, filter).await
    };
    let held = (!part.is_empty()).then(|| NameFilter::Part(part.to_owned()));
    let page = of(held).await?;
    let has_more = page.next_after.is_some();
    let whole = NameFilter::Whole(part.to_owned());
    let mut fitting = match has_more && !part.is_empty() {
        true => of(Some(whole.clone())).await?.applications,
        false => Vec::new(),
    };
    fitting.extend(page.applications);
    let mut known = HashSet::new();
    fitting.retain(|application| known.insert(application.id));
    fitting.sort_by_key(|application| !whole.takes(&application.name));
    fitting.truncate(OFFERED);
    Ok(Suggestions {
        applications: fitting,
        has_more,
    })
}

async fn of_identifier(
    services: &Services,
    caller: &Caller,
    id: ApplicationId,
) -> Result<Suggestions, ApiError> {
    match services.admin.find_application(caller, id).await {
        Ok(application) => Ok(Suggestions {
            applications: vec![application],
            has_more: false,
        }),
        Err(ApiError::NotFound | ApiError::OtherApplication) => Ok(Suggestions::default()),
        Err(error) => Err(error),
    }
}

fn suggestion_list(view: &View, found: &Suggestions) -> Markup {
    let r = view.r();
    let count = found.applications.len();
    let said = match (count, found.has_more) {
        (0, _) => view.t.nothing_found.to_owned(),
        (_, true) => r.suggested_some.replace("{}", &count.to_string()),
        (_, false) => r.suggested.replace("{}", &count.to_string()),
    };
    html! {
        @if count > 0 {
            ul #suggested role="listbox" aria-label=(r.application) {
                @for (at, one) in found.applications.iter().enumerate() { (option(at, one, &found.applications)) }
            }
        }
        p.hint data-said=(said) { (said) }
    }
}

/// Choosing an option fills in the name, or the identifier where two applications share the name.
fn option(at: usize, one: &Application, all: &[Application]) -> Markup {
    let name = NameFilter::Whole(one.name.clone());
    let alike = all.iter().filter(|other| name.takes(&other.name)).count();
    let id = one.id.to_string();
    let value = if alike > 1 { &id } else { &one.name };
    html! {
        li role="option" id={ "suggested-" (at) } aria-selected="false" data-value=(value) {
            span { (one.name) } @if alike > 1 { (badge("plain", &id)) }
        }
    }
}
