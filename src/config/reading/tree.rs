//! Builds the tree of a YAML file from the parser's events, within bounds on its depth, its keys and what
//! aliases expand to. Knows no YAML syntax; that is `document`.

use super::yaml::{Entry, Node, Value, join};
use std::collections::{HashMap, HashSet};

/// Groups and lists inside each other. Everything that walks a tree recurses this far.
const DEEPEST: usize = 64;
/// Bytes of a key.
const LONGEST_KEY: usize = 256;
/// Values that anchors and aliases may copy in one file.
const MOST_COPIED: usize = 100_000;
/// Repeated keys that are listed.
const MOST_REPEATED: usize = 100;

/// Why a text is no tree, and its line.
pub(super) type Refusal = (usize, String);

/// A tree under construction.
#[derive(Default)]
pub(super) struct Tree {
    root: Option<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    copied: usize,
    /// Repeated keys with their lines; an empty key stands for those that are not listed.
    repeated: Vec<(usize, String)>,
}

/// A group or a list whose end has not come.
pub(super) struct Open {
    line: usize,
    /// 0 without an anchor.
    anchor: usize,
    is_tagged: bool,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map {
        entries: Vec<Entry>,
        names: HashSet<String>,
        /// The key whose value comes next.
        key: Option<Key>,
    },
}

struct Key {
    name: String,
    line: usize,
    is_repeated: bool,
}

impl Open {
    pub(super) fn list(line: usize, anchor: usize, is_tagged: bool) -> Self {
        Self {
            line,
            anchor,
            is_tagged,
            content: Content::List(Vec::new()),
        }
    }

    pub(super) fn map(line: usize, anchor: usize, is_tagged: bool) -> Self {
        let content = Content::Map {
            entries: Vec::new(),
            names: HashSet::new(),
            key: None,
        };
        Self {
            line,
            anchor,
            is_tagged,
            content,
        }
    }

    /// The path of what comes next, below `prefix`.
    fn path(&self, prefix: &str) -> String {
        match &self.content {
            Content::List(items) => format!("{prefix}[{}]", items.len()),
            Content::Map { key, .. } => {
                join(prefix, key.as_ref().map_or("", |key| key.name.as_str()))
            }
        }
    }
}

impl Tree {
    /// Begins a group or a list.
    pub(super) fn open(&mut self, open: Open) -> Result<(), Refusal> {
        self.check_first(open.line)?;
        if self.open.len() >= DEEPEST {
            return Err(too_deep(open.line));
        }
        self.open.push(open);
        Ok(())
    }

    /// Ends the group or list that was begun last.
    pub(super) fn close(&mut self) -> Result<(), Refusal> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let value = match open.content {
            _ if open.is_tagged => Value::Other,
            Content::List(items) => Value::List(items),
            Content::Map { entries, .. } => Value::Map(entries),
        };
        let line = open.line;
        self.add(Node { line, value }, open.anchor)
    }

    /// Adds a value, which `anchor` names unless it is 0.
    pub(super) fn add(&mut self, node: Node, anchor: usize) -> Result<(), Refusal> {
        self.check_first(node.line)?;
        if anchor > 0 {
            self.count_copy(node.line, &node)?;
            self.anchors.insert(anchor, node.clone());
        }
        self.insert(node)
    }

    /// Adds a copy of the value that an alias names.
    pub(super) fn add_alias(&mut self, line: usize, anchor: usize) -> Result<(), Refusal> {
        self.check_first(line)?;
        // The parser refuses unknown names; this one stands inside its own value.
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return self.insert(Node {
                line,
                value: Value::Other,
            });
        };
        self.count_copy(line, &node)?;
        if self.open.len() + depth(&node) > DEEPEST {
            return Err(too_deep(line));
        }
        self.insert(Node { line, ..node })
    }

    /// The tree, and the repeated keys with their lines.
    pub(super) fn finish(self) -> (Node, Vec<(usize, String)>) {
        let empty = Node {
            line: 1,
            value: Value::Null,
        };
        (self.root.unwrap_or(empty), self.repeated)
    }

    fn insert(&mut self, node: Node) -> Result<(), Refusal> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.content {
            Content::List(items) => items.push(node),
            Content::Map { entries, key, .. } => match key.take() {
                Some(key) if key.is_repeated => {}
                Some(Key { name, line, .. }) => entries.push(Entry {
                    key: name,
                    line,
                    node,
                }),
                None => return self.begin_entry(node),
            },
        }
        Ok(())
    }

    /// Takes a key, whose value comes next.
    fn begin_entry(&mut self, node: Node) -> Result<(), Refusal> {
        let line = node.line;
        let name = key_text(node.value);
        if name.len() > LONGEST_KEY {
            let text = format!("has a key that is longer than {LONGEST_KEY} bytes");
            return Err((line, text));
        }
        let mut is_repeated = false;
        if let Some(open) = self.open.last_mut()
            && let Content::Map { names, key, .. } = &mut open.content
        {
            is_repeated = !names.insert(name.clone());
            *key = Some(Key {
                name,
                line,
                is_repeated,
            });
        }
        if is_repeated && self.repeated.len() <= MOST_REPEATED {
            let is_listed = self.repeated.len() < MOST_REPEATED;
            let path = if is_listed {
                self.path()
            } else {
                String::new()
            };
            self.repeated.push((line, path));
        }
        Ok(())
    }

    /// The full key of what comes next.
    fn path(&self) -> String {
        let empty = String::new();
        self.open
            .iter()
            .fold(empty, |prefix, open| open.path(&prefix))
    }

    /// A file holds one document.
    fn check_first(&self, line: usize) -> Result<(), Refusal> {
        match self.root.is_some() && self.open.is_empty() {
            true => Err((
                line,
                "is a second document; allowed: one per file".to_owned(),
            )),
            false => Ok(()),
        }
    }

    fn count_copy(&mut self, line: usize, node: &Node) -> Result<(), Refusal> {
        let left = MOST_COPIED - self.copied;
        let Some(rest) = without(node, left) else {
            let text = format!("has aliases that stand for more than {MOST_COPIED} values");
            return Err((line, text));
        };
        self.copied = MOST_COPIED - rest;
        Ok(())
    }
}

fn too_deep(line: usize) -> Refusal {
    let text = format!("is nested too deeply; allowed: {DEEPEST} levels");
    (line, text)
}

/// What is left of `count` without the values of a node; None when it has more.
fn without(node: &Node, count: usize) -> Option<usize> {
    let count = count.checked_sub(1)?;
    match &node.value {
        Value::List(items) => items
            .iter()
            .try_fold(count, |left, item| without(item, left)),
        Value::Map(entries) => entries
            .iter()
            .try_fold(count, |left, entry| without(&entry.node, left)),
        _ => Some(count),
    }
}

/// Levels of groups and lists in a node.
fn depth(node: &Node) -> usize {
    match &node.value {
        Value::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Map(entries) => {
            let inner = entries.iter().map(|entry| depth(&entry.node));
            1 + inner.max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// A key as text; no known key is anything else, so other shapes only need a name to be refused by.
fn key_text(value: Value) -> String {
    match value {
        // A problem that names it is one line.
        Value::Text(text) if text.contains(char::is_control) => text.escape_debug().to_string(),
        Value::Text(text) | Value::Number(text) => text,
        Value::Flag(flag) => flag.to_string(),
        other => format!("({})", other.shape()),
    }
}
