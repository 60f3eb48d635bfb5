//! What decisions about findings say of each type and category, and the evaluation set as a file.

use super::decide;
use crate::analysis::Services;
use crate::analysis::api::records::findings::evaluation::export;
use crate::analysis::records::findings::evaluation::Precision;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::head;
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use axum::extract::State;
use axum::response::{Html, Response};
use maud::{Markup, html};
use std::sync::Arc;

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
) -> Result<Html<String>, Failure> {
    visit.must_read()?;
    let f = visit.view.f();
    let precision = services.records.precision(&visit.caller, None).await?;
    let links = html! {
        a.button href="/ui/findings/evaluation" download="evaluation.jsonl" { (f.evaluation_set) }
        a.button href="/ui/findings" { (f.findings) }
    };
    let content = html! {
        (head(f.precision, html! { p.dim { (f.precision_hint) } }, links))
        @if precision.labels.is_empty() { div.empty { (f.not_decided) } } @else { (table(&visit.view, &precision)) }
    };
    Ok(layout::page(
        &visit,
        Section::Findings,
        f.precision,
        content,
    ))
}

/// The evaluation set of all that the person sees.
pub(super) async fn evaluation(
    State(services): State<Arc<Services>>,
    visit: Visit,
) -> Result<Response, Failure> {
    visit.must_read()?;
    Ok(export(services, &visit.caller, None).await?)
}

fn table(view: &View, precision: &Precision) -> Markup {
    let f = view.f();
    let table = Table {
        name: f.precision,
        look: "",
        columns: [
            Column::Text(f.kind),
            Column::Number(f.confirmed_count),
            Column::Number(f.false_alarm_count),
            Column::Number(f.precision),
        ],
    };
    let rows = html! {
        @for (label, decisions) in &precision.labels {
            (table.row([
                html! { (decide::label(view, label)) },
                html! { (decisions.confirmed) },
                html! { (decisions.false_alarms) },
                html! { (format!("{:.0} %", decisions.precision() * 100.0)) },
            ]))
        }
    };
    html! { div.table { (table.of(rows)) } }
}
