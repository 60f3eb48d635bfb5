//! Calls of tools in an answer, and their results in a request: parts of a record beside its text.

use crate::Entity;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::fmt;
use utoipa::ToSchema;

/// The key of `additional_parameters` that has the calls of an answer.
pub const TOOL_CALLS: &str = "tool_calls";
/// The key of `additional_parameters` that has the results of a request.
pub const TOOL_RESULTS: &str = "tool_results";
/// The key of `additional_parameters` that counts the parts which are left out.
pub const TOOLS_OMITTED: &str = "tools_omitted";
/// The key of `additional_parameters` that says that the calls are not to be checked.
pub const TOOLS_UNCHECKED: &str = "tools_unchecked";
/// The most parts of one record.
pub const MOST_TOOL_PARTS: usize = 48;
/// The most bytes of all parts of one record: with everything else, `additional_parameters` stays within 64 KiB.
pub const MOST_TOOL_BYTES: usize = 48 << 10;
/// The longest name of a tool and identifier of a call, in bytes.
pub const LONGEST_TOOL_NAME: usize = 256;

/// A call of a tool, or its result. No readable `Debug`: it holds words of the model and of its user.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPart {
    /// What call and result have in common; empty where the API names none.
    #[serde(default)]
    pub call_id: String,
    /// The tool; empty where a result does not tell.
    #[serde(default)]
    pub name: String,
    /// The arguments as the model wrote them, or the text of the result.
    pub text: String,
    /// The text is only the beginning.
    #[serde(default, rename = "cut", skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

impl ToolPart {
    fn bytes(&self) -> usize {
        self.call_id.len() + self.name.len() + self.text.len()
    }
}

impl fmt::Debug for ToolPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolPart({} bytes)", self.bytes())
    }
}

/// The parts of one record, in their order. Those of an answer are calls, those of a request are results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolParts {
    /// At most [`MOST_TOOL_PARTS`].
    pub parts: Vec<ToolPart>,
    /// How many more there were.
    pub omitted: u32,
    /// They are calls, and the policy says not to check their arguments.
    pub are_unchecked: bool,
}

impl ToolParts {
    /// Whether nothing was called.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.omitted == 0
    }

    /// How many there were, those that are left out included.
    pub fn number(&self) -> u32 {
        let parts = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
        self.omitted.saturating_add(parts)
    }

    /// Adds a part, cut to what is left of `most` bytes.
    pub fn push(&mut self, mut part: ToolPart, most: usize) {
        shorten(&mut part.call_id, LONGEST_TOOL_NAME);
        shorten(&mut part.name, LONGEST_TOOL_NAME);
        let left = most.min(MOST_TOOL_BYTES).saturating_sub(self.bytes());
        let names = part.call_id.len() + part.name.len();
        if self.parts.len() == MOST_TOOL_PARTS || names > left {
            self.omitted = self.omitted.saturating_add(1);
            return;
        }
        part.is_cut |= shorten(&mut part.text, left - names);
        self.parts.push(part);
    }

    /// The same within `most` bytes.
    pub fn within(self, most: usize) -> Self {
        if self.bytes() <= most {
            return self;
        }
        let mut parts = Self {
            parts: Vec::with_capacity(self.parts.len()),
            ..self
        };
        for part in self.parts {
            parts.push(part, most);
        }
        parts
    }

    /// Bytes of all texts and names.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(ToolPart::bytes).sum()
    }

    /// Takes the parts of a message out of its parameters. A value of another form belongs to the caller and stays.
    pub fn take(parameters: &mut Map<String, Value>, key: &str) -> Self {
        let Some(list) = parameters.get(key).and_then(Value::as_array) else {
            return Self::default();
        };
        let read: Option<Vec<ToolPart>> = list.iter().map(read).collect();
        let omitted = parameters.get(TOOLS_OMITTED);
        let omitted = omitted.and_then(|omitted| u32::try_from(omitted.as_u64()?).ok());
        // Where all are left out, the list is empty.
        let Some(read) = read.filter(|read| !read.is_empty() || omitted.is_some()) else {
            return Self::default();
        };
        parameters.remove(key);
        parameters.remove(TOOLS_OMITTED);
        let are_unchecked =
            key == TOOL_CALLS && parameters.get(TOOLS_UNCHECKED) == Some(&Value::Bool(true));
        if are_unchecked {
            parameters.remove(TOOLS_UNCHECKED);
        }
        let mut parts = Self {
            parts: Vec::with_capacity(read.len().min(MOST_TOOL_PARTS)),
            omitted: omitted.unwrap_or_default(),
            are_unchecked,
        };
        for part in read {
            parts.push(part, MOST_TOOL_BYTES);
        }
        parts
    }
}

/// A list without the count of those that are left out.
impl Serialize for ToolParts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.parts.len()))?;
        for part in &self.parts {
            list.serialize_element(part)?;
        }
        list.end()
    }
}

/// An object of exactly these members.
fn read(value: &Value) -> Option<ToolPart> {
    let members = value.as_object()?;
    let is_known = |name: &String| ["call_id", "name", "text", "cut"].contains(&name.as_str());
    let is_part = members.keys().all(is_known) && members.contains_key("call_id");
    is_part.then(|| ToolPart::deserialize(value).ok()).flatten()
}

/// Cuts a text to this many bytes; whether anything is missing then.
fn shorten(text: &mut String, bytes: usize) -> bool {
    let is_cut = text.len() > bytes;
    text.truncate(text.floor_char_boundary(bytes));
    is_cut
}

/// A call of a tool or its result as it is stored, with what was found in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckedPart {
    /// What call and result have in common; empty where the API names none.
    pub call_id: String,
    /// The tool; empty where a result does not tell.
    pub name: String,
    /// The arguments as the model wrote them, or the text of the result. Cleaned if the application keeps no originals;
    /// null if it could not be cleaned, or not be checked.
    #[schema(required = true)]
    pub text: Option<String>,
    /// The text is only the beginning.
    pub is_cut: bool,
    /// The text is not as it came: what was found is masked.
    pub is_cleaned: bool,
    /// The part was not checked, or not to its end, for want of time or by the policy: it may hold more than was found,
    /// and an application without originals has no text.
    pub is_unchecked: bool,
    /// It was not checked because the policy says so (`check_tool_arguments`).
    // Parts of earlier versions do not have it.
    #[serde(default)]
    #[schema(required = true)]
    pub is_exempt: bool,
    /// Entity types that were found, also behind the escapes of JSON.
    pub types: Vec<String>,
    /// Where they stand in the text, in Unicode code points; empty if the application keeps no originals.
    pub entities: Vec<Entity>,
    /// Categories of guardrails that flag it.
    pub guardrails: Vec<String>,
}

/// The calls of an answer or the results of a request as they are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedParts {
    /// In their order.
    pub parts: Vec<CheckedPart>,
    /// How many more there were.
    pub omitted: u32,
}

impl CheckedParts {
    /// Whether nothing was called.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.omitted == 0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn part(text: &str) -> ToolPart {
        ToolPart {
            call_id: "c".into(),
            name: "n".into(),
            text: text.into(),
            is_cut: false,
        }
    }

    #[test]
    fn parts_are_bounded_and_what_is_cut_is_marked() {
        let mut parts = ToolParts::default();
        parts.push(part("0123456789"), 20);
        parts.push(part("яяяяяяяяяя"), 20);
        parts.push(part("x"), 20);
        let texts: Vec<_> = parts
            .parts
            .iter()
            .map(|part| (&*part.text, part.is_cut))
            .collect();
        assert_eq!(texts, [("0123456789", false), ("яяя", true)]);
        assert_eq!((parts.bytes(), parts.omitted), (20, 1));
        let mut many = ToolParts::default();
        (0..=MOST_TOOL_PARTS).for_each(|_| many.push(part(""), usize::MAX));
        assert_eq!((many.parts.len(), many.omitted), (MOST_TOOL_PARTS, 1));
    }

    #[test]
    fn only_what_a_gateway_sends_is_taken_from_parameters() {
        let given = json!({"tool_calls": [part("{}")], "tools_omitted": 2, "other": 1});
        let mut given = given.as_object().unwrap().clone();
        let taken = ToolParts::take(&mut given, TOOL_CALLS);
        assert_eq!((taken.parts, taken.omitted), (vec![part("{}")], 2));
        assert_eq!(Value::Object(given), json!({"other": 1}));
        let unchecked = json!({"tool_calls": [part("{}")], "tool_results": [part("{}")], "tools_unchecked": true});
        let mut unchecked = unchecked.as_object().unwrap().clone();
        let results = ToolParts::take(&mut unchecked, TOOL_RESULTS);
        assert!(!results.are_unchecked, "calls alone are");
        assert!(ToolParts::take(&mut unchecked, TOOL_CALLS).are_unchecked);
        assert!(unchecked.is_empty());
        let mut none = json!({"tool_calls": [], "tools_omitted": 2, "other": 1});
        let taken = ToolParts::take(none.as_object_mut().unwrap(), TOOL_CALLS);
        assert_eq!((taken.parts.len(), taken.omitted), (0, 2));
        assert_eq!(none, json!({"other": 1}));
        for own in [
            json!(3),
            json!([]),
            json!([{"id": 1}]),
            json!([{"call_id": "c", "text": "t", "x": 1}]),
        ] {
            let mut kept = json!({"tool_calls": own}).as_object().unwrap().clone();
            assert!(ToolParts::take(&mut kept, TOOL_CALLS).is_empty());
            assert_eq!(kept["tool_calls"], own);
        }
    }
}
