//! What fired, the latest first, and who was told.

use super::PAGE;
use crate::analysis::alerts::message::Facts;
use crate::analysis::alerts::rule::RuleKind;
use crate::analysis::clock::now_ms;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{PageLink, badge, number, pager, time, token_field};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::paths::address;
use crate::analysis::ui::phrases::AlertPhrases;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::ui::state::Ui;
use maud::{Markup, html};
use monitor_store::{Alert, AlertDelivery, AlertState, DeliveryState};
use uuid::Uuid;

const PER_PAGE: u32 = 20;

/// The place of an alert in the list.
pub(super) fn read_position(text: &str) -> Option<(i64, Uuid)> {
    let (at_ms, id) = text.split_once('.')?;
    Some((at_ms.parse().ok()?, id.parse().ok()?))
}

/// A page of alerts, each with its messages.
pub(super) struct Fired {
    alerts: Vec<(Alert, Vec<AlertDelivery>)>,
    is_first: bool,
    next: Option<String>,
}

impl Fired {
    pub(super) async fn read(
        ui: &Ui,
        visit: &Visit,
        before: Option<(i64, Uuid)>,
    ) -> Result<Self, Failure> {
        let service = &ui.services.alerts;
        let mut found = service.list(&visit.caller, before, PER_PAGE + 1).await?;
        let is_last = found.len() <= PER_PAGE as usize;
        found.truncate(PER_PAGE as usize);
        let last = found.last().filter(|_| !is_last);
        let next = last.map(|alert| format!("{}.{}", alert.first_ms, alert.id));
        let mut alerts = Vec::with_capacity(found.len());
        for alert in found {
            let told = service.told(&visit.caller, alert.id).await?;
            alerts.push((alert, told));
        }
        Ok(Self {
            alerts,
            is_first: before.is_none(),
            next,
        })
    }

    pub(super) fn markup(&self, visit: &Visit) -> Markup {
        let (t, a) = (visit.view.t, visit.view.alerts());
        let table = Table {
            name: a.alerts,
            look: "",
            columns: [
                Column::Text(a.what),
                Column::Text(t.state),
                Column::Text(a.first),
                Column::Text(a.last),
                Column::Text(a.told),
                Column::Actions(t.actions),
            ],
        };
        let rows = html! {
            @for (alert, told) in &self.alerts { (table.row(cells(visit, alert, told))) }
        };
        let first = (!self.is_first).then(|| PageLink {
            label: t.first_page,
            address: PAGE.to_owned(),
        });
        let next = self.next.as_deref().map(|next| PageLink {
            label: a.older,
            address: address(PAGE, &[("before", next)]),
        });
        html! {
            @if self.alerts.is_empty() { div.empty { (a.none) } } @else { div.table { (table.of(rows)) } }
            (pager(t, first, next))
        }
    }
}

fn cells(visit: &Visit, alert: &Alert, told: &[AlertDelivery]) -> [Markup; 6] {
    let a = visit.view.alerts();
    let facts = Facts::stored(&alert.facts);
    let names = [&facts.application, &facts.user, &facts.r#type];
    let gateway = facts.gateway.map(|id| id.to_string());
    let records = facts.records.as_deref();
    [
        html! {
            strong { (facts.rule) }
            div { (found(a, &facts)) }
            div.badges { @for name in names.into_iter().flatten().chain(&gateway) { (badge("plain", name)) } }
            @if let Some(records) = records { a href=(records) { (a.records) span.hidden { " " (facts.rule) } } }
        },
        state(a, alert),
        time(alert.first_ms),
        time(alert.last_ms),
        deliveries(visit, told),
        actions(visit, alert, &facts.rule),
    ]
}

/// What was found, in words.
fn found(a: &AlertPhrases, facts: &Facts) -> String {
    let template = match RuleKind::from_name(&facts.kind) {
        Some(RuleKind::Share) => a.found_share,
        Some(RuleKind::FirstTime) => a.found_first,
        Some(RuleKind::GatewaySilent) => a.found_silent,
        Some(RuleKind::Budget) => a.found_budget,
        Some(RuleKind::Count) | None => a.found_count,
    };
    template
        .replace("{count}", &number(facts.count))
        .replace("{total}", &number(facts.total))
        .replace("{threshold}", &number(facts.threshold))
        .replace("{minutes}", &number(facts.window_s / 60))
        .replace("{verdict}", &facts.verdict)
        .replace("{budget}", facts.budget.as_deref().unwrap_or_default())
}

fn state(a: &AlertPhrases, alert: &Alert) -> Markup {
    let muted = alert.muted_until_ms.filter(|until| now_ms() < *until);
    match alert.state {
        AlertState::Firing => html! {
            (badge("bad", a.firing))
            @if let Some(until) = muted { div.small.dim { (a.muted) " " (time(until)) } }
        },
        AlertState::Closed => html! {
            (badge("warn", a.closed))
            @if let Some(by) = &alert.resolved_by { div.small.dim { (by) } }
        },
        AlertState::Ended => html! {
            (badge("good", a.ended))
            @if let Some(at) = alert.resolved_ms { div.small.dim { (time(at)) } }
            @if let Some(by) = &alert.resolved_by { div.small.dim { (by) } }
        },
    }
}

fn deliveries(visit: &Visit, told: &[AlertDelivery]) -> Markup {
    let a = visit.view.alerts();
    html! {
        @if told.is_empty() { span.dim { (a.nobody_told) } }
        @for one in told { div.small {
            (one.channel_name) " (" (one.channel_kind) ") "
            @match one.state {
                DeliveryState::Waiting => (badge("warn", a.waiting)),
                DeliveryState::Sent => (badge("good", a.sent)),
                DeliveryState::Dead => (badge("bad", a.dead)),
            }
            " " (time(one.done_ms.unwrap_or(one.created_at_ms)))
            @if let Some(failure) = &one.failure { span.dim { " " (visit.view.t.tell(failure)) ", " (a.attempts) ": " (one.attempts) } }
            @if one.state == DeliveryState::Dead {
                form.inline method="post" action={ (PAGE) "/deliveries/" (one.id) "/retry" } {
                    (token_field(&visit.view))
                    button.quiet type="submit" { (a.again) span.hidden { " " (one.channel_name) } }
                }
            }
        } }
    }
}

fn actions(visit: &Visit, alert: &Alert, rule: &str) -> Markup {
    let a = visit.view.alerts();
    let is_muted = alert.muted_until_ms.is_some_and(|until| now_ms() < until);
    let (label, until) = match is_muted {
        true => (a.unmute, "now"),
        false => (a.mute, "day"),
    };
    html! {
        @if alert.state == AlertState::Firing {
            form.inline method="post" action={ (PAGE) "/" (alert.id) "/resolve" } {
                (token_field(&visit.view))
                button.quiet type="submit" { (a.close) span.hidden { " " (rule) } }
            }
            form.inline method="post" action={ (PAGE) "/" (alert.id) "/mute" } {
                (token_field(&visit.view))
                button.quiet type="submit" name="until" value=(until) { (label) span.hidden { " " (rule) } }
            }
        }
    }
}
