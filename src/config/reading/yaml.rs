//! The values of a YAML file as a tree with line numbers. Knows no key and no unit; those are `schema` and
//! `units` (CONTRACT 33).

use crate::config::values::units::Form;

/// A value and its line, from 1.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

/// One `key: value`.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) line: usize,
    pub(crate) node: Node,
}

/// The shapes a value can have. Scalars keep their text, for the units to read.
#[derive(Clone)]
pub(crate) enum Value {
    Null,
    Text(String),
    Number(String),
    Flag(bool),
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// A tagged value, which no key accepts.
    Other,
}

impl Value {
    /// The shape in words.
    pub(crate) fn shape(&self) -> &'static str {
        match self {
            Self::Null => "empty",
            Self::Text(_) => "text",
            Self::Number(_) => "a number",
            Self::Flag(_) => "true or false",
            Self::List(_) => "a list",
            Self::Map(_) => "a group of keys",
            Self::Other => "a tagged value",
        }
    }
}

/// `section.key`, or the key alone at the top level.
pub(crate) fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() {
        key.to_owned()
    } else {
        format!("{prefix}.{key}")
    }
}

/// The node of a key; None where it is left out or null.
pub(crate) fn get<'n>(entries: &'n [Entry], key: &str) -> Option<&'n Node> {
    let found = entries.iter().find(|entry| entry.key == key);
    let node = found.map(|entry| &entry.node);
    node.filter(|node| !matches!(node.value, Value::Null))
}

/// A node as one scalar.
pub(crate) fn scalar<T>(node: &Node, form: &Form<T>) -> Result<T, String> {
    match &node.value {
        Value::Text(text) => form.parse(text),
        Value::Number(text) if !form.is_text_only() => form.parse(text),
        other => Err(form.refuse(&format!("is {}", other.shape()))),
    }
}
