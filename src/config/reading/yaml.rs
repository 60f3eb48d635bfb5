//! A YAML file as a tree with line numbers. Knows no key and no unit; those are `schema` and
//! `units` (CONTRACT 33).

use crate::config::problem::{Origin, Problem};
use crate::config::values::units::Form;
use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};
use std::path::Path;

/// One configuration file, parsed.
pub(crate) struct Document {
    /// The path as given.
    pub(crate) path: String,
    /// The root of the document; [`Value::Null`] for an empty file.
    pub(crate) root: Node,
}

/// A value and its line, from 1.
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

/// One `key: value`.
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) line: usize,
    pub(crate) node: Node,
}

/// The shapes a value can have. Scalars keep their text, for the units to read.
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

/// Put before a repeated key, so that the parser goes on and the repetition can be reported with
/// its full key together with every other problem. Private use: no known key starts with it.
const REPEATED: char = '\u{E000}';
/// Repetitions mended in one file before the rest is left for the next run.
const MOST_REPEATED: u32 = 100;
/// The parser's message for a repeated key.
const REPEATED_ERROR: &str = "duplicated key in mapping";

impl Document {
    /// Reads a file. Returns the document, which keeps the first of repeated keys, and their problems.
    ///
    /// # Errors
    /// The file cannot be read, or is not one YAML document with keys.
    pub(crate) fn read(path: &Path) -> Result<(Self, Vec<Problem>), Problem> {
        let label = path.display().to_string();
        let whole_file = |text: String| Problem {
            origin: Origin::File {
                path: label.clone(),
                line: None,
            },
            key: String::new(),
            text,
        };
        let bytes = std::fs::read(path).map_err(|e| whole_file(format!("cannot be read: {e}")))?;
        let text =
            String::from_utf8(bytes).map_err(|_| whole_file("is not UTF-8 text".to_owned()))?;
        Self::parse(label.clone(), &text)
    }

    fn parse(path: String, text: &str) -> Result<(Self, Vec<Problem>), Problem> {
        let mut root = load(text).map_err(|(line, text)| Problem {
            origin: Origin::File {
                path: path.clone(),
                line: Some(line),
            },
            key: String::new(),
            text,
        })?;
        let mut problems = Vec::new();
        take_repeated(&mut root, "", &mut |line, key| {
            problems.push(Problem {
                origin: Origin::File {
                    path: path.clone(),
                    line: Some(line),
                },
                key,
                text: "is set twice; allowed: once in its group".to_owned(),
            });
        });
        Ok((Self { path, root }, problems))
    }
}

/// The tree, with repeated keys marked.
fn load(text: &str) -> Result<Node, (usize, String)> {
    let mut text = text.trim_start_matches('\u{FEFF}').to_owned();
    let mut repeated = 0;
    let documents = loop {
        match MarkedYaml::load_from_str(&text) {
            Ok(documents) => break documents.iter().map(node).collect::<Vec<_>>(),
            Err(error) if error.info() == REPEATED_ERROR && repeated < MOST_REPEATED => {
                repeated += 1;
                mark(&mut text, error.marker().index(), repeated);
            }
            Err(error) => {
                let reason = format!("is not valid YAML: {}", error.info());
                return Err((error.marker().line(), reason));
            }
        }
    };
    let mut documents = documents.into_iter();
    let root = documents.next().unwrap_or(Node {
        line: 1,
        value: Value::Null,
    });
    if let Some(second) = documents.next() {
        return Err((
            second.line,
            "is a second document; allowed: one per file".to_owned(),
        ));
    }
    match root.value {
        Value::Map(_) | Value::Null => Ok(root),
        // For the parser a file of nothing but comments is a bad value at the root.
        Value::Other => Ok(Node {
            line: 1,
            value: Value::Null,
        }),
        other => Err((
            root.line,
            format!("is {}; allowed: keys with values", other.shape()),
        )),
    }
}

/// Makes the key at a character index unique. The mark goes inside the quotes of a quoted key.
fn mark(text: &mut String, index: usize, serial: u32) {
    let at = |index| {
        text.char_indices()
            .nth(index)
            .map_or(text.len(), |(byte, _)| byte)
    };
    let quoted = text[at(index)..].starts_with(['"', '\'']);
    let byte = at(index + usize::from(quoted));
    let serial = char::from_u32(u32::from(REPEATED) + serial).unwrap_or(REPEATED);
    text.insert_str(byte, &format!("{REPEATED}{serial}"));
}

/// Takes marked keys out of the tree and reports each with its line and full key.
fn take_repeated(node: &mut Node, prefix: &str, report: &mut dyn FnMut(usize, String)) {
    match &mut node.value {
        Value::Map(entries) => entries.retain_mut(|entry| {
            let marked = entry
                .key
                .strip_prefix(REPEATED)
                .map(|rest| rest.chars().skip(1));
            let name = marked.map(Iterator::collect::<String>);
            let path = join(prefix, name.as_ref().unwrap_or(&entry.key));
            if name.is_some() {
                report(entry.line, path);
                return false;
            }
            take_repeated(&mut entry.node, &path, report);
            true
        }),
        Value::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                take_repeated(item, &format!("{prefix}[{index}]"), report);
            }
        }
        _ => {}
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

fn node(yaml: &MarkedYaml<'_>) -> Node {
    Node {
        line: yaml.span.start.line(),
        value: value(&yaml.data),
    }
}

fn value<'a>(data: &YamlData<'a, MarkedYaml<'a>>) -> Value {
    match data {
        YamlData::Value(Scalar::Null) => Value::Null,
        YamlData::Value(Scalar::Boolean(flag)) => Value::Flag(*flag),
        YamlData::Value(Scalar::Integer(number)) => Value::Number(number.to_string()),
        YamlData::Value(Scalar::FloatingPoint(number)) => Value::Number(number.to_string()),
        YamlData::Value(Scalar::String(text)) => Value::Text(text.clone().into_owned()),
        YamlData::Sequence(items) => Value::List(items.iter().map(node).collect()),
        YamlData::Mapping(pairs) => Value::Map(
            pairs
                .iter()
                .map(|(key, item)| Entry {
                    key: key_text(&key.data),
                    line: key.span.start.line(),
                    node: node(item),
                })
                .collect(),
        ),
        _ => Value::Other,
    }
}

/// A key as text; no known key is anything else, so other shapes only need a name to be refused by.
fn key_text<'a>(data: &YamlData<'a, MarkedYaml<'a>>) -> String {
    match value(data) {
        Value::Text(text) | Value::Number(text) => text,
        Value::Flag(flag) => flag.to_string(),
        other => format!("({})", other.shape()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        match Document::parse("f".to_owned(), text) {
            Ok((_, problems)) => problems.iter().map(ToString::to_string).collect(),
            Err(problem) => vec![problem.to_string()],
        }
    }

    #[test]
    fn every_repeated_key_is_named_with_its_line() {
        let text = "# é\na: 1\n\"a\": 2\nb: {c: 1, c: 2}\nl:\n  - x: 1\n    'x': 2\n";
        let expected = [
            "f:3: a: is set twice; allowed: once in its group",
            "f:4: b.c: is set twice; allowed: once in its group",
            "f:7: l[0].x: is set twice; allowed: once in its group",
        ];
        assert_eq!(problems(text), expected);
    }

    #[test]
    fn an_empty_file_is_an_empty_document() {
        for text in [
            "",
            "# only a comment\n",
            "---\n",
            "null\n",
            "\u{FEFF}# mark\n",
        ] {
            assert_eq!(problems(text), Vec::<String>::new(), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_document_of_keys_is_refused_at_its_line() {
        for (text, start) in [
            ("\n- a\n", "f:2: is a list"),
            ("word", "f:1: is text"),
            ("a: 1\n---\nb: 2\n", "f:3: is a second document"),
            ("a: [1\nb: 2\n", "f:2: is not valid YAML"),
        ] {
            let found = problems(text);
            assert!(found[0].starts_with(start), "{text:?}: {found:?}");
        }
    }
}
