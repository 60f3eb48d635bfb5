//! Looks one key up in all sources by their order: command line, environment, YAML, default
//! (CONTRACT 33). Remembers the keys asked for, so that every other key of the file is unknown.
//! Knows no key by name; those are declared in `schema`.

use super::suggest;
use super::yaml::{Entry, Node, Value, join, scalar};
use crate::config::env;
use crate::config::problem::{Origin, Problem};
use crate::config::sources::Sources;
use crate::config::values::units::{self, Form};
use std::collections::BTreeMap;

/// A raw value of a source.
pub(crate) enum Raw<'a> {
    /// From the command line or the environment.
    Text(String),
    /// From the file.
    Node(&'a Node),
}

/// Problems that are listed; a file may have one in every line.
const MOST_PROBLEMS: usize = 200;

/// One pass over all sources.
pub(crate) struct Reader<'a> {
    sources: Sources<'a>,
    known: Vec<String>,
    origins: BTreeMap<String, Origin>,
    problems: Vec<Problem>,
    /// More problems were found than are listed.
    has_more: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(sources: Sources<'a>) -> Self {
        Self {
            sources,
            known: Vec::new(),
            origins: BTreeMap::new(),
            problems: Vec::new(),
            has_more: false,
        }
    }

    /// The value of a key from the highest source that sets it, or None for the default. Lower
    /// sources are checked as well.
    pub(crate) fn read<T>(&mut self, key: &str, form: &Form<T>) -> Option<T> {
        self.read_with(key, |_, raw| match raw {
            Raw::Text(text) => form.parse(text).map_err(Some),
            Raw::Node(node) => scalar(node, form).map_err(Some),
        })
    }

    /// A switch, or None for the default.
    pub(crate) fn switch(&mut self, key: &str) -> Option<bool> {
        let form = units::word(&[("true", true), ("false", false)]);
        self.read_with(key, |_, raw| match raw {
            Raw::Text(text) => form.parse(text).map_err(Some),
            Raw::Node(node) => match node.value {
                Value::Flag(flag) => Ok(flag),
                _ => Err(Some(form.refuse(&format!("is {}", node.value.shape())))),
            },
        })
    }

    /// Like [`Reader::read`], for values that are more than one scalar. `take` returns an error text, or
    /// None when it has reported the problem itself.
    pub(crate) fn read_with<T>(
        &mut self,
        key: &str,
        mut take: impl FnMut(&mut Self, &Raw<'a>) -> Result<T, Option<String>>,
    ) -> Option<T> {
        self.known.push(key.to_owned());
        let mut found = None;
        for (origin, raw) in self.layers(key) {
            match take(self, &raw) {
                Ok(value) => {
                    self.origins.insert(key.to_owned(), origin);
                    found = Some(value);
                }
                Err(Some(text)) => self.report(origin, key, text),
                Err(None) => {}
            }
        }
        found
    }

    /// Whether the file sets the key to null, for the few keys where that is not the default.
    pub(crate) fn is_null(&self, key: &str) -> bool {
        let document = self.sources.document;
        let entry = document.and_then(|document| entry(&document.root, key));
        entry.is_some_and(|entry| matches!(entry.node.value, Value::Null))
    }

    /// Reports a problem at a line of the file.
    pub(crate) fn report_line(&mut self, line: usize, key: &str, text: impl Into<String>) {
        let path = self.sources.document.map(|document| document.path.clone());
        let origin = Origin::File {
            path: path.unwrap_or_default(),
            line: Some(line),
        };
        self.report(origin, key, text.into());
    }

    /// Reports that a key's value contradicts another one.
    pub(crate) fn contradiction(&mut self, key: &str, text: impl Into<String>) {
        let origin = self.origins.get(key).cloned().unwrap_or(Origin::Nowhere);
        self.report(origin, key, text.into());
    }

    /// Reports a contradiction, unless the key has a problem already.
    pub(crate) fn refuse_if(&mut self, key: &str, contradicts: bool, text: &str) {
        if contradicts && !self.has_problem(key) {
            self.contradiction(key, text);
        }
    }

    /// Whether a key has a problem already.
    pub(crate) fn has_problem(&self, key: &str) -> bool {
        self.problems.iter().any(|problem| problem.key == key)
    }

    /// Whether a key, an item of its list or a key of its group has a problem already.
    pub(crate) fn has_problem_in(&self, key: &str) -> bool {
        let is_of = |found: &str| {
            let rest = found.strip_prefix(key);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
        };
        self.problems.iter().any(|problem| is_of(&problem.key))
    }

    /// The keys read so far.
    pub(crate) fn known(self) -> Vec<String> {
        self.known
    }

    /// The problems of the keys read so far.
    pub(crate) fn into_problems(mut self) -> Vec<Problem> {
        if self.has_more {
            self.problems.push(Problem {
                origin: Origin::Nowhere,
                key: String::new(),
                text: "has further problems; mend those that are listed first".to_owned(),
            });
        }
        self.problems
    }

    /// All problems, unknown keys included.
    pub(crate) fn finish(mut self) -> Vec<Problem> {
        if let Some(Value::Map(entries)) = self.sources.document.map(|d| &d.root.value) {
            self.refuse_unknown(entries, "");
        }
        self.into_problems()
    }

    /// All sources that set a key, the lowest first.
    fn layers(&self, key: &str) -> Vec<(Origin, Raw<'a>)> {
        let mut layers = Vec::new();
        if let Some(document) = self.sources.document
            && let Some(entry) = find(&document.root, key)
        {
            let origin = Origin::File {
                path: document.path.clone(),
                line: Some(entry.line),
            };
            layers.push((origin, Raw::Node(&entry.node)));
        }
        if let Some(variable) = env::variable_for(self.sources.role, key)
            && let Some(text) = (self.sources.env)(variable.name)
            && !text.trim().is_empty()
        {
            layers.push((Origin::Environment(variable.name), Raw::Text(text)));
        }
        if let Some((flag, text)) = self.flag(key) {
            layers.push((Origin::CommandLine(flag), Raw::Text(text.clone())));
        }
        layers
    }

    fn flag(&self, key: &str) -> Option<(&'static str, &'a String)> {
        let overrides = self.sources.overrides;
        let (flag, text) = match key {
            "listen" => ("--listen", &overrides.listen),
            "upstream.url" => ("--upstream-url", &overrides.upstream_url),
            "monitor.url" => ("--monitor-url", &overrides.monitor_url),
            "data_dir" => ("--data-dir", &overrides.data_dir),
            _ => return None,
        };
        Some((flag, text.as_ref()?))
    }

    fn refuse_unknown(&mut self, entries: &'a [Entry], prefix: &str) {
        for entry in entries {
            let key = join(prefix, &entry.key);
            // A name that only looks like the path of a key is none.
            let is_name = !entry.key.contains(['.', '[']);
            if is_name && self.known.contains(&key) {
                self.refuse_unknown_in_items(&entry.node, &key);
                continue;
            }
            let group = format!("{key}.");
            let is_group = is_name && self.known.iter().any(|known| known.starts_with(&group));
            match &entry.node.value {
                Value::Map(inner) if is_group => self.refuse_unknown(inner, &key),
                Value::Null if is_group => {}
                other if is_group => {
                    let text = format!("is {}; allowed: {}", other.shape(), self.names_in(&key));
                    self.report_line(entry.line, &key, text);
                }
                // A name is looked for only where it is shown.
                _ if self.is_full() => self.has_more = true,
                _ if !is_name => {
                    let text =
                        "is an unknown key; allowed: names without . and [, each below its group";
                    self.report_line(entry.line, &key, text);
                }
                _ => {
                    let text = match suggest::nearest(&key, &self.known) {
                        Some(near) => format!("is an unknown key; did you mean {near}?"),
                        None => format!("is an unknown key; allowed: {}", self.names_in(prefix)),
                    };
                    self.report_line(entry.line, &key, text);
                }
            }
        }
    }

    /// Of a list whose items are groups with known keys.
    fn refuse_unknown_in_items(&mut self, node: &'a Node, key: &str) {
        let Value::List(items) = &node.value else {
            return;
        };
        let first = format!("{key}[0].");
        if !self.known.iter().any(|known| known.starts_with(&first)) {
            return;
        }
        for (index, item) in items.iter().enumerate() {
            if let Value::Map(entries) = &item.value {
                self.refuse_unknown(entries, &format!("{key}[{index}]"));
            }
        }
    }

    /// The known names directly inside a group.
    fn names_in(&self, group: &str) -> String {
        let mut names: Vec<&str> = Vec::new();
        for key in &self.known {
            let inside = match group {
                "" => Some(key.as_str()),
                _ => key
                    .strip_prefix(group)
                    .and_then(|rest| rest.strip_prefix('.')),
            };
            let name = inside.and_then(|rest| rest.split('.').next());
            let is_item = |name: &str| name.ends_with(']');
            names.extend(name.filter(|name| !names.contains(name) && !is_item(name)));
        }
        names.join(", ")
    }

    fn is_full(&self) -> bool {
        self.problems.len() >= MOST_PROBLEMS
    }

    fn report(&mut self, origin: Origin, key: &str, text: String) {
        if self.is_full() {
            self.has_more = true;
            return;
        }
        self.problems.push(Problem {
            origin,
            key: key.to_owned(),
            text,
        });
    }
}

/// The entry of a key, unless its value is null.
fn find<'n>(node: &'n Node, key: &str) -> Option<&'n Entry> {
    entry(node, key).filter(|entry| !matches!(entry.node.value, Value::Null))
}

/// The entry of a key such as `section.key` or `list[0].key`.
fn entry<'n>(node: &'n Node, key: &str) -> Option<&'n Entry> {
    let (first, rest) = match key.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (key, None),
    };
    let (name, index) = match first
        .strip_suffix(']')
        .and_then(|first| first.split_once('['))
    {
        Some((name, index)) => (name, Some(index)),
        None => (first, None),
    };
    let Value::Map(entries) = &node.value else {
        return None;
    };
    let found = entries.iter().find(|entry| entry.key == name)?;
    match (index, rest) {
        (None, None) => Some(found),
        (None, Some(rest)) => self::entry(&found.node, rest),
        (Some(_), None) => None,
        (Some(index), Some(rest)) => self::entry(item(&found.node, index)?, rest),
    }
}

/// The item of a list by its index.
fn item<'n>(node: &'n Node, index: &str) -> Option<&'n Node> {
    let Value::List(items) = &node.value else {
        return None;
    };
    items.get(index.parse::<usize>().ok()?)
}
