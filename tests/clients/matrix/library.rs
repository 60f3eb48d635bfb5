//! One library: what its users see of each kind of answer, as a row of the table.

use super::notes::number;
use super::{Column, columns};
use serde_json::Value;

/// What the id of a block begins with (§2.4).
const BLOCK: &str = "monitor-guardrails-";

pub(super) struct Library {
    name: &'static str,
    /// As the table names it: by its package, and by its language where two share a name.
    title: &'static str,
    version: Option<String>,
    /// One for each column.
    cells: Vec<Seen>,
}

enum Seen {
    Shown,
    /// The phrase of a block, without the id that says what it is.
    WithoutId,
    Nothing,
    Raised(String),
    /// Neither what was sent nor nothing.
    Other(String),
}

impl Seen {
    /// What a script printed for a cell.
    fn of(column: &Column, got: &Value) -> Self {
        let ids = got["ids"].as_array().into_iter().flatten();
        let is_marked = ids
            .filter_map(Value::as_str)
            .any(|id| id.starts_with(BLOCK));
        let is_expected = got["text"] == column.expected;
        let is_right = is_expected && is_marked == column.is_block();
        match got["error"].as_str() {
            Some(error) if is_right || got["text"].is_null() => Self::Raised(error.to_owned()),
            None if is_right => Self::Shown,
            None if is_expected && column.is_block() => Self::WithoutId,
            None if got["text"] == "" => Self::Nothing,
            _ => Self::Other(got.to_string()),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Shown => "✓".to_owned(),
            Self::WithoutId => "✓ no id".to_owned(),
            Self::Nothing => "nothing".to_owned(),
            Self::Raised(error) => format!("`{error}`"),
            Self::Other(got) => got.clone(),
        }
    }
}

impl Library {
    /// A library by its name and title, and what its script printed.
    pub(super) fn new([name, title]: [&'static str; 2], seen: &Value) -> Self {
        let columns = columns().into_iter();
        let cells = columns.map(|column| {
            let got = &seen["cells"][&column.title];
            assert!(got.is_object(), "{name}, {}: no cell", column.title);
            Seen::of(&column, got)
        });
        Self {
            name,
            title,
            version: seen["version"].as_str().map(str::to_owned),
            cells: cells.collect(),
        }
    }

    /// Its title and version.
    pub(super) fn heading(&self) -> String {
        let version = self.version.as_deref().unwrap_or_default();
        format!("{} {version}", self.title).trim_end().to_owned()
    }

    pub(super) fn row(&self) -> String {
        let cells = columns().into_iter().zip(&self.cells);
        let cells = cells.map(|(column, seen)| match number(self.name, &column.title) {
            Some(number) => format!("{} {number}", seen.text()),
            None => seen.text(),
        });
        let cells: Vec<String> = std::iter::once(self.heading()).chain(cells).collect();
        format!("| {} |", cells.join(" | "))
    }

    /// The cells that lack a note, and those that need none or that no note can excuse.
    pub(super) fn faults(&self) -> Vec<String> {
        let cells = columns().into_iter().zip(&self.cells);
        let wrong = cells.filter(|(column, seen)| {
            let is_noted = number(self.name, &column.title).is_some();
            match seen {
                Seen::Shown => is_noted,
                Seen::Other(_) => true,
                _ => !is_noted,
            }
        });
        wrong
            .map(|(column, seen)| format!("{}, {}: {}", self.heading(), column.title, seen.text()))
            .collect()
    }
}
