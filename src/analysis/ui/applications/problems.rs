//! The problems of an application's form: each with the label of its field on the page, a link to it,
//! and a text in the page's language.

use super::fields::prefix;
use crate::analysis::ui::layout::components;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::view::View;
use crate::analysis::{ApiError, FieldProblem};
use maud::{Markup, html};
use monitor_detect::PatternName;
use monitor_detect::guardrails::Category;
use monitor_model::Stage;

/// The place of a field on the page: the group's id and name, and the field's own name or row in it.
struct FieldPlace {
    group: String,
    name: String,
    own: String,
}

/// The problems of a refused form; any other refusal is one notice.
pub(super) fn refusal(view: &View, title: &str, error: &ApiError, form: &Form) -> Markup {
    match error {
        ApiError::Fields(list) => html! {
            div.notice.bad role="alert" {
                strong { (title) }
                ul { @for problem in list { li { (problem_text(view, problem, form)) } } }
            }
        },
        other => components::refusal(view.t, title, other),
    }
}

fn problem_text(view: &View, problem: &FieldProblem, form: &Form) -> Markup {
    let text = view.t.tell(&problem.problem);
    match place(view, &problem.field, form) {
        None => html! { code { (problem.field) } " " (text) },
        Some(place) => html! {
            a href={ "#" (place.group) } { (place.name) } @if !place.own.is_empty() { ", " (place.own) }
            ": " (text) " " code.dim { (problem.field) }
        },
    }
}

fn place(view: &View, field: &str, form: &Form) -> Option<FieldPlace> {
    let found = |group: String, name: &str, own: &str| FieldPlace {
        group,
        name: name.to_owned(),
        own: own.to_owned(),
    };
    if let Some(field) = field.strip_prefix("policy.") {
        let (key, own) = field.split_once('.').unwrap_or((field, ""));
        let key = key.split('[').next().unwrap_or(key);
        let name = of_policy(view, key)?;
        return Some(found(key.to_owned(), name, limit_field(view, own)));
    }
    let field = field.strip_prefix("rules.")?;
    let (part, field) = field.split_once('.')?;
    let stage = match part {
        "retention" => {
            return Some(found(
                part.to_owned(),
                view.t.retention,
                retention_field(view, field),
            ));
        }
        "pre" => Stage::PreCall,
        "post" => Stage::PostCall,
        _ => return None,
    };
    of_direction(view, stage, field, form)
}

fn of_policy(view: &View, key: &str) -> Option<&'static str> {
    let t = view.t;
    Some(match key {
        "app_mode" => t.mode,
        "phrase" => t.phrase,
        "block_on" => t.blocks_on,
        "on_backend_failure" => t.backend_failure,
        "limits" => t.limits,
        "budgets" => view.c().budgets,
        "scan_roles" => t.checked_messages,
        "replace_response" => t.replace_response,
        "redact_upstream" => t.redact_upstream,
        "stream_in_sync" => t.stream_in_sync,
        "block_details" => t.block_details,
        "embeddings" => t.embeddings,
        "check_tool_arguments" => t.tool_arguments,
        "local_patterns" => t.local_patterns,
        _ => return None,
    })
}

fn limit_field(view: &View, key: &str) -> &'static str {
    match key {
        "requests_per_second" | "requests_per_minute" => view.t.limit_calls,
        "burst" => view.t.limit_burst,
        "concurrent" => view.t.limit_concurrent,
        _ => "",
    }
}

fn retention_field(view: &View, key: &str) -> &'static str {
    match key {
        "days" => view.t.days,
        "rows" => view.t.records_count,
        "bytes" => view.t.bytes,
        _ => "",
    }
}

fn of_direction(view: &View, stage: Stage, field: &str, form: &Form) -> Option<FieldPlace> {
    let (t, prefix) = (view.t, prefix(stage));
    let (group, own) = match field.split(['.', '[']).collect::<Vec<_>>()[..] {
        ["dataclean", "patterns", at, ..] => {
            // Predefined patterns come first in the document and have no row of their own.
            let row = row(at)?.checked_sub(listed(form, prefix));
            let row = row.filter(|row| *row > 0)?;
            (("custom", t.custom_patterns), row.to_string())
        }
        ["dataclean", "allowed_patterns", at, ..] => {
            (("allowed", t.allowed_patterns), row(at)?.to_string())
        }
        ["custom_policies", at, ..] => (("policy", t.custom_policies), row(at)?.to_string()),
        ["custom_policies"] => (("policy", t.custom_policies), String::new()),
        ["dataclean", "patterns"] => (("patterns", t.patterns), String::new()),
        ["tokens", key] => (("tokens", t.token_thresholds), threshold(view, key)),
        ["guardrails", "categories", name] => (("guardrails", t.guardrails), category(view, name)),
        _ => return None,
    };
    let direction = match stage {
        Stage::PreCall => t.prompts,
        Stage::PostCall => t.answers,
    };
    Some(FieldPlace {
        group: format!("{prefix}{}", group.0),
        name: format!("{direction}: {}", group.1),
        own,
    })
}

/// `3]` is the fourth row.
fn row(at: &str) -> Option<usize> {
    let at: usize = at.strip_suffix(']')?.parse().ok()?;
    Some(at + 1)
}

/// Predefined patterns that a form's document begins with.
fn listed(form: &Form, prefix: &str) -> usize {
    match form.text(&format!("{prefix}which")) {
        "chosen" => form.all(&format!("{prefix}pattern")).count(),
        _ => PatternName::all().count(),
    }
}

fn threshold(view: &View, key: &str) -> String {
    let name = match key {
        "low" => view.t.low,
        "high" => view.t.high,
        "critical" => view.t.critical,
        _ => "",
    };
    name.to_owned()
}

fn category(view: &View, name: &str) -> String {
    let known = name.parse::<Category>();
    known.map_or(name.to_owned(), |known| view.g().name(known).to_owned())
}
