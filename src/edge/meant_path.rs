//! The path that a client probably meant by one that does not exist. Only for messages: nothing is redirected.

use std::cmp::Reverse;

/// What a path of a model API was probably meant to be, with a base URL that lacks `/v1`, has it twice, or has something
/// else around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelPath {
    /// A path that the gateway serves.
    Served(&'static str),
    /// An API of model servers that the gateway does not forward, by its name.
    OtherApi(&'static str),
}

impl ModelPath {
    /// The one that a path was meant to be.
    pub(crate) fn meant_by(path: &str) -> Option<Self> {
        let end = nearest(path, Self::ENDS.iter().map(|(end, _)| *end))?;
        let found = Self::ENDS.iter().find(|(known, _)| *known == end);
        found.map(|(_, model_path)| *model_path)
    }

    const ENDS: [(&'static str, Self); 7] = [
        ("/chat/completions", Self::Served("/v1/chat/completions")),
        ("/embeddings", Self::Served("/v1/embeddings")),
        ("/models", Self::Served("/v1/models")),
        ("/responses", Self::Served("/v1/responses")),
        ("/messages", Self::Served("/v1/messages")),
        ("/completions", Self::Served("/v1/completions")),
        ("/api/chat", Self::OtherApi("native Ollama")),
    ];
}

/// The known path that `path` ends with, in any letter case and but for a few letters; the closest of several, then the
/// longest. A segment of a known path in braces, such as `{id}`, stands for any segment.
pub(crate) fn nearest<'k>(path: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let given: Vec<&str> = segments(path).collect();
    let close = known.filter_map(|known| Some((edits(&given, known)?, known)));
    let closest = close.min_by_key(|(edits, known)| (*edits, Reverse(segments(known).count())));
    closest.map(|(_, known)| known)
}

fn segments(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// Letters in which the end of a path differs from a known path; None if they are too many.
fn edits(given: &[&str], known: &str) -> Option<usize> {
    let known: Vec<&str> = segments(known).collect();
    let end = given.len().checked_sub(known.len())?;
    let pairs = given.get(end..)?.iter().zip(known);
    pairs.map(|(given, known)| edits_of(given, known)).sum()
}

fn edits_of(given: &str, known: &str) -> Option<usize> {
    if known.starts_with('{') {
        return Some(0);
    }
    let most = (known.len() / 3).clamp(1, 3);
    // A path may have thousands of letters.
    let is_similar = given.len().abs_diff(known.len()) <= most;
    let edits = is_similar.then(|| strsim::levenshtein(&given.to_ascii_lowercase(), known));
    edits.filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_meant_by_its_end_and_by_a_close_spelling() {
        let known = [
            "/records",
            "/records/{id}",
            "/records/{id}/explain",
            "/process_request",
            "/process_request/override",
            "/tokens",
        ];
        for (path, meant) in [
            ("/process_requests", Some("/process_request")),
            ("/Process_Request", Some("/process_request")),
            ("/v1/process_request/", Some("/process_request")),
            ("/proces_request/overide", Some("/process_request/override")),
            ("//records", Some("/records")),
            ("/v2/records/17", Some("/records/{id}")),
            ("/record/17/explains", Some("/records/{id}/explain")),
            ("/token", Some("/tokens")),
            ("/", None),
            ("", None),
            ("/nothing", None),
            ("/records/17/18/19", None),
            ("/tok", None),
            (&"/records".repeat(2_000), Some("/records/{id}")),
            (&format!("/{}", "r".repeat(10_000)), None),
        ] {
            assert_eq!(nearest(path, known.into_iter()), meant, "{path}");
        }
    }

    #[test]
    fn a_path_of_a_model_api_is_known_by_its_end() {
        use ModelPath::{OtherApi, Served};
        let chat = Some(Served("/v1/chat/completions"));
        for (path, meant) in [
            ("/v1/chat/completions", chat),
            ("/chat/completions", chat),
            ("/v1/v1/chat/completions/", chat),
            ("/v1/chat/completion", chat),
            ("/V1/models", Some(Served("/v1/models"))),
            ("/v1/embedding", Some(Served("/v1/embeddings"))),
            ("/v1/completion", Some(Served("/v1/completions"))),
            ("/messages", Some(Served("/v1/messages"))),
            ("/api/chat", Some(OtherApi("native Ollama"))),
            ("/v1/chat", None),
            ("/v1/nothing", None),
            ("/v1/models/gpt", None),
        ] {
            assert_eq!(ModelPath::meant_by(path), meant, "{path}");
        }
    }
}
