//! Two versions of an application side by side: every field that differs, in words and by its path, with a mark where
//! the change weakens protection.

pub(super) use crate::analysis::admin::changes::between;

use super::field_names;
use crate::analysis::admin::changes::Change;
use crate::analysis::admin::{Application, ApplicationVersion};
use crate::analysis::ui::layout::components::badge;
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use serde_json::{Value, json};

/// Everything of an application that has versions.
pub(super) fn content(application: &Application) -> Value {
    let policy = application.policy.as_ref();
    json!({
        "name": application.name,
        "description": application.description,
        "rules": application.rules,
        "policy": policy.and_then(|policy| policy.as_ref().ok()),
    })
}

/// The same of an earlier version.
pub(super) fn content_of(version: &ApplicationVersion) -> Value {
    json!({
        "name": version.name,
        "description": version.description,
        "rules": version.rules,
        "policy": version.policy,
    })
}

/// A table of them under two headings.
pub(super) fn table(view: &View, changes: &[Change], heads: (&str, &str)) -> Markup {
    let t = view.t;
    let table = Table {
        name: t.differences,
        look: "diff",
        columns: [
            Column::Text(t.field),
            Column::Text(heads.0),
            Column::Text(heads.1),
        ],
    };
    let cells = |one: &Change| {
        [
            field(view, one),
            value_markup(view, &one.path, &one.before),
            value_markup(view, &one.path, &one.after),
        ]
    };
    let rows = html! { @for one in changes { (table.row(cells(one))) } };
    html! {
        @if changes.is_empty() { p.dim { (t.no_differences) } } @else { div.table.flat { (table.of(rows)) } }
    }
}

fn field(view: &View, change: &Change) -> Markup {
    html! {
        @match field_names::name(view, &change.path) {
            Some(name) => { (name) div.dim.small { code { (change.path) } } }
            None => code { (change.path) },
        }
        @if change.is_weaker { div { (badge("bad", view.t.weaker)) } }
    }
}

/// The changes that weaken protection, a sentence each.
pub(super) fn weakened(view: &View, changes: &[Change]) -> Markup {
    let weaker = || changes.iter().filter(|change| change.is_weaker);
    html! {
        @if weaker().next().is_some() {
            ul.bare { @for change in weaker() { li { (badge("bad", view.t.weaker)) " " (sentence(view, change)) } } }
        }
    }
}

/// `Sensitive data in prompts: on → off`; of a list or a long text only what it is.
fn sentence(view: &View, change: &Change) -> Markup {
    let shown = |value: &Value| match value {
        Value::Array(_) | Value::Object(_) => None,
        plain => Some(value_markup(view, &change.path, plain)),
    };
    let name = field_names::name(view, &change.path);
    html! {
        (name.as_ref().unwrap_or(&change.path))
        @if let (Some(before), Some(after)) = (shown(&change.before), shown(&change.after)) {
            ": " (before) " → " (after)
        }
    }
}

/// A switch of a field that the audit log names.
pub(crate) fn switched(view: &View, path: &str, is_on: bool) -> Markup {
    let change = Change {
        path: path.to_owned(),
        before: Value::Bool(!is_on),
        after: Value::Bool(is_on),
        is_weaker: false,
    };
    sentence(view, &change)
}

fn value_markup(view: &View, path: &str, value: &Value) -> Markup {
    let words = field_names::value(view.t, path, value.as_str());
    let words = words.filter(|_| value.is_null() || value.is_string());
    if let Some(words) = words {
        return html! { (words) };
    }
    match value {
        Value::Null => html! { span.dim { "–" } },
        Value::Bool(is_on) => html! { (if *is_on { view.o().on } else { view.o().off }) },
        Value::String(text) => html! { span.pre { (text) } },
        Value::Array(items) if items.is_empty() => html! { span.dim { "[]" } },
        Value::Array(items) => html! {
            ul.bare { @for item in items { li { (value_markup(view, "", item)) } } }
        },
        Value::Object(fields) => html! {
            @for (key, value) in fields { div { code.dim { (key) } " " (value_markup(view, "", value)) } }
        },
        Value::Number(number) => html! { code { (number.to_string()) } },
    }
}
