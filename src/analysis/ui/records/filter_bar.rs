//! Saved filters above the list of records: links to go to, and a form that keeps the present one.

use super::asked::Asked;
use super::list;
use crate::analysis::records::saved_filters::{LONGEST_NAME, NewFilter, may_remove};
use crate::analysis::ui::components::{refusal, token_field};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::form::Form;
use crate::analysis::ui::visit::Visit;
use crate::analysis::{ApiError, Services};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use monitor_store::{FilterId, Scope, SeenFilter};
use std::sync::Arc;

const LIST: &str = "/ui/records";

pub(super) async fn keep(
    State(services): State<Arc<Services>>,
    visit: Visit,
    given: Form,
) -> Result<Response, Failure> {
    visit.must(Scope::Read)?;
    let asked = read(given.text("filter"));
    let new = NewFilter {
        name: given.text("name").to_owned(),
        query: asked.query(),
        is_shared: given.is_on("shared"),
    };
    match services.records.keep_filter(&visit.account, new).await {
        Ok(()) => Ok(Redirect::to(&asked.address(LIST)).into_response()),
        Err(error @ ApiError::Fields(_)) => {
            let message = refusal(visit.view.t, visit.view.t.not_saved, &error);
            let page = list::shown(&services, &visit, (&asked, message)).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
        Err(other) => Err(other.into()),
    }
}

pub(super) async fn remove(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Path(id): Path<String>,
    given: Form,
) -> Result<Response, Failure> {
    visit.must(Scope::Read)?;
    let id = id.parse().map(FilterId).map_err(|_| Failure::NotFound)?;
    services.records.remove_filter(&visit.account, id).await?;
    Ok(Redirect::to(&read(given.text("filter")).address(LIST)).into_response())
}

/// What stands above the list.
pub(super) async fn bar(
    services: &Services,
    visit: &Visit,
    asked: &Asked,
) -> Result<Markup, ApiError> {
    let known = services.records.saved_filters(&visit.account).await?;
    let r = visit.view.r();
    let asked = asked.with("before", None).with("limit", None);
    Ok(html! {
        @if !known.is_empty() {
            nav.saved aria-label=(r.saved_filters) {
                span.dim { (r.saved_filters) }
                ul.bare { @for seen in &known { (one(visit, seen, &asked)) } }
            }
        }
        @if !asked.query().is_empty() { (form(visit, &asked)) }
    })
}

fn one(visit: &Visit, seen: &SeenFilter, asked: &Asked) -> Markup {
    let (t, r, filter) = (visit.view.t, visit.view.r(), &seen.filter);
    let is_here = filter.query == asked.query();
    let is_own = filter.owner == visit.account.id;
    let owner = (!is_own).then(|| format!("{} {}", r.shared_by, seen.owner_name));
    html! {
        li.chip {
            a href=(read(&filter.query).address(LIST)) aria-current=[is_here.then_some("true")] title=[owner] {
                (filter.name) @if filter.is_shared { span.dim.small { " " (r.shared) } }
            }
            @if may_remove(&visit.account, filter) {
                form.inline method="post" action={ "/ui/records/filters/" (filter.id.0) "/remove" } {
                    (token_field(&visit.view))
                    input type="hidden" name="filter" value=(asked.query());
                    button.quiet type="submit" aria-label={ (t.remove) " " (filter.name) } title=(t.remove)
                        data-confirm={ (r.remove_filter_question) " " (filter.name) } { "×" }
                }
            }
        }
    }
}

fn form(visit: &Visit, asked: &Asked) -> Markup {
    let (t, r) = (visit.view.t, visit.view.r());
    html! {
        details.keep-filter {
            summary { (r.save_filter) }
            form.row method="post" action="/ui/records/filters" {
                (token_field(&visit.view))
                input type="hidden" name="filter" value=(asked.query());
                label { (t.name) input name="name" required maxlength=(LONGEST_NAME) autocomplete="off"; }
                label.tick { input type="checkbox" name="shared"; span { (r.share_filter) } }
                button type="submit" { (t.save) }
            }
        }
    }
}

/// A filter as it was kept or sent; what is no part of one is left out.
fn read(query: &str) -> Asked {
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let asked = Asked::read(Query(pairs.into_owned().collect()));
    asked.with("before", None).with("limit", None)
}
