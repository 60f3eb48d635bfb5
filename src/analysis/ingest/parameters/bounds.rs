//! Bounds of `additional_parameters`: they are stored with every message, and their ids stand in every list.

use crate::analysis::error::{ApiError, FieldProblem};
use monitor_model::{LONGEST_ID, stored_id};
use serde_json::{Map, Value};

/// Bytes of all names and values together.
pub(crate) const MOST_BYTES: usize = 64 << 10;
/// Names in it, at any depth.
pub(crate) const MOST_KEYS: usize = 256;
/// Objects and lists inside each other.
pub(crate) const DEEPEST: usize = 16;

const FIELD: &str = "additional_parameters";
/// The ids that the program reads.
const IDS: [&str; 3] = ["user_id", "session_id", "request_id"];

/// What `additional_parameters` holds.
#[derive(Default)]
struct Measured {
    bytes: usize,
    keys: usize,
    depth: usize,
}

/// Cuts the ids of a gateway's record as the gateway itself does: its record is already accepted, so that a refusal
/// would lose it. An earlier release may have accepted longer ones.
pub(super) fn shorten_ids(parameters: &mut Map<String, Value>) -> bool {
    let mut is_cut = false;
    for name in IDS {
        if let Some(Value::String(id)) = parameters.get_mut(name)
            && id.len() > LONGEST_ID
        {
            *id = stored_id(id).into_owned();
            is_cut = true;
        }
    }
    is_cut
}

/// Names everything that is over its bound.
pub(super) fn check(parameters: &Map<String, Value>) -> Result<(), ApiError> {
    let mut problems = Vec::new();
    for name in IDS {
        let length = parameters
            .get(name)
            .and_then(Value::as_str)
            .map_or(0, str::len);
        if length > LONGEST_ID {
            let problem = format!("has {length} bytes; allowed: at most {LONGEST_ID}");
            problems.push(FieldProblem::new(format!("{FIELD}.{name}"), problem));
        }
    }
    let measured = Measured::of(parameters);
    for (what, has, most) in [
        ("bytes", measured.bytes, MOST_BYTES),
        ("keys", measured.keys, MOST_KEYS),
        ("levels", measured.depth, DEEPEST),
    ] {
        if has > most {
            let problem = format!("has {has} {what}; allowed: at most {most}");
            problems.push(FieldProblem::new(FIELD, problem));
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(ApiError::Fields(problems)),
    }
}

impl Measured {
    fn of(parameters: &Map<String, Value>) -> Self {
        let mut measured = Self::default();
        measured.add_object(parameters, 1);
        measured
    }

    fn add_object(&mut self, object: &Map<String, Value>, depth: usize) {
        self.depth = self.depth.max(depth);
        self.keys += object.len();
        for (name, value) in object {
            self.bytes += name.len();
            self.add(value, depth);
        }
    }

    fn add(&mut self, value: &Value, depth: usize) {
        match value {
            Value::String(text) => self.bytes += text.len(),
            Value::Object(object) => self.add_object(object, depth + 1),
            Value::Array(list) => {
                self.depth = self.depth.max(depth + 1);
                for value in list {
                    self.add(value, depth + 1);
                }
            }
            // As long as the longest of them.
            Value::Null | Value::Bool(_) | Value::Number(_) => self.bytes += size_of::<u64>(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problems(parameters: &Value) -> String {
        check(parameters.as_object().unwrap())
            .map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn each_bound_is_named_and_what_fits_is_taken() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |inside, _| json!([inside]));
        let keys = |count: usize| -> Value {
            let keys: Map<_, _> = (0..count).map(|n| (n.to_string(), json!(true))).collect();
            Value::Object(keys)
        };
        let id = "u".repeat(LONGEST_ID);
        assert_eq!(
            problems(&json!({"user_id": id, "session_id": id, "request_id": id})),
            ""
        );
        assert_eq!(problems(&json!({"a": nested(DEEPEST - 1)})), "");
        assert_eq!(problems(&keys(MOST_KEYS)), "");
        assert_eq!(problems(&json!({"a": "x".repeat(MOST_BYTES - 1)})), "");
        for (parameters, named) in [
            (
                json!({"user_id": format!("{id}u")}),
                "additional_parameters.user_id: has 513 bytes",
            ),
            (
                json!({"session_id": format!("{id}u")}),
                "additional_parameters.session_id: ",
            ),
            (
                json!({"request_id": format!("{id}u")}),
                "additional_parameters.request_id: ",
            ),
            (
                json!({"a": nested(DEEPEST)}),
                "additional_parameters: has 17 levels",
            ),
            (keys(MOST_KEYS + 1), "additional_parameters: has 257 keys"),
            (
                json!({"a": "x".repeat(MOST_BYTES)}),
                "additional_parameters: has 65537 bytes",
            ),
        ] {
            let told = problems(&parameters);
            assert!(told.contains(named), "{told}");
        }
    }

    #[test]
    fn the_ids_of_a_gateways_record_are_cut_and_not_refused() {
        let long = "я".repeat(2_000);
        let mut parameters = json!({"user_id": long, "session_id": "s", "request_id": 7});
        let parameters = parameters.as_object_mut().unwrap();
        assert!(shorten_ids(parameters) && !shorten_ids(parameters));
        assert_eq!(parameters["user_id"], *stored_id(&long));
        assert_eq!(check(parameters), Ok(()));
    }
}
