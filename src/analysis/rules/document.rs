//! Reads a JSON document field by field and collects everything that is wrong with it, each with the path
//! of its field (CONTRACT 27, 38). The names of the fields are in `direction` and `ingest::inline_rules`.

use crate::analysis::error::FieldProblem;
use monitor_detect::UnknownName;
use serde_json::{Map, Value};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Problems that are reported for one document.
const MOST_PROBLEMS: usize = 50;
/// Characters of an unknown field's name that are repeated to the caller.
const SHOWN: usize = 40;

/// The problems found so far.
#[derive(Default)]
pub(crate) struct Problems(Vec<FieldProblem>);

impl Problems {
    pub(crate) fn add(&mut self, field: impl Into<String>, problem: impl Into<String>) {
        let field = field.into();
        // The first problem of a field is the one to fix first.
        let is_known = self.0.iter().any(|known| known.field == field);
        if self.0.len() < MOST_PROBLEMS && !is_known {
            self.0.push(FieldProblem::new(field, problem));
        }
    }

    /// The value, if there was no problem.
    pub(crate) fn or<T>(self, value: T) -> Result<T, Vec<FieldProblem>> {
        match self.0.is_empty() {
            true => Ok(value),
            false => Err(self.0),
        }
    }
}

/// A JSON object and its path.
pub(crate) struct Object<'v> {
    path: String,
    entries: &'v Map<String, Value>,
}

/// An element of a list, and its path.
pub(crate) struct Element<'v> {
    pub(crate) path: String,
    pub(crate) value: &'v Value,
}

impl<'v> Object<'v> {
    pub(crate) fn read(
        path: impl Into<String>,
        value: &'v Value,
        problems: &mut Problems,
    ) -> Option<Self> {
        let path = path.into();
        match value {
            Value::Object(entries) => Some(Self { path, entries }),
            _ => {
                problems.add(path, "must be an object");
                None
            }
        }
    }

    /// The path of a field of this object.
    pub(crate) fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    /// The fields other than these.
    pub(crate) fn unknown(&self, known: &[&str]) -> Vec<String> {
        let unknown = self
            .entries
            .keys()
            .filter(|key| !known.contains(&key.as_str()));
        unknown
            .map(|key| self.path(&key.chars().take(SHOWN).collect::<String>()))
            .collect()
    }

    /// Reports every field other than these.
    pub(crate) fn only(&self, known: &[&str], problems: &mut Problems) {
        for path in self.unknown(known) {
            problems.add(path, format!("unknown; allowed: {}", known.join(", ")));
        }
    }

    /// A field, also if it is null.
    pub(crate) fn raw(&self, key: &str) -> Option<&'v Value> {
        self.entries.get(key)
    }

    /// A field that is present and not null.
    pub(crate) fn get(&self, key: &str) -> Option<&'v Value> {
        self.raw(key).filter(|value| !value.is_null())
    }

    pub(crate) fn object(&self, key: &str, problems: &mut Problems) -> Option<Object<'v>> {
        Object::read(self.path(key), self.get(key)?, problems)
    }

    pub(crate) fn flag(&self, key: &str, default: bool, problems: &mut Problems) -> bool {
        match self.get(key) {
            None => default,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => {
                problems.add(self.path(key), "must be true or false");
                default
            }
        }
    }

    /// A word in any letter case, or its default.
    pub(crate) fn word<T>(&self, key: &str, problems: &mut Problems) -> T
    where
        T: FromStr<Err = UnknownName> + Default,
    {
        let parsed = match self.get(key) {
            None => return T::default(),
            Some(Value::String(word)) => word.parse().map_err(|error| format!("{error}")),
            Some(_) => Err("must be a string".to_owned()),
        };
        parsed.unwrap_or_else(|error| {
            problems.add(self.path(key), error);
            T::default()
        })
    }

    /// A required text of 1 to `longest` code points, none of them NUL, which not every database stores.
    pub(crate) fn text(
        &self,
        key: &str,
        longest: usize,
        problems: &mut Problems,
    ) -> Option<&'v str> {
        let problem = match self.get(key) {
            Some(Value::String(text)) => match text.chars().count() {
                0 => "is empty".to_owned(),
                length if length > longest => {
                    format!("has {length} characters; allowed: 1 to {longest}")
                }
                _ if text.contains('\0') => "contains the character NUL".to_owned(),
                _ => return Some(text),
            },
            Some(_) => "must be a string".to_owned(),
            None => "missing".to_owned(),
        };
        problems.add(self.path(key), problem);
        None
    }

    /// A whole number within a range; None where it is missing or wrong.
    pub(crate) fn count(
        &self,
        key: &str,
        range: RangeInclusive<u64>,
        problems: &mut Problems,
    ) -> Option<u64> {
        let value = self.get(key)?;
        let count = value.as_u64().filter(|count| range.contains(count));
        if count.is_none() {
            let (from, to) = (range.start(), range.end());
            let text = format!("must be a whole number from {from} to {to}");
            problems.add(self.path(key), text);
        }
        count
    }

    /// The elements of a list of at most `most`; None where there is no list.
    pub(crate) fn list(
        &self,
        key: &str,
        most: usize,
        problems: &mut Problems,
    ) -> Option<Vec<Element<'v>>> {
        let path = self.path(key);
        let Value::Array(elements) = self.get(key)? else {
            problems.add(path, "must be a list");
            return None;
        };
        if elements.len() > most {
            let text = format!("has {} elements; allowed: at most {most}", elements.len());
            problems.add(path, text);
            return None;
        }
        let element = |(index, value)| Element {
            path: format!("{path}[{index}]"),
            value,
        };
        Some(elements.iter().enumerate().map(element).collect())
    }

    /// Every field with its path.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'v String, &'v Value)> {
        self.entries.iter()
    }
}
