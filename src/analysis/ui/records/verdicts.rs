//! What was decided about a record, with reasons: guardrails, custom policies, sensitive data, size.

use crate::analysis::records::StoredRecord;
use crate::analysis::ui::layout::components::badge;
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_detect::guardrails::Category;
use monitor_model::{
    AnalysisResponse, CategoryScore, GuardrailsReport, LowScore, PolicyRuling, TypeCount,
};

pub(super) fn card(view: &View, record: &StoredRecord) -> Markup {
    let (t, r, answer) = (view.t, view.r(), &record.answer);
    let is_quiet = answer.dataclean.types.is_empty()
        && !answer.guardrails.flagged
        && !answer.custom_policy.flagged;
    html! {
        section.card {
            h2 { (r.verdicts) }
            @if record.summary.unchecked { p { (badge("warn", r.was_unchecked)) " " (r.was_unchecked_hint) } }
            @if is_quiet { p.dim { (r.nothing_flagged) } }
            @if !answer.dataclean.types.is_empty() { (finds(view, &answer.dataclean.types)) }
            (scores(view, &answer.guardrails))
            @if !answer.custom_policy.policies.is_empty() { (rulings(view, &answer.custom_policy.policies)) }
            h3 { (r.usage) }
            p { (t.tokens) ": " (answer.tokens.count)
                @if let Some(severity) = answer.tokens.usage_severity { " " (badge("warn", severity.as_str())) } }
            (remarks(view, answer))
        }
    }
}

fn finds(view: &View, types: &[TypeCount]) -> Markup {
    html! {
        h3 { (view.t.sensitive_data) }
        p.badges { @for found in types { (badge("warn", &format!("{} × {}", found.kind, found.count))) } }
    }
}

/// The scores of the guardrails, the highest first, those that flag nothing greyed; nothing where they did not run.
pub(crate) fn scores(view: &View, report: &GuardrailsReport) -> Markup {
    let (t, r) = (view.t, view.r());
    let table = Table {
        name: t.guardrails,
        look: "",
        columns: [
            Column::Text(r.category),
            Column::Number(r.score),
            Column::Text(r.verdict),
        ],
    };
    let low = |low: &LowScore| {
        [
            html! { span.dim { (named(view, &low.name)) } },
            score(low.score, Some(low.threshold), true),
            html! { span.dim { "–" } },
        ]
    };
    let rows = html! {
        @for category in &report.categories { (table.row(cells(view, category))) }
        @for one in &report.low_scores { (table.row(low(one))) }
    };
    let is_empty = report.categories.is_empty() && report.low_scores.is_empty();
    html! {
        @if report.score.is_some() || !is_empty {
            h3 { (t.guardrails) }
            @if is_empty { p.dim { (r.no_scores) } } @else { div.table.flat { (table.of(rows)) } }
        }
    }
}

fn cells(view: &View, category: &CategoryScore) -> [Markup; 3] {
    let (r, is_low) = (view.r(), !category.flagged);
    [
        html! { span.dim[is_low] { (named(view, &category.name)) } },
        score(category.score, category.threshold, is_low),
        html! {
            @if category.flagged { (badge("bad", r.over_threshold)) } @else { span.dim { "–" } }
            @if !category.reason.is_empty() { div.small.dim { (r.reason) ": " code { (category.reason) } } }
        },
    ]
}

/// A category as people call it, beside its name in rules.
fn named(view: &View, name: &str) -> Markup {
    match name.parse::<Category>() {
        Ok(known) => html! { (view.g().name(known)) " " code.dim.small { (name) } },
        Err(_) => html! { (name) },
    }
}

/// A score and the threshold that it is measured against.
fn score(score: f64, threshold: Option<f64>, is_low: bool) -> Markup {
    html! {
        span.dim[is_low] { (format!("{score:.2}")) }
        @if let Some(threshold) = threshold { span.dim { (format!(" / {threshold:.2}")) } }
    }
}

/// What the judge said of each policy.
pub(crate) fn rulings(view: &View, rulings: &[PolicyRuling]) -> Markup {
    let (t, r) = (view.t, view.r());
    let table = Table {
        name: t.custom_policies,
        look: "",
        columns: [
            Column::Text(r.policy),
            Column::Text(r.verdict),
            Column::Text(r.reason),
        ],
    };
    let verdict = |is_flagged| match is_flagged {
        true => badge("bad", r.violated),
        false => badge("good", r.kept_to),
    };
    let cells = |ruling: &PolicyRuling| {
        [
            html! { (ruling.name) },
            verdict(ruling.flagged),
            html! { (ruling.reason) },
        ]
    };
    let rows = html! { @for ruling in rulings { (table.row(cells(ruling))) } };
    html! { h3 { (t.custom_policies) } div.table.flat { (table.of(rows)) } }
}

fn remarks(view: &View, answer: &AnalysisResponse) -> Markup {
    let r = view.r();
    html! {
        @if !answer.errors.is_empty() {
            h3 { (r.not_checked) }
            ul { @for text in &answer.errors { li { (view.t.tell(text)) } } }
        }
        @if !answer.warnings.is_empty() {
            h3 { (r.warnings) }
            ul { @for warning in &answer.warnings { li { (view.t.tell(&warning.message)) } } }
        }
    }
}
