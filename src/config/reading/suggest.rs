//! The nearest known key to a mistyped one. Only for messages; nothing is ever corrected silently.

/// The known key that was probably meant: the same name in another group, or a close spelling.
pub(crate) fn nearest<'k>(wrong: &str, known: &'k [String]) -> Option<&'k str> {
    let last = |key: &str| {
        key.rsplit('.')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
    };
    let name = last(wrong);
    let limit = (name.len() / 3).clamp(1, 3);
    known
        .iter()
        .flat_map(|key| [group(key), Some(key.as_str())])
        .flatten()
        .map(|key| {
            let same_group = group(key) == group(wrong);
            (strsim::levenshtein(&name, &last(key)), !same_group, key)
        })
        .filter(|(edits, elsewhere, _)| *edits <= if *elsewhere { 0 } else { limit })
        .min()
        .map(|(_, _, key)| key)
}

/// `stream` of `stream.heartbeat`.
fn group(key: &str) -> Option<&str> {
    key.rsplit_once('.').map(|(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_a_close_spelling_or_the_same_name_elsewhere() {
        let known: Vec<String> = [
            "listen",
            "upstream.url",
            "upstream.timeout",
            "stream.heartbeat",
            "monitor.url",
        ]
        .map(str::to_owned)
        .to_vec();
        for (wrong, meant) in [
            ("lisen", Some("listen")),
            ("upstraem", Some("upstream")),
            ("upstream.timout", Some("upstream.timeout")),
            ("upstream.URL", Some("upstream.url")),
            ("heartbeat", Some("stream.heartbeat")),
            ("colour", None),
            ("upstream.retries", None),
        ] {
            assert_eq!(nearest(wrong, &known), meant, "{wrong}");
        }
    }
}
