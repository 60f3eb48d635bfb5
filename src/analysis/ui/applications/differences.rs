//! Two documents side by side: every field that differs, by its path.

use crate::analysis::admin::{Application, ApplicationVersion};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::phrases::Phrases;
use maud::{Markup, html};
use serde_json::{Value, json};

/// Fields shown of one comparison.
const SHOWN: usize = 200;

/// A field that differs; None where one side does not have it.
pub(super) struct Difference {
    path: String,
    before: Option<Value>,
    after: Option<Value>,
}

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

/// What differs, in the order of the documents' keys.
pub(super) fn between(before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(Some(before), Some(after), "", &mut found);
    found
}

fn compare(before: Option<&Value>, after: Option<&Value>, path: &str, found: &mut Vec<Difference>) {
    if before == after || found.len() >= SHOWN {
        return;
    }
    let empty = serde_json::Map::new();
    let fields = |value: Option<&Value>| match value {
        Some(Value::Object(fields)) => Some(fields.clone()),
        // A group that appears or disappears is listed field by field.
        None | Some(Value::Null) => Some(empty.clone()),
        _ => None,
    };
    let is_group =
        matches!(before, Some(Value::Object(_))) || matches!(after, Some(Value::Object(_)));
    if let (true, Some(old), Some(new)) = (is_group, fields(before), fields(after))
        && !(old.is_empty() && new.is_empty())
    {
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for key in old.keys().chain(added) {
            let inner = match path {
                "" => key.clone(),
                path => format!("{path}.{key}"),
            };
            compare(old.get(key), new.get(key), &inner, found);
        }
        return;
    }
    found.push(Difference {
        path: path.to_owned(),
        before: before.cloned(),
        after: after.cloned(),
    });
}

/// A table of them under two headings.
pub(super) fn table(t: &Phrases, differences: &[Difference], heads: (&str, &str)) -> Markup {
    let table = Table {
        name: t.differences,
        look: "diff",
        columns: [
            Column::Text(t.field),
            Column::Text(heads.0),
            Column::Text(heads.1),
        ],
    };
    let cells = |one: &Difference| {
        [
            html! { code { (one.path) } },
            value_markup(one.before.as_ref()),
            value_markup(one.after.as_ref()),
        ]
    };
    let rows = html! { @for one in differences { (table.row(cells(one))) } };
    html! {
        @if differences.is_empty() { p.dim { (t.no_differences) } } @else { div.table.flat { (table.of(rows)) } }
    }
}

fn value_markup(value: Option<&Value>) -> Markup {
    match value {
        None | Some(Value::Null) => html! { span.dim { "–" } },
        Some(Value::String(text)) => html! { span.pre { (text) } },
        Some(Value::Array(items)) if items.is_empty() => html! { span.dim { "[]" } },
        Some(Value::Array(items)) => html! {
            ul.bare { @for item in items { li { (value_markup(Some(item))) } } }
        },
        Some(Value::Object(fields)) => html! {
            @for (key, value) in fields { div { code.dim { (key) } " " (value_markup(Some(value))) } }
        },
        Some(other) => html! { code { (other.to_string()) } },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_compared_field_by_field_also_those_that_appear() {
        let before = json!({"a": 1, "b": {"c": 1, "d": [1]}, "p": null});
        let after = json!({"a": 1, "b": {"c": 2, "d": [1], "e": true}, "p": {"q": "x"}});
        let found = between(&before, &after);
        let paths: Vec<_> = found.iter().map(|found| found.path.as_str()).collect();
        assert_eq!(paths, ["b.c", "b.e", "p.q"]);
        assert!(between(&after, &after).is_empty());
    }
}
