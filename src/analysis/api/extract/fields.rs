//! The body of an administrative request as named fields: all wrong and unknown fields are reported at
//! once, by name. The values themselves are checked by the services.

use super::body;
use crate::analysis::{ApiError, FieldProblem};
use axum::extract::Request;
use axum::http::header;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::time::Duration;

/// The largest body of an administrative request: the longest phrase and hundreds of rules.
const LARGEST_BODY: u64 = 1 << 20;
/// Characters of an unknown field's name that are repeated to the caller.
const LONGEST_QUOTED: usize = 40;
const NOT_TEXT: &str = "must be text";
const NOT_INTEGER: &str = "must be an integer";
const NOT_DURATION: &str = "must be a duration: text such as 10m, 12h or 90d, or whole seconds";

/// Fields that are taken one by one; those left at the end are unknown.
pub(crate) struct Fields {
    map: Map<String, Value>,
    known: Vec<&'static str>,
    problems: Vec<FieldProblem>,
}

impl Fields {
    /// The fields of a required body.
    pub(crate) async fn read(request: Request) -> Result<Self, ApiError> {
        Self::parse(&body::read(request, LARGEST_BODY).await?)
    }

    /// The fields of an optional body; it may be missing together with its type.
    pub(crate) async fn read_optional(request: Request) -> Result<Self, ApiError> {
        use axum::body::HttpBody as _;
        let is_typed = request.headers().contains_key(header::CONTENT_TYPE);
        match request.body().is_end_stream() && !is_typed {
            true => Ok(Self::new(Map::new())),
            false => Self::read(request).await,
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, ApiError> {
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(map)) => Ok(Self::new(map)),
            Ok(_) => Err(FieldProblem::new("body", "must be an object").into()),
            Err(_) => {
                serde_json::from_slice::<IgnoredAny>(bytes).map_err(|e| body::not_json(&e))?;
                let problem =
                    "is nested too deeply, or has a number out of range or a lone surrogate";
                Err(FieldProblem::new("body", problem).into())
            }
        }
    }

    fn new(map: Map<String, Value>) -> Self {
        Self {
            map,
            known: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// A field's value, null included; None where it is left out.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.map.remove(name)
    }

    /// Takes a text.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        self.typed(name, NOT_TEXT, |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        })
    }

    /// Takes an integer.
    pub(crate) fn integer(&mut self, name: &'static str) -> Option<i64> {
        self.typed(name, NOT_INTEGER, |value| value.as_i64())
    }

    /// Takes a duration, as in a configuration: text with a unit, or whole seconds.
    pub(crate) fn duration(&mut self, name: &'static str) -> Option<Duration> {
        self.typed(name, NOT_DURATION, |value| match value {
            Value::String(text) => crate::config::duration_from_text(&text),
            value => value.as_u64().map(Duration::from_secs),
        })
    }

    /// Takes a field that `read` converts; a value that it cannot convert is refused with `problem`.
    pub(crate) fn typed<T>(
        &mut self,
        name: &'static str,
        problem: &'static str,
        read: impl FnOnce(Value) -> Option<T>,
    ) -> Option<T> {
        let read = read(self.take(name)?);
        if read.is_none() {
            self.refuse(name, problem);
        }
        read
    }

    /// Reports a field as wrong.
    pub(crate) fn refuse(&mut self, name: &str, problem: impl Into<String>) {
        self.problems.push(FieldProblem::new(name, problem));
    }

    /// Fails with all problems, unknown fields included.
    pub(crate) fn finish(mut self) -> Result<(), ApiError> {
        let allowed = match self.known.as_slice() {
            [] => "none".to_owned(),
            known => known.join(", "),
        };
        for name in self.map.keys() {
            let name: String = name.chars().take(LONGEST_QUOTED).collect();
            let problem = format!("is an unknown field; allowed: {allowed}");
            self.problems.push(FieldProblem::new(name, problem));
        }
        match self.problems.is_empty() {
            true => Ok(()),
            false => Err(ApiError::Fields(self.problems)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_and_every_unknown_field_is_named() {
        let mut fields =
            Fields::parse(br#"{"name":1,"grace":"soon","version":1.5,"colour":2}"#).unwrap();
        assert_eq!(
            (fields.text("name"), fields.duration("grace")),
            (None, None)
        );
        assert_eq!(fields.integer("version"), None);
        let text = fields.finish().unwrap_err().to_string();
        assert_eq!(
            text,
            format!(
                "name: {NOT_TEXT}; grace: {NOT_DURATION}; version: {NOT_INTEGER}; \
                 colour: is an unknown field; allowed: name, grace, version"
            )
        );
    }

    #[test]
    fn a_body_is_one_object() {
        for (body, status) in [
            ("[]", 422),
            ("{\"a\":1e999}", 422),
            ("{", 400),
            ("{} {}", 400),
            ("", 400),
        ] {
            let refused = Fields::parse(body.as_bytes()).err().unwrap();
            assert_eq!(refused.status(), status, "{body}");
        }
    }

    #[test]
    fn durations_are_written_as_in_a_configuration() {
        let mut fields = Fields::parse(br#"{"a":"90d","b":60,"c":"0","d":-1}"#).unwrap();
        assert_eq!(fields.duration("a"), Some(Duration::from_secs(90 * 86_400)));
        assert_eq!(fields.duration("b"), Some(Duration::from_secs(60)));
        assert_eq!(fields.duration("c"), Some(Duration::ZERO));
        assert_eq!(fields.duration("d"), None);
    }
}
