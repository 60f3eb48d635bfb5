//! Groups whose keys are names that somebody else gave, such as the labels of a model.

use super::reader::{Raw, Reader, scalar};
use super::units::Form;
use super::yaml::Value;

/// Each name with its value, in the order of the file; each value that is wrong is reported with its own
/// line. `group` says what stands in it, such as "labels of the model and …".
pub(super) fn read<T>(
    r: &mut Reader<'_>,
    key: &str,
    group: &str,
    form: &Form<T>,
) -> Option<Vec<(String, T)>> {
    r.read_with(key, |r, raw| {
        let Raw::Node(node) = raw else {
            return Err(Some(format!("stands in the file only; allowed: {group}")));
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
