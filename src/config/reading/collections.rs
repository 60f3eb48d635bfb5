//! Lists, lists of groups, and groups whose keys are names from elsewhere, such as the labels of a model.

use super::reader::{Raw, Reader};
use super::yaml::{Node, Value, scalar};
use crate::config::values::units::Form;

/// Each name with its value, in the order of the file; each value that is wrong is reported with its own
/// line. `group` describes the entries, such as "labels of the model and …".
pub(crate) fn named_values<T>(
    r: &mut Reader<'_>,
    key: &str,
    group: &str,
    form: &Form<T>,
) -> Option<Vec<(String, T)>> {
    r.read_with(key, |r, raw| {
        let Raw::Node(node) = raw else {
            return Err(Some(format!(
                "can be set in the file only; allowed: {group}"
            )));
        };
        let Value::Map(entries) = &node.value else {
            let shape = node.value.shape();
            return Err(Some(format!("is {shape}; allowed: {group}")));
        };
        let mut read = Vec::with_capacity(entries.len());
        for entry in entries {
            match scalar(&entry.node, form) {
                Ok(value) => read.push((entry.key.clone(), value)),
                Err(text) => r.report_line(entry.line, &format!("{key}.{}", entry.key), text),
            }
        }
        (read.len() == entries.len()).then_some(read).ok_or(None)
    })
}

/// The lines of a list's items, each of which is a group with the keys `key[0].name`, `key[0].url` and so on.
/// `allowed` describes the list.
pub(crate) fn groups(r: &mut Reader<'_>, key: &str, allowed: &str, most: usize) -> Vec<usize> {
    let read = r.read_with(key, |r, raw| {
        let Raw::Node(node) = raw else {
            return Err(Some(format!(
                "can be set in the file only; allowed: {allowed}"
            )));
        };
        let Value::List(items) = &node.value else {
            let shape = node.value.shape();
            return Err(Some(format!("is {shape}; allowed: {allowed}")));
        };
        if items.len() > most {
            return Err(Some(format!("has too many entries; allowed: {allowed}")));
        }
        let mut lines = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match &item.value {
                Value::Map(_) => lines.push(item.line),
                other => {
                    let text = format!("is {}; allowed: {allowed}", other.shape());
                    r.report_line(item.line, &format!("{key}[{index}]"), text);
                }
            }
        }
        (lines.len() == items.len()).then_some(lines).ok_or(None)
    });
    read.unwrap_or_default()
}

/// A list, or one item; each that is wrong is reported with its own line.
pub(crate) fn list<T>(reader: &mut Reader<'_>, key: &str, form: &Form<T>) -> Vec<T> {
    let read = reader.read_with(key, |reader, raw| match raw {
        Raw::Text(text) => {
            let items = text.split(',').map(|item| form.parse(item));
            items.collect::<Result<Vec<T>, _>>().map_err(Some)
        }
        Raw::Node(Node {
            value: Value::List(items),
            ..
        }) => {
            let mut read = Vec::new();
            for (index, node) in items.iter().enumerate() {
                match scalar(node, form) {
                    Ok(item) => read.push(item),
                    Err(text) => reader.report_line(node.line, &format!("{key}[{index}]"), text),
                }
            }
            (read.len() == items.len()).then_some(read).ok_or(None)
        }
        Raw::Node(node) => scalar(node, form).map(|item| vec![item]).map_err(Some),
    });
    read.unwrap_or_default()
}
