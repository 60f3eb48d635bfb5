//! The bar of saved filters above the list of records: a link to each, and a form that saves the
//! present one.

use crate::analysis::records::SeenFilter;
use crate::analysis::records::saved_filters::{LONGEST_NAME, may_remove};
use crate::analysis::ui::layout::components::token_field;
use crate::analysis::ui::request::Visit;
use crate::analysis::ui::request::list_query::ListQuery;
use crate::analysis::{ApiError, Services};
use axum::extract::Query;
use maud::{Markup, html};

/// The page that a saved filter opens.
pub(super) const LIST: &str = "/ui/records";

/// The bar of the filters that this person sees.
pub(crate) async fn bar(
    services: &Services,
    visit: &Visit,
    query: &ListQuery,
) -> Result<Markup, ApiError> {
    let known = services.records.saved_filters(&visit.account).await?;
    let r = visit.view.r();
    let query = query.with("before", None).with("limit", None);
    Ok(html! {
        @if !known.is_empty() {
            nav.saved aria-label=(r.saved_filters) {
                span.dim { (r.saved_filters) }
                ul.bare { @for seen in &known { (chip(visit, seen, &query)) } }
            }
        }
        @if !query.query().is_empty() { (form(visit, &query)) }
    })
}

fn chip(visit: &Visit, seen: &SeenFilter, query: &ListQuery) -> Markup {
    let (t, r, filter) = (visit.view.t, visit.view.r(), &seen.filter);
    let is_here = filter.query == query.query();
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
                    input type="hidden" name="filter" value=(query.query());
                    button.quiet type="submit" aria-label={ (t.remove) " " (filter.name) } title=(t.remove)
                        data-confirm={ (r.remove_filter_question) " " (filter.name) } { "×" }
                }
            }
        }
    }
}

fn form(visit: &Visit, query: &ListQuery) -> Markup {
    let (t, r) = (visit.view.t, visit.view.r());
    html! {
        details.keep-filter {
            summary { (r.save_filter) }
            form.row method="post" action="/ui/records/filters" {
                (token_field(&visit.view))
                input type="hidden" name="filter" value=(query.query());
                label { (t.name) input name="name" required maxlength=(LONGEST_NAME) autocomplete="off"; }
                label.tick { input type="checkbox" name="shared"; span { (r.share_filter) } }
                button type="submit" { (t.save) }
            }
        }
    }
}

/// The filter of a saved or posted query string, without a page or its size.
pub(super) fn read(query: &str) -> ListQuery {
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let query = ListQuery::read(Query(pairs.into_owned().collect()));
    query.with("before", None).with("limit", None)
}
