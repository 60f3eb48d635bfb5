//! Lists, and groups whose keys are names from elsewhere, such as the labels of a model.

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
