//! The queue of findings: a filter, one row for findings that are alike, and a decision about those that are ticked.

use super::decide;
use super::query::{ListParts, PATH};
use crate::analysis::access::Scope;
use crate::analysis::records::findings::{Finding, FindingState, ManyFindings};
use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::application_names::Names;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{
    self, PageLink, badge, choice, content_or_refusal, head, refusal, time_exact, token_field,
};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::paths;
use crate::analysis::ui::records::bounded_text::{self, LinkStyle};
use crate::analysis::ui::records::rows;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::list_query::Pairs;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, FieldProblem, Services};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use monitor_model::RecordId;
use std::sync::Arc;

/// Labels that a row shows.
const SHOWN: usize = 4;

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    pairs: Pairs,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let sent = Sent {
        query: ListParts::read(pairs),
        form: decide::blank(),
        message: html! {},
    };
    page_of(&services, &visit, sent).await
}

/// A filter, and the fields of a decision that was refused with a message.
struct Sent {
    query: ListParts,
    form: Form,
    message: Markup,
}

async fn page_of(services: &Services, visit: &Visit, sent: Sent) -> Result<Response, Failure> {
    let (view, f) = (&visit.view, visit.view.f());
    let found = found(services, visit, &sent).await;
    let (status, shown) = content_or_refusal(view, found)?;
    let links = html! {
        a.button href="/ui/findings/precision" { (f.precision) }
    };
    let content = html! {
        (head(f.findings, html! { p.dim { (f.findings_hint) } }, links))
        (sent.message)
        (filter_form(view, &sent.query))
        (shown)
    };
    let page = layout::page(visit, Section::Findings, f.findings, content);
    Ok((status, page).into_response())
}

/// Decides about the ticked findings.
pub(super) async fn decide(
    State(services): State<Arc<Services>>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    visit.must_read()?;
    visit.must(Scope::Triage)?;
    let query = ListParts::of_text(form.text("filter"));
    match change(&services, &visit, &form).await {
        Ok(()) => Ok(Redirect::to(&query.address()).into_response()),
        Err(error @ (ApiError::Fields(_) | ApiError::Field { .. })) => {
            let message = refusal(visit.view.t, visit.view.t.not_saved, &error);
            let sent = Sent {
                query,
                form,
                message,
            };
            let page = page_of(&services, &visit, sent).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
        Err(other) => Err(other.into()),
    }
}

async fn change(services: &Services, visit: &Visit, form: &Form) -> Result<(), ApiError> {
    let ids: Vec<RecordId> = form.all("id").filter_map(|id| id.parse().ok()).collect();
    if ids.is_empty() {
        return Err(FieldProblem::new("id", visit.view.f().none_chosen).into());
    }
    let (records, triage) = (&services.records, decide::read(form));
    if !form.is_on("alike") {
        let many = ManyFindings::Records(ids);
        return records
            .triage_many(&visit.caller, many, triage)
            .await
            .map(drop);
    }
    for id in ids {
        let many = ManyFindings::AlikeTo(id);
        records
            .triage_many(&visit.caller, many, triage.clone())
            .await?;
    }
    Ok(())
}

async fn found(services: &Services, visit: &Visit, sent: &Sent) -> Result<Markup, ApiError> {
    let view = &visit.view;
    let query = sent.query.resolved(services, &visit.caller, view.r());
    let query = query.await?;
    let filter = query.filter()?;
    let page = services.records.findings(&visit.caller, filter).await?;
    let ids = page.findings.iter().map(|finding| finding.application_id);
    let names = services.admin.application_names(&visit.caller, ids).await?;
    let may_decide = visit.may(Scope::Triage);
    let table = table(view, &page.findings, &names, may_decide);
    let is_empty = page.findings.is_empty();
    Ok(html! {
        @if is_empty {
            div.empty { @if page.next_before.is_some() { (view.r().searched_in_part) } @else { (view.t.nothing_found) } }
        } @else if may_decide {
            form method="post" action={ (PATH) "/bulk" } {
                (token_field(view))
                input type="hidden" name="filter" value=(query.query());
                (table)
                (decision(visit, &sent.form))
            }
        } @else { (table) }
        (pager(view, &query, page.next_before))
    })
}

/// The decision about the ticked rows.
fn decision(visit: &Visit, filled: &Form) -> Markup {
    let f = visit.view.f();
    html! {
        section.card aria-label=(f.decide) {
            h2 { (f.decide) }
            (decide::fields(&visit.view, filled, &visit.account.name))
            label.tick { input type="checkbox" name="alike"; span { (f.with_alike) } }
            div.actions { button.primary type="submit" { (f.decide_button) } }
        }
    }
}

fn table(view: &View, findings: &[Finding], names: &Names, may_decide: bool) -> Markup {
    let (r, f) = (view.r(), view.f());
    let table = Table {
        name: f.findings,
        look: "records",
        columns: [
            Column::Text(f.received),
            Column::Text(f.types),
            Column::Text(f.state),
            Column::Text(r.application),
            Column::Text(r.user),
            Column::Text(f.alike),
            Column::Text(f.assignee),
        ],
    };
    let cells = |finding: &Finding| {
        [
            place(view, finding, may_decide),
            labels(view, finding),
            decide::state(f, finding.state),
            rows::application(r, finding.application_id, names),
            user(finding),
            alike(view, finding),
            assignee(view, finding),
        ]
    };
    let rows = html! { @for finding in findings { (table.row(cells(finding))) } };
    html! { div.table { (table.of(rows)) } }
}

/// The box of a row, and the link to its record.
fn place(view: &View, finding: &Finding, may_decide: bool) -> Markup {
    html! {
        @if may_decide {
            input type="checkbox" name="id" value=(finding.id)
                aria-label={ (view.f().choose) " " (components::time_text(finding.created_at_ms)) };
            " "
        }
        a href={ "/ui/records/" (finding.id) "#triage" } { (time_exact(finding.created_at_ms)) }
    }
}

fn labels(view: &View, finding: &Finding) -> Markup {
    let rest = finding.labels.len().saturating_sub(SHOWN);
    html! {
        div.badges {
            @for label in finding.labels.iter().take(SHOWN) { (badge("warn", &decide::label(view, label))) }
            @if rest > 0 { span.dim { "+" (rest) } }
        }
    }
}

fn user(finding: &Finding) -> Markup {
    let of_user = |user: &str| paths::address(PATH, &[("user_id", user)]);
    html! {
        @match &finding.user_id {
            Some(user) => (bounded_text::link(user, LinkStyle::plain(""), of_user)),
            None => span.dim { "–" },
        }
    }
}

/// How many are alike, and since when.
fn alike(view: &View, finding: &Finding) -> Markup {
    let (alike, cluster) = (finding.alike, finding.cluster.0.to_string());
    let parts = [
        ("cluster", cluster.as_str()),
        ("state", finding.state.as_str()),
    ];
    html! {
        @if alike.count > 1 {
            a href=(paths::address(PATH, &parts)) { "× " (alike.count) }
            div.dim.small { (view.f().alike_since) " " (components::time(alike.first_ms)) }
        } @else { span.dim { "–" } }
    }
}

fn assignee(view: &View, finding: &Finding) -> Markup {
    html! {
        @match &finding.assignee {
            Some(name) => span.cut { (name) },
            None => span.dim { (view.f().nobody) },
        }
    }
}

fn filter_form(view: &View, query: &ListParts) -> Markup {
    let (t, r, f) = (view.t, view.r(), view.f());
    let state = query.text("state");
    let is_on = |name| !query.text(name).is_empty();
    html! {
        form.card.filters method="get" action=(PATH) role="search" data-skips-empty {
            @if is_on("cluster") { input type="hidden" name="cluster" value=(query.text("cluster")); }
            div.row {
                label { (f.state) select name="state" {
                    (choice("", f.state_name(FindingState::Open), state))
                    @for one in FindingState::ALL.into_iter().skip(1) { (choice(one.as_str(), f.state_name(one), state)) }
                    (choice("all", f.all_states, state))
                } }
                (application_field::field(Label::Shown(r.application), query.text("application_id"), r.name_or_id))
                label { (f.kind) input name="type" value=(query.text("type")) maxlength="1000" autocomplete="off" spellcheck="false"; }
                label { (r.user) input name="user_id" value=(query.text("user_id")) maxlength="1000" autocomplete="off" spellcheck="false"; }
                label { (f.assignee) input name="assignee" value=(query.text("assignee")) maxlength="200" autocomplete="off" spellcheck="false"; }
            }
            div.row {
                label { (f.from) input type="datetime-local" name="from" value=(query.text("from")); }
                label { (f.to) input type="datetime-local" name="to" value=(query.text("to")); }
                label.tick { input type="checkbox" name="unassigned" value="true" checked[is_on("unassigned")]; span { (f.only_unassigned) } }
                label.tick { input type="checkbox" name="each" value="true" checked[is_on("each")]; span { (f.each_one) } }
                div.actions {
                    button.primary type="submit" { (t.search) }
                    a.button.quiet href=(PATH) { (t.clear) }
                }
            }
        }
    }
}

fn pager(view: &View, query: &ListParts, next: Option<i64>) -> Markup {
    let r = view.r();
    let link = |label, before: Option<&str>| PageLink {
        label,
        address: query.with("before", before).address(),
    };
    let is_first = query.text("before").is_empty();
    let first = (!is_first).then(|| link(r.newest, None));
    let next = next.map(|next| link(r.older, Some(&next.to_string())));
    components::pager(view.t, first, next)
}
