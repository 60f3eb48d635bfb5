//! The list of applications with their policies. A policy is read and checked by `model`, as in every
//! store; this file finds the lines (CONTRACT 34).

use crate::config::reading::reader::{Raw, Reader};
use crate::config::reading::yaml::{Entry, Node, Value, get, scalar};
use crate::config::values::units;
use monitor_model::{ApplicationId, ApplicationPolicy, Policy};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;

const ALLOWED: &str = "a list of applications, each {id, name, app_mode, …}";

/// The applications of a key, or None where the file has none. Problems are reported at the line
/// of their field.
pub(crate) fn read(reader: &mut Reader<'_>, key: &str) -> Option<Vec<ApplicationPolicy>> {
    reader.read_with(key, |reader, raw| {
        let Raw::Node(node) = raw else {
            return Err(Some(format!(
                "can be set in the file only; allowed: {ALLOWED}"
            )));
        };
        let Value::List(items) = &node.value else {
            return Err(Some(format!(
                "is {}; allowed: {ALLOWED}",
                node.value.shape()
            )));
        };
        let mut seen = HashMap::new();
        let mut applications = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let mut item = Item {
                reader: &mut *reader,
                name: format!("{key}[{index}]"),
                node: item,
            };
            applications.push(item.application(&mut seen));
        }
        applications
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .ok_or(None)
    })
}

/// One application of the list.
struct Item<'r, 's, 'n> {
    reader: &'r mut Reader<'s>,
    name: String,
    node: &'n Node,
}

impl<'n> Item<'_, '_, 'n> {
    fn application(
        &mut self,
        seen: &mut HashMap<ApplicationId, String>,
    ) -> Option<ApplicationPolicy> {
        let Value::Map(entries) = &self.node.value else {
            let text = format!(
                "is {}; allowed: {{id, name, app_mode, …}}",
                self.node.value.shape()
            );
            return self.refuse("", text);
        };
        let (id, name) = (self.id(entries, seen), self.label(entries));
        let policy = self.policy(entries);
        Some(ApplicationPolicy {
            id: id?,
            name: name?,
            policy: policy?,
        })
    }

    fn id(
        &mut self,
        entries: &'n [Entry],
        seen: &mut HashMap<ApplicationId, String>,
    ) -> Option<ApplicationId> {
        let form = units::application_id();
        let id = match get(entries, "id") {
            Some(node) => scalar(node, &form),
            None => Err("is not set; allowed: the UUID that X-Application-Id names".to_owned()),
        };
        let id = id.map_err(|text| self.refuse::<()>("id", text)).ok()?;
        if let Some(first) = seen.get(&id) {
            return self.refuse(
                "id",
                format!("is also the id of {first}; allowed: one entry for each id"),
            );
        }
        seen.insert(id, self.name.clone());
        Some(id)
    }

    /// Its name for people; empty when it has none.
    fn label(&mut self, entries: &'n [Entry]) -> Option<String> {
        match get(entries, "name") {
            None => Some(String::new()),
            Some(node) => {
                let name = scalar(node, &units::text());
                name.map_err(|text| self.refuse::<()>("name", text)).ok()
            }
        }
    }

    fn policy(&mut self, entries: &'n [Entry]) -> Option<Policy> {
        let own = |key: &str| key != "id" && key != "name";
        let fields = entries.iter().filter(|entry| own(&entry.key));
        let fields: Map<String, Json> = fields
            .map(|entry| (entry.key.clone(), json(&entry.node)))
            .collect();
        match Policy::from_value(&Json::Object(fields)) {
            Ok(policy) => Some(policy),
            Err(problems) => {
                for problem in problems.0 {
                    self.refuse::<()>(&problem.key, problem.text);
                }
                None
            }
        }
    }

    /// Reports a problem of a field, at its line or the nearest one around it.
    fn refuse<T>(&mut self, field: &str, text: String) -> Option<T> {
        let line = line_of(self.node, field).unwrap_or(self.node.line);
        let dot = if field.is_empty() { "" } else { "." };
        let key = format!("{}{dot}{field}", self.name);
        self.reader.report_line(line, &key, text);
        None
    }
}

/// The line of `a`, `a.b` or `a[2]` below a node.
fn line_of(node: &Node, field: &str) -> Option<usize> {
    let (first, rest) = match field.find(['.', '[']) {
        Some(end) => field.split_at(end),
        None => (field, ""),
    };
    let Value::Map(entries) = &node.value else {
        return None;
    };
    let entry = entries.iter().find(|entry| entry.key == first)?;
    let index = rest
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let inner = match (&entry.node.value, index) {
        (Value::List(items), Some(index)) => items
            .get(index.parse::<usize>().ok()?)
            .map(|node| node.line),
        _ => line_of(&entry.node, rest.strip_prefix('.').unwrap_or_default()),
    };
    Some(inner.unwrap_or(entry.line))
}

/// The node as the JSON that would mean the same.
fn json(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Text(text) => Json::String(text.clone()),
        // No field accepts a number that is not JSON, such as 0x10.
        Value::Number(text) => serde_json::from_str(text).unwrap_or(Json::from(0)),
        Value::Flag(flag) => Json::Bool(*flag),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(entries) => {
            let fields = entries.iter();
            Json::Object(
                fields
                    .map(|entry| (entry.key.clone(), json(&entry.node)))
                    .collect(),
            )
        }
        // No field takes a tagged value, which has no name in JSON.
        Value::Other => Json::from(0),
    }
}
