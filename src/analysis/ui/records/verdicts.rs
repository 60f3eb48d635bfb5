//! What was decided about a record, with reasons: guardrails, custom policies, sensitive data, size.

use crate::analysis::ui::components::badge;
use crate::analysis::ui::view::View;
use crate::model::{AnalysisResponse, CategoryScore, PolicyRuling, TypeCount};
use crate::store::StoredRecord;
use maud::{Markup, html};

pub(super) fn card(view: &View, record: &StoredRecord) -> Markup {
    let (t, r, answer) = (view.t, view.r(), &record.answer);
    let is_quiet = answer.dataclean.types.is_empty()
        && answer.guardrails.categories.is_empty()
        && answer.custom_policy.policies.is_empty();
    html! {
        section.card {
            h2 { (r.verdicts) }
            @if is_quiet { p.dim { (r.nothing_flagged) } }
            @if !answer.dataclean.types.is_empty() { (finds(view, &answer.dataclean.types)) }
            @if !answer.guardrails.categories.is_empty() { (categories(view, &answer.guardrails.categories)) }
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

fn categories(view: &View, categories: &[CategoryScore]) -> Markup {
    let (t, r) = (view.t, view.r());
    html! {
        h3 { (t.guardrails) }
        div.table.flat { table {
            caption.hidden { (t.guardrails) }
            thead { tr { th scope="col" { (r.category) } th.number scope="col" { (r.score) } th scope="col" { (r.verdict) } } }
            tbody { @for category in categories { tr {
                th scope="row" { (category.name) }
                td.number { (format!("{:.2}", category.score)) }
                td { @if category.flagged { (badge("bad", r.over_threshold)) } @else { span.dim { "–" } } }
            } } }
        } }
    }
}

/// What the judge said of each policy.
pub(in crate::analysis::ui) fn rulings(view: &View, rulings: &[PolicyRuling]) -> Markup {
    let (t, r) = (view.t, view.r());
    html! {
        h3 { (t.custom_policies) }
        div.table.flat { table {
            caption.hidden { (t.custom_policies) }
            thead { tr { th scope="col" { (r.policy) } th scope="col" { (r.verdict) } th scope="col" { (r.reason) } } }
            tbody { @for ruling in rulings { tr {
                th scope="row" { (ruling.name) }
                td { (match ruling.flagged { true => badge("bad", r.violated), false => badge("good", r.kept_to) }) }
                td { (ruling.reason) }
            } } }
        } }
    }
}

fn remarks(view: &View, answer: &AnalysisResponse) -> Markup {
    let r = view.r();
    html! {
        @for (title, texts) in [(r.not_checked, &answer.errors), (r.warnings, &answer.warnings)] {
            @if !texts.is_empty() {
                h3 { (title) }
                ul { @for text in texts { li { (text) } } }
            }
        }
    }
}
