//! Warnings in an answer of the analysis API (CONTRACT 37).

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// Something that the caller should know and that is no error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Warning {
    /// What kind of thing it is, for programs.
    pub code: WarningCode,
    /// What it is, for people.
    pub message: String,
}

/// The kinds of warnings. Later versions may have more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarningCode {
    /// A field of the request is not known and was ignored.
    UnknownField,
    /// The rules of the request have custom policies for an answer, which are for user messages only.
    PoliciesIgnored,
    /// Nothing was stored, because the records of this user were erased.
    UserErased,
    /// The verdicts on custom policies are those of the record; no judge was asked again.
    JudgeNotAsked,
    /// Another text is stored under the same id.
    ReusedId,
    /// Another kind, or a warning of a version that had no codes.
    #[serde(other)]
    Other,
}

impl Warning {
    /// A warning of this kind.
    pub fn new(code: WarningCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }
}

impl<'de> Deserialize<'de> for Warning {
    /// Versions up to 4.1 stored the message alone.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Coded { code: WarningCode, message: String },
            Message(String),
        }
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Coded { code, message } => Self { code, message },
            Stored::Message(message) => Self::new(WarningCode::Other, message),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_earlier_and_later_versions_are_read() {
        let read: Vec<Warning> = serde_json::from_str(
            r#"["said by 4.1", {"code": "user_erased", "message": "m"}, {"code": "of_later", "message": "m"}]"#,
        )
        .unwrap();
        assert_eq!(
            read,
            [
                Warning::new(WarningCode::Other, "said by 4.1"),
                Warning::new(WarningCode::UserErased, "m"),
                Warning::new(WarningCode::Other, "m"),
            ]
        );
        let written = serde_json::to_string(&read[1]).unwrap();
        assert_eq!(written, r#"{"code":"user_erased","message":"m"}"#);
    }
}
