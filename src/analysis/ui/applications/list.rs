//! The list of applications, in the order they were made, with a search for names.

use crate::analysis::Services;
use crate::analysis::access::Scope;
use crate::analysis::admin::{Application, ApplicationFilter, NameFilter};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{self, PageLink, badge, head, time};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::paths;
use crate::analysis::ui::request::visit::Visit;
use axum::extract::{Query, State};
use axum::response::Html;
use maud::{Markup, html};
use monitor_model::AppMode;
use serde::Deserialize;
use std::sync::Arc;

const PER_PAGE: u32 = 50;
/// Characters of a description that the list shows.
const DESCRIBED: usize = 160;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ApplicationsQuery {
    name: String,
    after: Option<i64>,
}

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Query(query): Query<ApplicationsQuery>,
) -> Result<Html<String>, Failure> {
    visit.must_see_applications()?;
    let filter = ApplicationFilter {
        id: None,
        name: Some(query.name.trim())
            .filter(|name| !name.is_empty())
            .map(|name| NameFilter::Part(name.to_owned())),
        after: query.after,
        limit: PER_PAGE,
    };
    let found = services
        .admin
        .list_applications(&visit.caller, filter)
        .await?;
    let t = visit.view.t;
    Ok(layout::page(
        &visit,
        Section::Applications,
        t.applications,
        html! {
            (head(t.applications, html! {}, actions(&visit)))
            (search(&visit, &query.name))
            @if found.applications.is_empty() {
                div.empty { (t.nothing_found) }
            } @else {
                (table(&visit, &services, &found.applications))
            }
            (pager(&visit, &query, found.next_after))
        },
    ))
}

fn actions(visit: &Visit) -> Markup {
    let may_change = visit.may(Scope::Admin);
    let may_make = may_change && visit.account.application_id.is_none();
    html! {
        @if may_change { a.button.quiet href="/ui/erasure" { (visit.view.a().erase) } }
        @if may_make { a.button.primary href="/ui/applications/new" { (visit.view.t.new_application) } }
    }
}

fn search(visit: &Visit, name: &str) -> Markup {
    let t = visit.view.t;
    html! {
        form.search method="get" action="/ui/applications" role="search" {
            label { span.hidden { (t.search_names) } input type="search" name="name" value=(name) placeholder=(t.search_names) maxlength="200"; }
            button type="submit" { (t.search) }
            @if !name.is_empty() { a.button.quiet href="/ui/applications" { (t.clear) } }
        }
    }
}

fn table(visit: &Visit, services: &Services, applications: &[Application]) -> Markup {
    let t = visit.view.t;
    let table = Table {
        name: t.applications,
        look: "",
        columns: [
            Column::Text(t.name),
            Column::Text(t.mode),
            Column::Text(t.identifier),
            Column::Number(t.version),
            Column::Text(t.changed),
        ],
    };
    let rows = html! { @for application in applications { (table.row(cells(visit, services, application))) } };
    html! { div.table { (table.of(rows)) } }
}

fn cells(visit: &Visit, services: &Services, application: &Application) -> [Markup; 5] {
    let is_in_file = services.admin.is_in_file(application.id);
    let address = format!("/ui/applications/{}", application.id);
    [
        html! {
            a href=(address) { (application.name) }
            @if !application.description.is_empty() { div.dim.small.cut { (beginning(&application.description)) } }
        },
        html! {
            (mode(visit, application))
            @if is_in_file { " " (in_file(visit)) }
        },
        html! { code.small { (application.id) } },
        html! { a href={ (address) "/versions" } { (application.version) } },
        time(application.updated_at_ms),
    ]
}

/// As much of a description as one line shows.
fn beginning(description: &str) -> String {
    description.chars().take(DESCRIBED).collect()
}

fn mode(visit: &Visit, application: &Application) -> Markup {
    let t = visit.view.t;
    match &application.policy {
        None => badge("plain", t.mode_none_short),
        Some(Err(_)) => badge("bad", t.unreadable),
        Some(Ok(policy)) => match policy.app_mode {
            AppMode::Sync => badge("accent", "sync"),
            AppMode::Async => badge("plain", "async"),
        },
    }
}

/// The mark of a policy that the configuration file has, and no page can change.
fn in_file(visit: &Visit) -> Markup {
    let t = visit.view.t;
    html! { span.badge.plain title=(t.policy_in_file) { (t.policy_in_file_short) } }
}

fn pager(visit: &Visit, query: &ApplicationsQuery, next: Option<i64>) -> Markup {
    let t = visit.view.t;
    let link = |label, after: Option<i64>| {
        let after = after.map(|after| after.to_string());
        let mut parts = vec![("name", &*query.name)];
        parts.extend(after.iter().map(|after| ("after", &**after)));
        parts.retain(|(_, text)| !text.is_empty());
        PageLink {
            label,
            address: paths::address("/ui/applications", &parts),
        }
    };
    let first = query.after.map(|_| link(t.first_page, None));
    components::pager(t, first, next.map(|next| link(t.next_page, Some(next))))
}
