//! Gateway access (§5.1, CONTRACT 6): X-Monitor-Api-Key must be present, not empty and unambiguous. The
//! backend decides whether the key is valid.

use http::{HeaderMap, HeaderName};
use monitor_model::Secret;

const KEY_HEADER: HeaderName = HeaderName::from_static("x-monitor-api-key");

/// Why a request has no usable access key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyError {
    /// Missing, empty or blank.
    Missing,
    /// Present several times with different values.
    Ambiguous,
    /// Not visible ASCII, so it cannot be a bearer token.
    Unreadable,
}

impl KeyError {
    /// The error message for the client.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Missing => {
                "the header X-Monitor-Api-Key is missing or empty; send your gateway access key in it, beside Authorization, which is for the model server"
            }
            Self::Ambiguous => {
                "the header X-Monitor-Api-Key is present more than once with different values; send one"
            }
            Self::Unreadable => {
                "the header X-Monitor-Api-Key contains characters that no access key has; send the key as it was issued"
            }
        }
    }
}

/// The access key of a request.
pub(crate) fn access_key(headers: &HeaderMap) -> Result<Secret, KeyError> {
    let mut values = headers
        .get_all(KEY_HEADER)
        .iter()
        .map(|value| value.as_bytes().trim_ascii());
    let first = values
        .next()
        .filter(|value| !value.is_empty())
        .ok_or(KeyError::Missing)?;
    if values.any(|value| value != first) {
        return Err(KeyError::Ambiguous);
    }
    let visible = first.iter().all(|byte| (0x21..=0x7e).contains(byte));
    let text = std::str::from_utf8(first).ok().filter(|_| visible);
    text.map(Secret::new).ok_or(KeyError::Unreadable)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use http::HeaderValue;

    fn with(values: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(KEY_HEADER, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn one_key_is_taken_without_its_surrounding_blanks() {
        assert_eq!(access_key(&with(&[" k1 ", "k1"])).unwrap().expose(), "k1");
    }

    #[test]
    fn every_refusal_names_the_header_and_what_to_send() {
        use KeyError::{Ambiguous, Missing, Unreadable};
        for error in [Missing, Ambiguous, Unreadable] {
            let message = error.message();
            assert!(
                message.contains("X-Monitor-Api-Key") && message.contains("; send "),
                "{message}"
            );
        }
    }

    #[test]
    fn missing_ambiguous_and_unreadable_keys_are_distinguished() {
        assert_eq!(access_key(&with(&[])), Err(KeyError::Missing));
        assert_eq!(access_key(&with(&["  "])), Err(KeyError::Missing));
        assert_eq!(access_key(&with(&["", "k"])), Err(KeyError::Missing));
        assert_eq!(access_key(&with(&["a", "b"])), Err(KeyError::Ambiguous));
        assert_eq!(access_key(&with(&["a b"])), Err(KeyError::Unreadable));
    }
}
