//! Records by a value that was found in them, and those that share a value with a record. The value is in the body of
//! the form: no address has it.

use super::{record_id, rows};
use crate::analysis::records::by_value::{SameSearch, ValueSearch};
use crate::analysis::records::{MOST_SAME, RecordPage, SameValues};
use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::application_names;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{
    self, PageLink, content_or_refusal, head, number, token_field,
};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::paths;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::list_query::ListQuery;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, FieldProblem, Services};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use monitor_model::{RecordId, pattern_names};
use serde::Deserialize;
use std::sync::Arc;

const PATH: &str = "/ui/records/by-value";
/// Records of a page.
const PER_PAGE: u32 = 50;
/// Characters of a value.
const LONGEST: usize = 1_000;

/// What somebody typed into the form.
#[derive(Default)]
pub(super) struct Typed {
    value: String,
    kind: String,
    application: String,
    before: Option<i64>,
}

impl Typed {
    fn of(form: &Form) -> Self {
        let text = |name| form.text(name).trim().to_owned();
        Self {
            value: text("value"),
            kind: text("type"),
            application: text("application_id"),
            before: form.text("before").parse().ok(),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SameQuery {
    r#type: String,
    before: Option<i64>,
}

/// The form alone.
pub(super) async fn page(visit: Visit) -> Result<Response, Failure> {
    visit.must_read()?;
    let typed = Typed::default();
    Ok(whole(&visit, StatusCode::OK, &typed, html! {}))
}

/// The records that have the value of the form.
pub(super) async fn find(
    State(services): State<Arc<Services>>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let typed = Typed::of(&form);
    let found = found(&services, &visit, &form, &typed).await;
    let (status, shown) = content_or_refusal(&visit.view, found)?;
    Ok(whole(&visit, status, &typed, shown))
}

/// The records that share values of a type with a record.
pub(super) async fn same(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Path(id): Path<String>,
    Query(query): Query<SameQuery>,
) -> Result<Html<String>, Failure> {
    visit.must_read()?;
    let id = record_id(&id)?;
    let search = SameSearch {
        id,
        kind: Some(query.r#type.clone()).filter(|kind| !kind.is_empty()),
        before: query.before,
        limit: PER_PAGE,
    };
    let page = services
        .records
        .with_same_values(&visit.caller, search)
        .await?;
    let (view, r) = (&visit.view, visit.view.r());
    let address = format!("/ui/records/{id}");
    let link = |label, before: Option<i64>| {
        let before = before.map(|before| before.to_string());
        let mut parts = vec![("type", &*query.r#type)];
        parts.extend(before.iter().map(|before| ("before", &**before)));
        PageLink {
            label,
            address: paths::address(&format!("{address}/same"), &parts),
        }
    };
    let first = query.before.map(|_| link(r.newest, None));
    let next = page.next_before.map(|before| link(r.older, Some(before)));
    let actions = html! { a.button href=(address) { (r.whole_record) } };
    let table = table(&services, &visit, &page).await?;
    let content = html! {
        (head(r.same_values, html! { p.dim { (query.r#type) } }, actions))
        (table)
        (components::pager(view.t, first, next))
    };
    Ok(layout::page(
        &visit,
        Section::Records,
        r.same_values,
        content,
    ))
}

/// In how many other records the values of a record are, with a way to them.
pub(super) fn card(view: &View, id: RecordId, same: &[SameValues]) -> Markup {
    let r = view.r();
    let table = Table {
        name: r.same_values,
        look: "",
        columns: [
            Column::Text(r.find_type),
            Column::Number(r.other_records),
            Column::Number(r.their_users),
            Column::Actions(r.show_same),
        ],
    };
    let cells = |one: &SameValues| {
        let has_more = one.records > MOST_SAME;
        let more = if has_more { "+" } else { "" };
        let records = one.records.min(MOST_SAME);
        let address = paths::address(&format!("/ui/records/{id}/same"), &[("type", &one.kind)]);
        [
            html! { (one.kind) },
            html! { (number(records)) (more) },
            html! { (number(one.users)) (more) },
            html! { a.button.small href=(address) aria-label={ (r.show_same) ": " (one.kind) } { (r.show_same) } },
        ]
    };
    html! {
        @if !same.is_empty() {
            section.card {
                h2 { (r.same_values) }
                div.table.flat { (table.of(html! { @for one in same { (table.row(cells(one))) } })) }
            }
        }
    }
}

/// The form, folded away unless it was sent.
pub(super) fn form(view: &View, typed: &Typed, is_open: bool) -> Markup {
    let (t, r) = (view.t, view.r());
    html! {
        details.card.filters.by-value open[is_open] {
            summary { (r.by_value) }
            form method="post" action=(PATH) {
                (token_field(view))
                div.row {
                    label.wide { (r.value) input name="value" value=(typed.value) required maxlength=(LONGEST) autocomplete="off" spellcheck="false"; }
                    label { (r.find_type) select name="type" {
                        (components::choice("", r.any_value_type, &typed.kind))
                        @for name in kinds(&typed.kind) { (components::choice(name, name, &typed.kind)) }
                    } }
                    (application_field::field(Label::Shown(r.application), &typed.application, r.name_or_id))
                }
                p.hint { (r.by_value_hint) }
                div.actions { button.primary type="submit" { (t.search) } }
            }
        }
    }
}

/// The predefined types, and the one that was sent.
fn kinds(sent: &str) -> Vec<&str> {
    let mut kinds: Vec<&str> = pattern_names().collect();
    if !sent.is_empty() && !kinds.contains(&sent) {
        kinds.push(sent);
    }
    kinds
}

fn whole(visit: &Visit, status: StatusCode, typed: &Typed, shown: Markup) -> Response {
    let r = visit.view.r();
    let actions = html! { a.button href="/ui/records" { (r.records) } };
    let content = html! {
        (head(r.by_value, html! {}, actions))
        (form(&visit.view, typed, true))
        (shown)
    };
    let page = layout::page(visit, Section::Records, r.by_value, content);
    (status, page).into_response()
}

async fn found(
    services: &Services,
    visit: &Visit,
    form: &Form,
    typed: &Typed,
) -> Result<Markup, ApiError> {
    let characters = typed.value.chars().count();
    if characters == 0 {
        return Err(FieldProblem::new("value", "is empty").into());
    }
    if characters > LONGEST {
        let problem = format!("has {characters} characters; allowed: up to {LONGEST}");
        return Err(FieldProblem::new("value", problem).into());
    }
    let search = ValueSearch {
        value: typed.value.clone(),
        kind: Some(typed.kind.clone()).filter(|kind| !kind.is_empty()),
        application_id: application_names::of_form(services, visit, form).await?,
        before: typed.before,
        limit: PER_PAGE,
    };
    let page = services.records.by_value(&visit.caller, search).await?;
    let table = table(services, visit, &page).await?;
    Ok(html! {
        (table)
        @if let Some(before) = page.next_before { (older(&visit.view, typed, before)) }
    })
}

/// The way to the next page, which has the value in its body too.
fn older(view: &View, typed: &Typed, before: i64) -> Markup {
    let fields = [
        ("value", &*typed.value),
        ("type", &*typed.kind),
        ("application_id", &*typed.application),
    ];
    html! {
        form.pager method="post" action=(PATH) {
            (token_field(view))
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            input type="hidden" name="before" value=(before);
            button type="submit" { (view.r().older) }
        }
    }
}

async fn table(services: &Services, visit: &Visit, page: &RecordPage) -> Result<Markup, ApiError> {
    let view = &visit.view;
    let ids = page.records.iter().map(|record| record.application_id);
    let names = services.admin.application_names(&visit.caller, ids).await?;
    let rows = services
        .records
        .rows_of(&visit.caller, &page.records)
        .await?;
    let shown = rows::rows(view, &rows, &names, &ListQuery::default());
    Ok(html! {
        @if page.records.is_empty() { div.empty { (view.t.nothing_found) } } @else {
            div.table #records { (rows::columns(view).of(shown)) }
        }
    })
}
