//! The panel of a flagged record: its state, what somebody decides, and the history. A false alarm leads on to the
//! application's form.

use super::decide;
use crate::analysis::access::Scope;
use crate::analysis::records::StoredRecord;
use crate::analysis::records::findings::{Finding, FindingEvent, FindingState};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{head, refusal, time, token_field};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::paths;
use crate::analysis::ui::phrases::FindingPhrases;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Services};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use monitor_model::RecordId;
use std::sync::Arc;

/// The panel; nothing for a record that was not flagged.
pub(crate) async fn of(
    services: &Services,
    visit: &Visit,
    record: &StoredRecord,
) -> Result<Markup, ApiError> {
    let records = &services.records;
    let finding = match records.finding(&visit.caller, record.summary.id).await {
        Ok(finding) => finding,
        Err(ApiError::NotFound) => return Ok(html! {}),
        Err(error) => return Err(error),
    };
    let history = records.finding_history(&visit.caller, &finding).await?;
    let panel = Panel {
        finding: &finding,
        history: &history,
        filled: &decide::of(&finding),
    };
    Ok(card(visit, &panel))
}

/// Decides about the finding of a record.
pub(super) async fn decide(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Failure> {
    visit.must_read()?;
    visit.must(Scope::Triage)?;
    let id: RecordId = id.parse().map_err(|_| Failure::NotFound)?;
    let records = &services.records;
    let address = format!("/ui/records/{id}");
    match records.triage(&visit.caller, id, decide::read(&form)).await {
        Ok(_) => Ok(Redirect::to(&format!("{address}#triage")).into_response()),
        Err(error @ (ApiError::Fields(_) | ApiError::Field { .. })) => {
            let (t, f) = (visit.view.t, visit.view.f());
            let finding = records.finding(&visit.caller, id).await?;
            let history = records.finding_history(&visit.caller, &finding).await?;
            let back = html! { a.button href=(address) { (t.back) } };
            let panel = Panel {
                finding: &finding,
                history: &history,
                filled: &form,
            };
            let content = html! {
                (head(f.triage, html! {}, back))
                (refusal(t, t.not_saved, &error))
                (card(&visit, &panel))
            };
            let page = layout::page(&visit, Section::Findings, f.triage, content);
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
        Err(other) => Err(other.into()),
    }
}

/// What a panel shows.
struct Panel<'p> {
    finding: &'p Finding,
    history: &'p [FindingEvent],
    /// The fields of a decision.
    filled: &'p Form,
}

fn card(visit: &Visit, panel: &Panel<'_>) -> Markup {
    let (view, f) = (&visit.view, visit.view.f());
    let Panel {
        finding,
        history,
        filled,
    } = panel;
    let cluster = finding.cluster.0.to_string();
    let list = paths::address("/ui/findings", &[("cluster", &cluster), ("state", "all")]);
    html! {
        section.card #triage aria-label=(f.triage) {
            h2 { (f.triage) }
            p.facts {
                (decide::state(f, finding.state))
                @if let Some(reason) = finding.reason { span { (f.reason_name(reason)) } }
                span { (f.assignee) ": " (finding.assignee.as_deref().unwrap_or(f.nobody)) }
                a href=(list) { (f.to_list) }
                @if visit.is_administrator() { a href="/ui/alerts" { (f.to_alerts) } }
            }
            @if visit.may(Scope::Triage) {
                form method="post" action={ "/ui/records/" (finding.id) "/triage" } {
                    (token_field(view))
                    (decide::fields(view, filled, &visit.account.name))
                    div.actions { button.primary type="submit" { (f.decide_button) } }
                }
            }
            @if finding.state == FindingState::FalseAlarm { (lead_on(visit, finding)) }
            h3 { (f.history) }
            @if history.is_empty() { p.dim { (f.no_history) } } @else {
                ul.bare { @for event in *history { (change(f, event)) } }
            }
        }
    }
}

/// From a false alarm to the application's form, for those who may change it and read the record.
fn lead_on(visit: &Visit, finding: &Finding) -> Markup {
    let f = visit.view.f();
    html! {
        @if visit.may(Scope::Admin) && visit.may(Scope::Read) {
            form method="post" action={ "/ui/applications/" (finding.application_id) "/exception" } {
                (token_field(&visit.view))
                input type="hidden" name="record" value=(finding.id);
                p.hint { (f.lead_on) }
                div.actions { button type="submit" { (f.allow_value) } }
            }
        }
    }
}

fn change(f: &FindingPhrases, event: &FindingEvent) -> Markup {
    html! {
        li {
            p.facts {
                span { (time(event.at_ms)) " UTC" }
                strong { (event.actor) }
                @if event.from != event.to { span { (f.state_name(event.from)) " → " (f.state_name(event.to)) } }
                @if let Some(reason) = event.reason { span { (f.reason_name(reason)) } }
                @if let Some(name) = &event.assignee {
                    span { (f.assignee) ": " @if name.is_empty() { (f.nobody) } @else { (name) } }
                }
            }
            @if let Some(note) = &event.note { p { (note) } }
        }
    }
}
