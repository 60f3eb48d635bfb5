//! The error for a word that an enum does not have: it names the field, the word and the choices.

use std::fmt;

/// Code points of the given word that the error shows.
const LONGEST_SHOWN: usize = 64;

/// A word that is none of those a field takes. Its text names the field, the word, and the choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    field: &'static str,
    given: String,
    choices: Vec<&'static str>,
}

impl UnknownName {
    /// Finds the value whose name is `text`, in any letter case.
    pub(crate) fn look_up<T: Copy, const N: usize>(
        field: &'static str,
        text: &str,
        all: [T; N],
        name: fn(T) -> &'static str,
    ) -> Result<T, Self> {
        let given = text.trim();
        let same = |value: &T| name(*value).eq_ignore_ascii_case(given);
        all.into_iter()
            .find(same)
            .ok_or_else(|| Self::new(field, text, all.map(name).to_vec()))
    }

    /// Says that `given` is none of `choices`.
    pub(crate) fn new(field: &'static str, given: &str, choices: Vec<&'static str>) -> Self {
        Self {
            field,
            given: given.chars().take(LONGEST_SHOWN).collect(),
            choices,
        }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown {} `{}`; one of {}",
            self.field,
            self.given,
            self.choices.join(", ")
        )
    }
}

impl std::error::Error for UnknownName {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_says_what_would_do() {
        let error = UnknownName::new("mask_style", "stars", vec!["label", "x"]);
        assert_eq!(
            error.to_string(),
            "unknown mask_style `stars`; one of label, x"
        );
    }
}
